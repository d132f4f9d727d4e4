"""An answer in Markdown on the page: as it is meant, or token by token; nothing of it leaves the page's origin."""

from __future__ import annotations

import browser as browsers
import pytest
from browser import Browser
from test_page_measured import AXE, AXE_SOURCE

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not browsers.IS_THERE, reason=browsers.WHY)]
SHOW = """
const [tokens, unsupported, done] = arguments;
Promise.all([import('/page/turn.js'), import('/page/answers.js')]).then(async ([, { newAnswer }]) => {
  const answer = { ...newAnswer(), tokens, unsupported, over: true, finish: 'eos', id: '0'.repeat(32) };
  document.querySelector('.log').replaceChildren(document.createElement('hocket-turn'));
  await document.querySelector('hocket-turn').show({ question: 'What?', model: 'hocket', answer }).end();
  document.body.dataset.shown = 'yes';
});
"""
NOTES = """# Rent

- **1,184** euros from July
- ask *Harms*

| room | degrees |
|---|---|
| bath | 23 |

```python
print("a" < "b")
```
"""
HOSTILE = """# See ![pixel](https://elsewhere.example/p.png) [here](https://elsewhere.example)

<img src="https://elsewhere.example/q.png" onerror="document.title='taken'">
<script src="https://elsewhere.example/s.js"></script>
<iframe src="https://elsewhere.example"></iframe>

[a]: https://elsewhere.example/r
[go](javascript:document.title='taken') ![x][a]
"""


def show(page: Browser, text: str, *words: str) -> None:
    """Show an answer as if it had come in tokens of five letters; `words` are in no passage."""
    tokens = [[text[at : at + 5], "both"] for at in range(0, len(text), 5)]
    spans = [[text.index(word), text.index(word) + len(word)] for word in words]
    page.run("delete document.body.dataset.shown")
    page.run(SHOW, tokens, spans)
    page.until("document.body.dataset.shown")


def test_markdown_is_shown_as_it_is_meant(page: Browser) -> None:
    """Headings, lists, tables and code; words that are in no passage stay marked; the tokens are one click away."""
    show(page, NOTES, "Harms", "23", "print")
    assert page.texts(".formatted h3") == ["Rent"]
    assert page.texts(".formatted li strong") == ["1,184"]
    assert page.texts(".formatted td") == ["bath", "23"]
    assert page.texts(".formatted pre code") == ['print("a" < "b")\n']
    assert page.texts(".formatted .unsupported") == ["Harms", "23", "print"]
    assert page.run("return document.querySelector('.text').hidden")
    page.click(".actions .written")
    assert page.run("return document.querySelector('.formatted').hidden")
    assert page.run("return document.querySelector('.text').textContent") == NOTES
    assert page.run("return document.querySelector('.actions .written').ariaPressed") == "true"
    page.click(".actions .written")
    assert page.texts(".formatted h3") == ["Rent"]


def test_a_plain_answer_stays_as_it_is(page: Browser) -> None:
    """Prose has no other view."""
    show(page, "The rent is 1,184 euros.\nAsk Harms - he knows * all.")
    assert page.run("return document.querySelector('.formatted').hidden")
    assert page.texts(".actions .written") == []


def test_hostile_markdown_loads_nothing_and_leads_nowhere(page: Browser) -> None:
    """No element of it has an address; whatever was asked for is the gateway's own."""
    show(page, HOSTILE)
    (heading,) = page.texts(".formatted h3")
    assert heading == "See pixel (https://elsewhere.example/p.png) here (https://elsewhere.example)"
    loading = "'.formatted :is(a, img, script, iframe, [src], [href])'"
    assert page.run(f"return document.querySelectorAll({loading}).length") == 0
    assert page.run("return document.title") != "taken"
    asked = page.run("return performance.getEntriesByType('resource').map(each => new URL(each.name).origin)")
    assert {*asked} == {page.run("return location.origin")}


def test_what_is_too_large_is_shown_as_it_was_written(page: Browser) -> None:
    """A table of a few kilobytes that stands for millions of cells."""
    text = "\n".join(["|a" * 400, "|-" * 400] + ["|b"] * 3_000)
    show(page, text)
    assert page.run("return document.querySelector('.formatted').hidden")
    assert page.run("return document.querySelector('.text').textContent.length") == len(text)
    assert page.texts(".actions .written") == []


def test_it_is_accessible(page: Browser) -> None:
    """Without a violation, light and dark, and at 360 pixels without scrolling sideways."""
    show(page, NOTES, "Harms")
    page.run(AXE_SOURCE)
    for scheme in ("light", "dark"):
        page.prefers(scheme)
        assert page.run(AXE) == []
    page.prefers("light")
    page.resize(360, 640)
    assert page.run("return document.documentElement.scrollWidth") <= 360

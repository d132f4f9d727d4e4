"""The page as a person has it: in a real browser without a network, over a real pair."""

from __future__ import annotations

from pathlib import Path

import browser as browsers
import pytest
from browser import ENTER, ESCAPE, SHIFT, Browser
from paging import OVER, QUESTION, READY, TEXT, ask, opened
from serving import MODELS, TOKENS, Served, gateway, served

from hocket_gateway.access import people
from hocket_gateway.settings import ServeSettings
from waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not browsers.IS_THERE, reason=browsers.WHY)]


def test_a_question_is_answered_by_the_pair(front: Served, page: Browser) -> None:
    """With the text that the plain client reads; each token shows who proposed it, and all of them are counted."""
    expected = front.pair.client().ask(QUESTION, max_tokens=TOKENS).result()
    assert ask(page) == expected.text
    assert page.texts("hocket-turn .question") == [QUESTION]
    colours = page.run("return [...document.querySelectorAll('.text span')].map(e => [e.classList[0], e.title])")
    assert {colour for colour, _ in colours} <= {"both", "device", "cloud", "resampled", "solo"}
    assert all("proposed" in title or "drawn" in title or "alone" in title for _, title in colours)
    counts = page.run(
        "return [...document.querySelectorAll('.legend li')].filter(e => !e.querySelector('.unsupported'))"
        ".map(e => Number(e.lastChild.data))"
    )
    assert sum(counts) == len(expected.token_ids)


def test_words_of_no_passage_and_shares_are_marked_in_the_text(front: Served, page: Browser) -> None:
    """Character by character where Done says, whatever it is written in; a token's title names what it is made of."""
    expected = front.pair.client().ask(QUESTION, max_tokens=TOKENS).result()
    assert expected.unsupported
    ask(page)
    spans = page.run(
        "return [...document.querySelectorAll('.text span')].map(e => [e.className, e.title, e.textContent])"
    )
    marked = "".join(text for kind, _, text in spans if "unsupported" in kind)
    assert marked == "".join(expected.text[span.start : span.end] for span in expected.unsupported)
    assert all(("in no passage" in title) == ("unsupported" in kind) for kind, title, _ in spans)
    named = {line.partition(" % ")[2].partition(",")[0] for _, title, _ in spans for line in title.splitlines()} - {""}
    largest = {
        max(zip(shares, expected.sources, strict=True), key=lambda each: each[0])[1].document
        for shares in expected.token_sources
    }
    assert largest <= named <= {source.document for source in expected.sources}


def test_thoughts_stand_folded_before_the_text(page: Browser) -> None:
    """As text, whatever they say, and only where there are any."""
    shown = """
        return Promise.all([import('/page/answers.js'), import('/page/turn.js')]).then(([answers]) => {
            const answer = answers.newAnswer();
            for (const text of arguments[0]) answers.take(answer, {choices: [{delta: {reasoning_content: text}}]});
            answers.take(answer, {choices: [{delta: {content: 'x', hocket: {source: 'cloud'}}}]});
            const turn = document.body.appendChild(document.createElement('hocket-turn'));
            turn.show({question: '?', answer, model: 'hocket'});
            const thoughts = turn.querySelector('details.thoughts');
            turn.remove();
            return [thoughts.hidden, thoughts.open, thoughts.lastChild.textContent, answers.textOf(answer)];
        });
    """
    assert page.run(shown, ["<b>a", "\n\nb"]) == [False, False, "<b>a\n\nb", "x"]
    assert page.run(shown, []) == [True, False, "", "x"]


def test_spans_count_characters_and_not_halves_of_them(page: Browser) -> None:
    answer = {"tokens": [["\N{GRINNING FACE}a", "both"], ["bc", "device"]], "unsupported": [[1, 3]]}
    found = page.run("return import('/page/answers.js').then(m => m.pieces(arguments[0]))", answer)
    marked = [(piece["text"], piece["token"], piece["unsupported"]) for piece in found]
    assert marked == [("\N{GRINNING FACE}", 0, False), ("a", 0, True), ("b", 1, True), ("c", 1, False)]


@pytest.mark.parametrize(
    ("text", "passage", "found"),
    [
        ("a (b)\n\n c. d", "(b) c.", ["a ", "(b)\n\n c.", " d"]),
        ("a b", "b c", ["a b", "", ""]),
        ("a b", "", ["a b", "", ""]),
        ("a.b axb", "axb", ["a.b ", "axb", ""]),
    ],
)
def test_a_passage_is_found_whatever_its_blanks_are(page: Browser, text: str, passage: str, found: list[str]) -> None:
    around = "return import('/page/passage.js').then(m => m.around(arguments[0], arguments[1]))"
    assert page.run(around, text, passage) == found


def test_what_left_is_said(page: Browser) -> None:
    """The classes that the ledger counted meanwhile; nothing where the device answers alone."""
    ask(page)
    (line,) = page.texts("hocket-turn:last-child .left")
    assert line.startswith("Left this device meanwhile: ")
    assert "query " in line
    page.run("document.querySelector('#model').value = 'hocket-alone'")
    ask(page)
    assert page.texts("hocket-turn:last-child .left") == ["Nothing left this device meanwhile."]


def test_why_it_went_its_way_is_said(page: Browser) -> None:
    page.run("document.querySelector('#model').value = 'hocket-graph'")
    ask(page)
    (line,) = page.folded(".way")
    assert line.startswith("Way: ")
    assert "always asked" in line


def test_a_source_opens_at_its_passage(page: Browser) -> None:
    """Bars are as long as shares, the largest first; the passage is marked and in sight; the cloud's has a name."""
    ask(page)
    bars = page.run("return [...document.querySelectorAll('.bar')].map(e => parseFloat(e.style.width))")
    names = page.texts(".source .name")
    assert len(bars) == len(names) > 1
    assert bars == sorted(bars, reverse=True)
    assert 90 < sum(bars) < 110
    place = next(at for at, name in enumerate(names) if name.startswith("device-1"))
    page.run("document.querySelectorAll('button.source')[arguments[0]].click()", place)
    page.until("document.querySelector('mark')")
    marked = page.run("const at = document.querySelector('mark').getBoundingClientRect(); return [at.top, innerHeight]")
    assert 0 < marked[0] < marked[1]
    page.type("dialog", ESCAPE)
    page.until("!document.querySelector('dialog').open")
    place = next(at for at, name in enumerate(names) if name.startswith("cloud-"))
    page.run("document.querySelectorAll('button.source')[arguments[0]].click()", place)
    page.until("document.querySelector('dialog .content p + p')")
    assert page.texts("dialog pre") == []


def test_documents_are_listed_and_their_text_is_text(page: Browser) -> None:
    page.until("document.querySelector('[data-does=documents]').textContent === 'Documents (2)'")
    page.click("[data-does=documents]")
    page.until("document.querySelectorAll('.documents li').length")
    assert page.texts(".documents li") == ["device-0\n1 passage\nRemove", "To Anna\na\n1 passage\nRemove"]
    assert [each.partition("\n")[0].split("/")[0] for each in page.folded(".documents summary")] == [
        "1 document",
        "letters",
    ]
    page.click(".documents button")
    page.until("document.querySelector('dialog pre')?.textContent === '<script>'")
    page.click(".head button")


def test_the_ways_are_those_of_the_gateway(page: Browser) -> None:
    """What was chosen is so again when the page is opened again."""
    assert page.texts("#model option") == list(MODELS)
    page.type("#model", "hocket-g")
    page.open(page.run("return location.href"))
    page.until(READY)
    assert page.run("return document.querySelector('#model').value") == "hocket-graph"


def test_shift_enter_begins_a_line(page: Browser) -> None:
    page.type("#question", f"kala{SHIFT}{ENTER}{SHIFT}mira?")
    assert page.run("return document.querySelector('#question').value") == "kala\nmira?"
    assert page.texts("hocket-turn") == []


def test_a_conversation_stays_until_it_is_deleted(page: Browser) -> None:
    """With all that was shown of it; a new one does not touch it."""
    ask(page)
    ask(page, "soretu limba?")
    shown = page.texts("hocket-turn")
    page.open(page.run("return location.href"))
    page.until(READY)
    assert page.texts("hocket-turn") == []
    page.click("[data-does=history]")
    assert page.texts("hocket-history li > button:first-child") == [QUESTION]
    page.click("hocket-history li button")
    assert page.texts("hocket-turn") == shown
    page.click("[data-does=new]")
    assert page.texts("hocket-turn") == []
    page.click("hocket-history .more")
    page.click("hocket-history .remove")
    assert page.texts("hocket-history .remove") == ["Really?"]
    page.click("hocket-history .remove")
    assert page.run("return localStorage.getItem('hocket-conversations')") == "[]"


def test_on_a_telephone_the_history_gives_way(page: Browser) -> None:
    """It covers the conversation until one is chosen."""
    ask(page)
    page.click("[data-does=new]")
    page.resize(360, 720)
    page.until("innerWidth === 360")
    page.click("[data-does=history]")
    page.click("hocket-history li button")
    assert page.texts("hocket-turn .question") == [QUESTION]
    assert page.run("return document.querySelector('hocket-history').hidden") is True
    assert page.run("return document.querySelector('[data-does=history]').ariaExpanded") == "false"


@pytest.mark.parametrize("how", ["escape", "button"])
def test_an_answer_is_stopped(tiny_models: dict[str, Path], window: Browser, how: str) -> None:
    """The question ends in the daemon, and what was written stays."""
    with served(tiny_models, hold_s=0.1, max_tokens=200) as slow:
        opened(window, slow.url)
        window.type("#question", QUESTION + ENTER)
        window.until("document.querySelector('.text')?.textContent.length > 2")
        assert slow.in_work() == 1
        if how == "escape":
            window.type("#question", ESCAPE)
        else:
            window.click("hocket-composer [type=submit]")
        until(lambda: slow.in_work() == 0)
        window.until(OVER)
        assert window.texts(".finish") == ["stopped"]
        assert window.texts(".source .name")
        assert window.run(TEXT)
        assert window.complaints() == []


def test_a_key_is_asked_for_where_there_are_keys(front: Served, window: Browser) -> None:
    """It stays in the session's storage, and no bytes of others are shown to who has one."""
    key = people.invite(front.people, "anna", alone_only=True)
    try:
        window.open(front.url)
        window.run("localStorage.clear(); sessionStorage.clear()")
        window.open(front.url)
        window.until("document.querySelector('hocket-key').hidden === false")
        window.type("#key", key + ENTER)
        window.until(READY)
        assert window.texts("#model option") == ["hocket-alone"]
        assert ask(window)
        assert window.texts(".left") == ["Nothing was sent to the cloud."]
        assert window.run("return Object.values(sessionStorage)") == [key]
        assert key not in str(window.run("return Object.values(localStorage)"))
    finally:
        front.people.unlink()
    assert all("401" in line for line in window.complaints())


def test_what_keeps_a_question_from_an_answer_is_said(window: Browser, tmp_path: Path) -> None:
    """The gateway's own line, which says what to do."""
    with gateway(ServeSettings(port=0, device=f"ipc://{tmp_path}/none")) as port:
        window.open(f"http://127.0.0.1:{port}")
        window.until(READY)
        assert ask(window) == ""
        (line,) = window.texts(".finish.error")
        assert "no daemon answers" in line
        assert window.texts("hocket-strip") == ["the pair is not running"]
    assert all("503" in line for line in window.complaints())


def test_an_answer_that_breaks_off_says_why(tiny_models: dict[str, Path], window: Browser) -> None:
    """The device daemon ends in the middle of it: what was written stays."""
    with served(tiny_models, hold_s=0.1, max_tokens=200) as slow:
        opened(window, slow.url)
        window.type("#question", QUESTION + ENTER)
        window.until("document.querySelector('.text')?.textContent.length > 2")
        written = window.run(TEXT)
        assert slow.pair.device is not None
        slow.pair.device.stop()
        window.until(OVER)
        assert window.texts(".finish.error") != []
        assert window.run(TEXT).startswith(written)


def test_whatever_can_be_used_has_a_name(page: Browser) -> None:
    """For who does not see it: fields have labels, buttons a text, lists and regions a name."""
    ask(page)
    page.click("[data-does=history]")
    nameless = page.run(
        "return [...document.querySelectorAll('input, select, textarea, button')]"
        ".filter(e => e.matches('button') ? !(e.textContent || e.ariaLabel) : !e.labels.length).map(e => e.outerHTML)"
    )
    assert nameless == []
    assert page.run("return document.querySelector('[role=log]').ariaLabel")
    assert page.run("return document.querySelector('.text').ariaBusy") == "false"


def test_nothing_but_the_gateway_is_asked(front: Served, page: Browser) -> None:
    ask(page)
    loaded = page.run("return performance.getEntriesByType('resource').map(e => e.name)")
    assert any(name.endswith("/page/turn.js") for name in loaded)
    assert all(name.startswith(front.url + "/") for name in loaded)


def test_the_browser_keeps_to_the_policy(front: Served, window: Browser) -> None:
    """Markup of strangers and a request elsewhere are refused: the other tests would see it."""
    opened(window, front.url)
    assert window.complaints() == []
    window.run("try { document.body.innerHTML = '<b>'; } catch { window.refused = true; }")
    assert window.run("return window.refused") is True
    window.run("new Image().src = 'http://127.0.0.1:1/';")
    found: list[str] = []
    until(lambda: bool(found.extend(window.complaints()) or [line for line in found if "127.0.0.1:1" in line]))


@pytest.mark.parametrize("width", [360, 800, 1280])
def test_it_fits_every_width(page: Browser, width: int) -> None:
    """Nothing stands out to the right, and the field is in sight."""
    ask(page)
    page.resize(width, 720)
    page.until(f"innerWidth === {width}")
    assert page.run("return document.documentElement.scrollWidth") <= width
    field = page.run(
        "const at = document.querySelector('#question').getBoundingClientRect(); return [at.right, at.bottom]"
    )
    assert field[0] <= width
    assert field[1] <= 720

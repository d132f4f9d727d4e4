"""The page's settings, its welcome and its German: what a question asks for, and what there is to do."""

from __future__ import annotations

import json

import browser as browsers
import pytest
from browser import Browser
from paging import OVER, READY, TEXT, ask
from serving import Served
from test_page_measured import violations

from hocket_daemon.aggregation.leader_terms import STEERED, nothing_found
from hocket_daemon.serving.search.evidence import GUESS, INVENTED, doubt
from waiting import WAIT_S, until

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not browsers.IS_THERE, reason=browsers.WHY)]
LISTEN = (
    "const sent = window.fetch; window.bodies = [];"
    "window.fetch = (path, given) => {"
    "if (path.endsWith('completions')) bodies.push(given.body); return sent(path, given); }"
)
ASKED = "return window.bodies.at(-1)"
STORED = "return localStorage.getItem('hocket-settings')"


@pytest.fixture
def listening(page: Browser) -> Browser:
    """The page, whose questions are recorded."""
    page.run(LISTEN)
    return page


def opened(page: Browser) -> None:
    page.click("[data-does=settings]")
    page.until("document.querySelector('hocket-settings p')")


def closed(page: Browser) -> None:
    page.click("dialog[open] .head button")


def test_a_question_asks_for_what_was_set(listening: Browser) -> None:
    """Each field that is filled in, and no other; after a reload still, and no longer once all is cleared."""
    page = listening
    ask(page)
    assert not {"documents", "temperature", "max_tokens", "unknown"} & json.loads(page.run(ASKED)).keys()
    opened(page)
    for name, value in (("documents", "2"), ("temperature", "0.5"), ("max_tokens", "6"), ("unknown", "Answer from")):
        page.type(f"#settings-{name}", value)
    page.run("document.activeElement.blur()")
    closed(page)
    ask(page)
    wanted = {"documents": 2, "temperature": 0.5, "max_tokens": 6, "unknown": "answer"}
    assert wanted.items() <= json.loads(page.run(ASKED)).items()
    page.open(page.run("return location.href"))
    page.until(READY)
    page.run(LISTEN)
    ask(page)
    assert wanted.items() <= json.loads(page.run(ASKED)).items()
    opened(page)
    assert violations(page) == []
    page.click("hocket-settings .clear")
    closed(page)
    ask(page)
    assert not wanted.keys() & json.loads(page.run(ASKED)).keys()


def test_what_is_out_of_range_is_not_set(page: Browser) -> None:
    """It is said at the field, and the value before stays."""
    opened(page)
    page.type("#settings-documents", "3")
    page.run("document.activeElement.blur()")
    before = page.run(STORED)
    page.type("#settings-documents", "00")
    page.run("document.activeElement.blur()")
    assert (page.run(STORED), json.loads(before)) == (before, {"documents": 3})
    assert page.texts("#settings-documents-wrong")[0].startswith("Not kept: ")
    assert violations(page) == []


def test_the_settings_say_what_may_leave(front: Served, page: Browser) -> None:
    """The words of the device's status."""
    opened(page)
    with front.pair.client() as client:
        leaves = client.status(WAIT_S).facts["leaves this device"]
    page.until("document.querySelector('hocket-settings .leaves')")
    assert page.texts("hocket-settings .leaves") == [leaves]


def test_the_welcome_says_what_there_is_to_do(front: Served, page: Browser) -> None:
    """Documents, cloud and model; a question that is offered is asked at a click, and then the welcome is gone."""
    page.until("document.querySelectorAll('.steps li').length === 3 && document.querySelector('.tries button')")
    documents, cloud, model = page.texts(".steps li > span")
    assert documents == "This device has 2 documents."
    assert cloud == "The cloud is connected."
    assert model.startswith("The model of this device is ")
    with front.pair.client() as client:
        client.switch_link(cut=True, wait_s=WAIT_S)
        page.click("hocket-link button")  # which looks again
        page.click("hocket-link button")
        page.until("document.querySelector('.steps .open')?.textContent.includes('is cut')")
        client.switch_link(cut=False, wait_s=WAIT_S)
        until(lambda: client.status(WAIT_S).facts["cloud"].startswith("connected"))
    page.until("document.querySelector('.steps').textContent.includes('The cloud is connected')")
    page.click(".steps button")
    page.until("document.querySelector('.documents li')")
    closed(page)
    question = page.texts(".tries button")[0]
    page.click(".tries button")
    page.until(OVER)
    assert page.texts("hocket-turn .question") == [question]
    assert page.texts("hocket-welcome") == []
    page.click("[data-does=new]")
    page.until("document.querySelectorAll('.steps li').length === 3")


NOTICES = {
    f"{doubt([('probability:toy', 0.125)], 0.3)}{GUESS}": (
        "Probably not in your documents: the best passage answers with a probability of 0.12, and 0.3 is needed."
    ),
    f"probably not in your documents: no passage that was read mentions a price{INVENTED}": (
        "Probably not in your documents: no passage that was read mentions a price. The answer may be invented."
    ),
    f"the model's own answer, which may be invented: {nothing_found('device', None, ('trips',), None)}": (
        "The model's own answer, which may be invented. Nothing is found in trips."
    ),
    f"{': '.join(STEERED)}; answering alone": (
        "The cloud may be steering this answer to extract your private text: it gets nothing more of it."
    ),
    "a line that the page does not know": "a line that the page does not know",
}


def test_the_page_tells_notices_in_its_own_words(page: Browser) -> None:
    """Without commands; what it does not know is shown as it came."""
    lines = json.dumps(list(NOTICES))
    page.run(f"import('./page/notices.js').then((it) => {{ window.said = {lines}.map(it.noticeText); }})")
    page.until("window.said")
    assert page.run("return window.said") == list(NOTICES.values())


def test_the_page_speaks_german(page: Browser) -> None:
    """All that it says by itself, chosen in the settings; the way back is there, too."""
    opened(page)
    page.type("#settings-language", "Deutsch")
    page.until("document.querySelector('[data-does=new]')?.textContent === 'Neu'")
    page.until(READY)
    assert page.run("return document.documentElement.lang") == "de"
    page.until("document.querySelectorAll('.steps li').length === 3 && document.querySelector('.tries button')")
    assert page.texts(".steps li > span")[0] == "Dieses Gerät hat 2 Dokumente."
    answer = ask(page)
    assert answer == page.run(TEXT)
    page.until("document.querySelector('.actions .why')")
    assert page.texts(".facts .actions button") == ["Warum?", "Kopieren", "Neu fragen", "Ohne die Cloud", "Ändern"]
    assert page.texts("button.left")[0].startswith("Währenddessen gesendet: Frage ")
    page.click(".actions .why")
    page.until("document.querySelector('dialog .timeline')")
    assert page.texts("dialog .content p")[1].startswith("Ihre ")
    assert violations(page) == []
    closed(page)
    opened(page)
    page.type("#settings-language", "English")
    page.until("document.querySelector('[data-does=new]')?.textContent === 'New'")
    page.until(READY)

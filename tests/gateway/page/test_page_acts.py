"""What the page lets a person do beside asking: cut the link, look behind an answer, ask again, and write."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import browser as browsers
import pytest
from browser import ENTER, ESCAPE, Browser
from family import family
from paging import OVER, QUESTION, READY, TEXT, ask, opened
from serving import TOKENS, Served, gateway, served
from test_page_measured import violations

from hocket_gateway.access import people
from hocket_gateway.settings import ServeSettings
from hocket_lab.link.tap import Tap
from waiting import WAIT_S, until

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not browsers.IS_THERE, reason=browsers.WHY)]
TAB = "\ue004"
WRITTEN = "kala mira duno soretu limba"
SWITCH = "document.querySelector('hocket-link button')"
SOURCES = "return [...document.querySelectorAll('hocket-turn:last-child .text span')].map(e => e.classList[0])"
BOAT = "The sailing boat Halcyon lies at berth 41 of the Marstal marina."
OF_BOAT = "At which berth does the sailing boat Halcyon lie?"


def over(page: Browser) -> str:
    page.until(OVER)
    return str(page.run(TEXT))


def sent(tap: Tap | None) -> int:
    """Bytes that went to the cloud."""
    assert tap is not None
    return sum(map(len, tap.recorded()))


def record_of(page: Browser) -> dict[str, Any]:
    """That of the answer that is shown last, by the gateway."""
    number = page.folded("hocket-turn:last-child .facts code")[0].rpartition(" ")[2]
    found = page.run("return fetch('/explanations/' + arguments[0]).then(r => r.json())", number)
    return dict(found["record"])


def test_the_switch_cuts_the_link_in_the_middle_of_an_answer(tiny_models: dict[str, Path], window: Browser) -> None:
    """It goes on alone behind its prefix, no byte leaves until the link is joined, and then the pair answers again."""
    with served(tiny_models, hold_s=0.05, max_tokens=60, tapped=True) as slow:
        opened(window, slow.url)
        window.until(f"{SWITCH}.ariaChecked === 'true'")
        window.type("#question", QUESTION + ENTER)
        window.until("document.querySelectorAll('.text span').length > 3")
        before = window.run(TEXT)
        window.click("hocket-link button")
        window.until(f"{SWITCH}.ariaChecked === 'false'")
        assert slow.tap is not None
        until(slow.tap.ended)
        cut = sent(slow.tap)
        assert over(window).startswith(before)
        written = window.run(SOURCES)
        alone = written.index("solo")
        assert alone > 0
        assert set(written[alone:]) == {"solo"}
        window.until("document.querySelector('hocket-strip').textContent.includes('the link is cut')")
        ask(window)
        assert set(window.run(SOURCES)) == {"solo"}
        assert sent(slow.tap) == cut
        window.click("hocket-link button")
        window.until("document.querySelector('hocket-strip').textContent.includes('cloud connected')")
        ask(window)
        assert set(window.run(SOURCES)) - {"solo"}
        assert sent(slow.tap) > cut
        assert window.complaints() == []


def test_the_bars_grow_while_the_answer_is_written(tiny_models: dict[str, Path], window: Browser) -> None:
    """This device's passages by name, the cloud's in one; together they are the whole at every moment."""
    bars = "return [...document.querySelectorAll('.bar')].map(e => parseFloat(e.style.width))"
    with served(tiny_models, hold_s=0.05, max_tokens=60) as slow:
        opened(window, slow.url)
        window.type("#question", QUESTION + ENTER)
        window.until("document.querySelectorAll('.bar').length > 1")
        before = window.run(bars)
        assert window.run("return document.querySelector('hocket-composer').busy") is True
        assert {"device-0", "device-1"} & {name.partition(",")[0] for name in window.texts(".source .name")}
        until(lambda: bool(window.run(bars) != before))
        assert 98 < sum(before) < 102
        over(window)
        assert 98 < sum(window.run(bars)) < 102
        assert any(name.startswith("cloud-") for name in window.texts(".source .name"))
        assert window.complaints() == []


def test_the_strip_says_that_the_link_was_cut_elsewhere(front: Served, page: Browser) -> None:
    """As soon as the page looks again."""
    with front.pair.client() as client:
        client.switch_link(cut=True, wait_s=WAIT_S)
        ask(page)
        page.until(f"{SWITCH}.ariaChecked === 'false'")
        client.switch_link(cut=False, wait_s=WAIT_S)
        until(lambda: client.status(WAIT_S).facts["cloud"].startswith("connected"))


def test_what_the_cloud_saw_is_opened_from_the_meter(page: Browser) -> None:
    """A row for each class in order of time, with the bytes of the ledger and the words that it was told."""
    ask(page)
    left = record_of(page)["left"]
    page.click("button.left")
    page.until("document.querySelector('dialog .timeline')")
    assert page.texts("dialog .timeline .name") == [row["class"] for row in left]
    shown = page.run("return [...document.querySelectorAll('dialog .timeline .value')].map(e => e.textContent)")
    assert all(f"{row['messages']} message" in line for row, line in zip(left, shown, strict=True))
    assert shown[0].startswith(f"{left[0]['bytes']} B ")
    assert page.texts("dialog blockquote")[0] == QUESTION
    assert page.run("return document.querySelectorAll('dialog blockquote')[1].textContent") == page.run(TEXT)
    page.type("dialog", ESCAPE)
    page.type("#model", "hocket-alone")
    ask(page)
    page.click("hocket-turn:last-child button.left")
    page.until("document.querySelector('dialog .content p')")
    assert page.texts("dialog .content") == ["Nothing left this device for this answer."]


BECAUSE = """
const [answer, record, done] = arguments;
import('/page/explanation.js').then(({ because, left }) => {
  document.body.dataset.because = JSON.stringify(because(answer, record));
  const rows = left({ question: 'What, and who?', answer }, record).map((each) => each.outerHTML).join('');
  document.body.dataset.left = rows;
});
"""
SOURCES_OF = [{"name": "mail.eml", "share": 0.8}, {"name": "car.txt", "share": 0.2}]


@pytest.mark.parametrize(
    ("answer", "record", "sentences"),
    [
        (
            {"finish": "eos", "tokens": [["a", "both"], ["b", "both"], ["c", "cloud"]], "unsupported": [[0, 1]]},
            {"passages": [{"score": 0.5}, {"score": 0.998}], "cloud": {"passages": 1}, "parts": []},
            [
                "This device read 2 passages; the best fits the question with 1.00 of 1. "
                "The cloud read 1 passage of its own.",
                "Its 3 tokens were proposed by both sides (2) and by the cloud alone (1).",
                "It hangs most on mail.eml, with 80 %, then on car.txt with 20 %; 1 word of it stands in no passage.",
            ],
        ),
        (
            {"finish": "unknown", "tokens": [["a", "solo"]], "sources": []},
            {"passages": [], "parts": []},
            [
                "This device found no passage.",
                "No model wrote it, since nothing that could be read is about the question.",
                "It hangs on no document.",
            ],
        ),
        (
            {"finish": "eos", "tokens": [["a", "solo"]], "sources": SOURCES_OF[:1]},
            {"parts": [{"question": "What?"}, {"question": "Who?"}]},
            [
                "The question has 2 parts, and each was asked by itself.",
                "Its 1 token was proposed by the only side that wrote (1).",
                "It hangs most on mail.eml, with 80 %.",
            ],
        ),
    ],
)
def test_why_begins_with_three_sentences(
    page: Browser, answer: dict[str, Any], record: dict[str, Any], sentences: list[str]
) -> None:
    """Name what was found, who wrote the answer, and its main document; show each part's question with its bytes."""
    rows = [{"class": "query", "from_s": at, "to_s": at, "messages": 1, "bytes": 9} for at in (0, 1)]
    page.run("delete document.body.dataset.because")
    page.run(BECAUSE, {"sources": SOURCES_OF, "unsupported": [], **answer}, {**record, "left": rows})
    page.until("document.body.dataset.because && document.body.dataset.left")
    assert json.loads(page.run("return document.body.dataset.because")) == sentences
    asked = [part["question"] for part in record["parts"]] or ["What, and who?"] * 2
    shown = page.run("return document.body.dataset.left")
    assert shown.count("<blockquote>") == 2
    assert all(f"<blockquote>{each}</blockquote>" in shown for each in asked)


def test_why_shows_the_gates_number_and_the_time_line(page: Browser) -> None:
    """The gate's decision stands at the answer, too; the bars lie within their tracks, one behind the other."""
    page.type("#model", "hocket-auto")
    ask(page)
    record = record_of(page)
    (gate,) = page.folded(".gate")
    assert f"{record['gate']['metric']:.3f} against {record['gate']['threshold']:.3f}" in gate
    page.click(".why")
    page.until("document.querySelector('dialog .timeline')")
    assert gate in page.texts("dialog .content p")
    assert page.texts("dialog .timeline .name")[:4] == ["search", "prefill", "first token", "the rest"]
    bars = page.run(
        "return [...document.querySelectorAll('dialog .track')].map(e => "
        "[e.getBoundingClientRect(), e.firstChild.getBoundingClientRect()].map(r => [r.left, r.right]))"
    )
    assert all(start - 1 <= first <= last <= end + 1 for (start, end), (first, last) in bars)
    firsts = [first for _, (first, _) in bars[:4]]
    assert firsts == sorted(firsts)


def test_without_the_cloud_in_one_click(front: Served, page: Browser) -> None:
    """The answer of the device alone stands in the place of the other one, and nothing but control leaves for it."""
    ask(page)
    page.click(".actions .alone")
    page.until("document.querySelector('hocket-turn:last-child .left')?.textContent.startsWith('Nothing left')")
    assert page.texts("hocket-turn .question") == [QUESTION]
    expected = front.pair.client().ask(QUESTION, alone=True, max_tokens=TOKENS).result()
    assert over(page) == expected.text
    assert page.texts(".actions .alone") == []


def test_ask_again_and_edit_take_the_place_of_the_last_question(page: Browser) -> None:
    """Asked again it is drawn, since the likeliest tokens would be the same ones."""
    ask(page)
    page.click(".actions .again")
    page.until("!document.querySelector('hocket-turn .left')")
    over(page)
    assert record_of(page)["drawing"]["temperature"] == 0.7
    assert page.texts("hocket-turn .question") == [QUESTION]
    page.click(".actions .edit")
    assert page.run("return document.querySelector('#question').value") == QUESTION
    page.type("#question", ESCAPE)
    assert page.run("return document.querySelector('#question').value") == ""
    page.click(".actions .edit")
    page.type("#question", " duno" + ENTER)
    page.until("document.querySelector('hocket-turn .question').textContent.endsWith('duno')")
    over(page)
    assert page.texts("hocket-turn .question") == [f"{QUESTION} duno"]


def test_counted_words_are_shown_with_their_bits(page: Browser) -> None:
    """By document, and the dearest words first; next to nothing is not named."""
    ask(page)
    record = record_of(page) | {
        "disclosed": [{"document": "/notes/lease.md", "bits": 31.25}, {"document": "/notes/b.md", "bits": 0.01}],
        "words": [{"word": " the", "bits": 0.5}, {"word": " 1,184", "bits": 24.0}, {"word": "(the end)", "bits": 1.0}],
    }
    page.run(
        "const sent = window.fetch; window.fetch = (path, given) => path.startsWith('explanations/')"
        "? Promise.resolve(new Response(JSON.stringify({ record: arguments[0] }))) : sent(path, given);".replace(
            "arguments[0]", json.dumps(record)
        )
    )
    page.click("button.left")
    page.until("document.querySelectorAll('dialog .lines').length === 2")
    documents, words = page.run("return [...document.querySelectorAll('dialog .lines')].map(e => e.innerText)")
    assert documents == "/notes/lease.md: 31.3 bits"
    assert words.splitlines() == ["1,184: 24.0 bits", "(the end): 1.0 bits", "the: 0.5 bits"]
    assert violations(page) == []


def test_what_all_answers_disclosed_is_shown_and_a_document_removed(page: Browser) -> None:
    """Show bits against the bound, who learnt them and when, below what left for an answer."""
    ask(page)
    lease = {
        "document": "/notes/lease.md",
        "today": 1.25,
        "total": 31.25,
        "peers": {"cloud": 31.25},
        "last": "2026-12-01",
    }
    days = {"2026-11-30": 30.0, "2026-12-01": 1.25}
    found = {"counted": True, "documents": [lease], "days": days, "bits_a_day": 0.0, "bits_a_document": 100.0}
    page.run(
        "const sent = window.fetch; window.fetch = (path, given) => path === 'account'"
        f" ? Promise.resolve(new Response(JSON.stringify({json.dumps(found)})))"
        " : given?.method !== 'DELETE' ? sent(path, given)"
        " : (window.removed = path, Promise.resolve(new Response('{}')));"
    )
    page.click("button.left")
    page.until("document.querySelector('dialog .folders li')")
    assert page.texts("dialog .folders small") == [
        "31.3 of at most 100 bits, 1.3 of them today; to cloud, last on 2026-12-01"
    ]
    assert page.texts("dialog .folders ~ .timeline li") == ["2026-11-30\n30.0 bits", "2026-12-01\n1.3 bits"]
    assert violations(page) == []
    page.click("dialog .folders .remove")
    assert page.run("return window.removed") is None
    page.click("dialog .folders .remove")
    page.until("!document.querySelector('dialog .folders .remove')")
    assert page.run("return window.removed") == "documents/%2Fnotes%2Flease.md"


def test_an_answer_is_copied_without_its_colours(page: Browser) -> None:
    ask(page)
    page.run(
        "Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (t) => (window.copied = t) } })"
    )
    page.click(".actions .copy")
    page.until("document.querySelector('.actions .copy').textContent === 'Copied'")
    assert page.run("return window.copied") == page.run(TEXT)


def test_what_was_not_found_is_answered_anyway_in_one_click(page: Browser) -> None:
    """In the place of the sentence that says so; another answer has no such button."""
    ask(page)
    assert page.texts(".actions .anyway") == []
    page.run(
        "const [first] = JSON.parse(localStorage.getItem('hocket-conversations'));"
        "first.turns[0].answer.finish = 'unknown'; first.id = 'another';"
        "localStorage.setItem('hocket-conversations', JSON.stringify([first]));"
        "dispatchEvent(new Event('storage'));"
        "const sent = window.fetch; window.bodies = [];"
        "window.fetch = (path, given) => { if (given?.body) bodies.push(given.body); return sent(path, given); }"
    )
    page.click("[data-does=history]")
    page.click("hocket-history li button")
    page.click(".actions .anyway")
    page.until("!document.querySelector('hocket-turn .left')")
    over(page)
    assert json.loads(page.run("return window.bodies.at(-1)"))["unknown"] == "answer"
    assert page.texts(".actions .anyway") == []


def test_conversations_are_searched_renamed_and_exported(page: Browser) -> None:
    """By words of questions, answers and titles; a title stays in this browser; the file is Markdown, or JSON."""
    for question in ("kala herons?", "mira boats?"):
        page.click("[data-does=new]")
        ask(page, question)
    page.click("[data-does=history]")
    titles = "hocket-history li > button:first-child"
    assert page.texts(titles) == ["mira boats?", "kala herons?"]
    page.type("hocket-history input", "HERONS")
    assert page.texts(titles) == ["kala herons?"]
    page.click("hocket-history .more")
    page.click("hocket-history .rename")
    page.type("hocket-history li input", "Birds" + ENTER)
    assert page.texts(titles) == ["Birds"]
    page.run("URL.createObjectURL = (blob) => { window.saved = blob.text(); return '#'; }")
    page.run("HTMLAnchorElement.prototype.click = function () { window.named = this.download; }")
    page.click("hocket-history .more")
    page.click("hocket-history .md")
    assert page.run("return window.named") == "Birds.md"
    lines = page.run("return window.saved").splitlines()
    assert (lines[0], lines[4]) == ("# Birds", "## kala herons?")
    assert re.search(r"\d{4}", lines[2])
    assert any(line.startswith("- device-") for line in lines)
    page.click("hocket-history .json")
    assert page.run("return window.named") == "Birds.json"
    saved = json.loads(page.run("return window.saved"))
    (turn,) = saved["turns"]
    assert (saved["title"], turn["question"]) == ("Birds", "kala herons?")
    assert turn["answer"] in page.run("return window.saved")
    assert {"device", "cloud"} == {source["side"] for source in turn["sources"]}


def test_escape_leaves_the_conversations(page: Browser) -> None:
    """Leave from anywhere but a field with words; the focus goes to the button that opened them."""
    ask(page, "kala?")
    page.click("[data-does=history]")
    page.type("hocket-history input", "kala" + ESCAPE)
    assert not page.run("return document.querySelector('hocket-history').hidden")
    page.type("hocket-history li button", ESCAPE)
    assert page.run("return document.querySelector('hocket-history').hidden")
    assert page.run("return document.activeElement.dataset.does") == "history"


def test_a_pinned_conversation_stays_at_the_top(page: Browser) -> None:
    """Whichever is newer, and until it is let go."""
    titles = "hocket-history li > button:first-child"
    for question in ("kala?", "mira?"):
        page.click("[data-does=new]")
        ask(page, question)
    page.click("[data-does=history]")
    page.click("hocket-history li:nth-child(2) .more")
    page.click("hocket-history li:nth-child(2) .pin")
    assert page.texts(titles) == ["★ kala?", "mira?"]
    page.click("[data-does=new]")
    ask(page, "duno?")
    assert page.texts(titles) == ["★ kala?", "duno?", "mira?"]
    assert violations(page) == []
    page.click("hocket-history .more")
    page.click("hocket-history li:first-child .actions .pin")
    assert page.texts(titles) == ["duno?", "mira?", "kala?"]


def test_an_earlier_question_is_changed_in_a_conversation_of_its_own(page: Browser) -> None:
    """With the turns before it; the other conversation keeps all of its turns."""
    for question in ("kala?", "mira?", "duno?"):
        ask(page, question)
    page.click("hocket-turn:nth-child(2) .edit")
    page.type("#question", " tano" + ENTER)
    page.until("document.querySelectorAll('hocket-turn').length === 2")
    over(page)
    assert page.texts("hocket-turn .question") == ["kala?", "mira? tano"]
    kept = page.run("return JSON.parse(localStorage.getItem('hocket-conversations'))")
    questions = [[turn["question"] for turn in each["turns"]] for each in kept]
    assert questions == [["kala?", "mira? tano"], ["kala?", "mira?", "duno?"]]


def write(page: Browser, text: str) -> None:
    """Until something is suggested behind a text."""
    page.click("[data-does=write]")
    page.type("#writing", text)
    page.until("document.querySelector('.ghost em')")


def test_tab_takes_what_stands_in_grey(page: Browser) -> None:
    """Then there is another suggestion; the text is there again when the page is opened again."""
    write(page, WRITTEN)
    page.run(  # it may be another one by the time of the key, by newer memory
        "document.querySelector('#writing').addEventListener('keydown', () => {"
        "window.grey = [document.querySelector('.ghost').textContent, document.querySelector('.offer').textContent] },"
        "{ once: true, capture: true })"
    )
    page.type("#writing", TAB)
    whole, line = page.run("return window.grey")
    assert whole.startswith(WRITTEN)
    assert whole.removeprefix(WRITTEN).strip() in line
    value = page.run("return document.querySelector('#writing').value")
    assert value == whole != WRITTEN
    assert page.run("return document.activeElement.id") == "writing"
    page.open(page.run("return location.href"))
    page.until(READY)
    assert page.run("return document.querySelector('#writing').value") == value


def test_escape_refuses_it_and_then_the_keys_do_what_they_always_do(page: Browser) -> None:
    """Nothing is suggested until the text is another one; Tab leaves the field, Escape closes."""
    write(page, WRITTEN)
    page.type("#writing", ESCAPE)
    assert page.run("return document.querySelector('.ghost em')") is None
    assert page.run("return document.querySelector('#writing').value") == WRITTEN
    page.type("#writing", TAB)
    assert page.run("return document.activeElement.id") == "write-alone"
    page.type("#writing", " tano")
    page.until("document.querySelector('.ghost em')")
    page.type("#writing", ESCAPE)
    page.type("#writing", ESCAPE)
    page.until("!document.querySelector('dialog.write').open")


def test_a_suggestion_within_a_text_stands_below_it(page: Browser) -> None:
    """Behind an emoji the cursor's place is right, too."""
    write(page, WRITTEN)
    page.run(
        "const field = document.querySelector('#writing'); field.setRangeText('\N{GRINNING FACE} ', 0, 0, 'preserve');"
        "const end = field.value.length; field.setRangeText('\\n\\nmira', end, end, 'preserve');"
        "field.setSelectionRange(end, end)"
    )
    page.until("document.querySelector('.offer').textContent && !document.querySelector('.ghost em')")


def test_a_key_of_a_folder_is_told_why_it_writes_alone(front: Served, window: Browser) -> None:
    key = people.invite(front.people, "anna", folders=("letters",))
    try:
        opened_with(window, front, key)
        window.click("[data-does=write]")
        window.type("#writing", WRITTEN)
        window.until("document.querySelector('.offer').textContent.includes('may read only some folders')")
        assert window.run("return document.querySelector('hocket-link').hidden") is True
        window.type("#writing", ESCAPE)
        ask(window)
        assert window.texts("button.left") == []
        window.click(".why")
        window.until("document.querySelector('dialog .error')")
    finally:
        front.people.unlink()
        window.run("sessionStorage.clear()")
    assert all("401" in line or "403" in line for line in window.complaints())


def opened_with(window: Browser, front: Served, key: str) -> None:
    window.open(front.url)
    window.run("localStorage.clear(); sessionStorage.clear()")
    window.open(front.url)
    window.until("document.querySelector('hocket-key').hidden === false")
    window.type("#key", key + ENTER)
    window.until(READY)


def test_the_group_is_drawn_around_its_answer(tiny_models: dict[str, Path], window: Browser) -> None:
    """Over devices that ask each other: who answered, and with what share."""
    with tempfile.TemporaryDirectory(prefix="hk") as name, family(Path(name), tiny_models) as made:
        made.start_cloud(["anna", "ben"], {"family": ["anna", "ben"]}, gather_s=30.0)
        made.start_device("anna", "The boiler in the cellar of Elm House was serviced by Karsten Dahl.")
        made.start_device("ben", BOAT)
        for device in ("anna", "ben"):
            made.wait_shared(device)
        anna = made.devices["anna"]
        settings = ServeSettings(
            port=0,
            device=anna.endpoint("device"),
            retrieval=anna.endpoint("device-retrieval"),
            max_tokens=TOKENS,
        )
        with gateway(settings) as port:
            window.open(f"http://127.0.0.1:{port}")
            window.until(READY)
            window.type("#model", "hocket-graph")
            ask(window, OF_BOAT)
            (line,) = window.texts("hocket-group li")
            assert line.startswith("ben answered, with ")
            assert window.run("return document.querySelectorAll('hocket-group circle.answered').length") == 1


def test_who_declined_and_who_was_not_there_is_told_apart(page: Browser) -> None:
    """By the notices, as they come, and by the way and the sources at the end."""
    answer = {
        "notices": [
            "ben has no passages for it: nothing is near enough",
            "carl, whose summaries match, is not connected",
            "dora has not answered within 2 s",
            "most of its words are in no passage",
        ],
        "routing": {"matched": ["emil", "ben", "carl", "finn"]},
        "sources": [{"device": "emil", "share": 0.25}, {"device": "emil", "share": 0.5}, {"device": "", "share": 0.25}],
    }
    found = page.run("return import('/page/answers.js').then(m => m.devicesOf(arguments[0]))", answer)
    states = {each["name"]: each["state"] for each in found}
    assert states == {
        "emil": "answered",
        "ben": "declined",
        "carl": "absent",
        "dora": "absent",
        "finn": "asked",
    }
    assert next(each["share"] for each in found if each["name"] == "emil") == pytest.approx(0.75)

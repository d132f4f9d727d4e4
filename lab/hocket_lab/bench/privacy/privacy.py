"""`hocket bench privacy`: what of private documents reaches the cloud, read off the wire, with drafts and without."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

from rich.progress import track

from hocket_bus.messages import Draft, Message
from hocket_bus.wire import decode
from hocket_client import Client
from hocket_daemon.engine.opening.engines import open_model
from hocket_daemon.engine.settings import BUNDLED, ModelSettings
from hocket_daemon.privacy.egress import read
from hocket_lab.bench.privacy import leaks
from hocket_lab.bench.privacy.canaries import Canary, canaries, documents, grams
from hocket_lab.bench.running.product import DTYPE, TEMPERATURE
from hocket_lab.bench.running.running import SIDES
from hocket_lab.bench.speed.wire import framed_bytes
from hocket_lab.link.tap import Tap, messages
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, Row, percentile
from hocket_tools import console
from hocket_tools.commands.daemons.pair import START_S
from hocket_tools.commands.library.documents import read_in
from hocket_tools.pair.home import Home
from hocket_tools.pair.processes import stop
from hocket_tools.pair.temporary import temporary_home
from hocket_tools.pair.up import bring_up

_DRAFTS = ("bytes of a draft, median", "bytes of a draft, mean", "bytes of a draft, 95 %")
_ALONE = 0.05  # of the answers at most: an answer of the device alone tells the cloud nothing, and shows nothing
_CONTROL, _PUBLIC = 1, 2  # added to the seed: sentences that nobody read, and those that the cloud reads

Encode = Callable[[str], list[int]]
Decode = Callable[[list[int]], str]


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark."""

    canaries: Annotated[int, Option("Sentences to look for, each with a question.", min=1)] = 200
    max_tokens: Annotated[int, Option("Longest answer.", min=1)] = 32
    temperature: Annotated[float, Option("0 is greedy.", min=0)] = TEMPERATURE
    seed: Annotated[int, Option("Chooses sentences and tokens.", min=0)] = 0
    model: Annotated[str, Option("Both sides' model: a published name, a folder or a .gguf file.")] = BUNDLED
    dtype: Annotated[str, Option("Of both models; float32 alone gives the same tokens without drafts.")] = DTYPE


@dataclass(frozen=True)
class Capture:
    """Messages that left the device in one run, as on the wire, their bytes, and the ids of every published answer."""

    sent: list[Message]
    size_bytes: int
    ledger_bytes: int
    published: dict[str, list[int]]  # by question
    draft_bytes: Sequence[int] = ()  # of each on the wire, unencrypted, with all headers
    together: Mapping[str, list[int]] = field(default_factory=dict)  # the same as far as both sides wrote them
    names: int = 0  # of private documents that are in a frame
    sourced: int = 0  # answers that named a private document to their reader
    alone: int = 0  # answers with steps that the device took alone


def run(settings: Settings, json_path: Path | None) -> bool:
    """Ask about every sentence, with drafts and without; tells whether no claim misses."""
    report = Report(asdict(settings), json_path)
    private = canaries(settings.canaries, settings.seed)
    missing = [drafts for drafts in (True, False) if report.find(drafts=drafts) is None]
    if missing:
        with _pair(settings, private) as home:
            for drafts in missing:
                report.add(_row(capture(home, private, settings, drafts=drafts), private, settings, drafts=drafts))
    _claim(report, settings.canaries)
    report.summary = _side_by_side(report)
    return report.finish()


@contextmanager
def _pair(settings: Settings, private: list[Canary]) -> Iterator[Home]:
    """Run a pair whose device has read the sentences, and whose cloud has read others."""
    with temporary_home() as home:
        for side in SIDES:
            home.prepare_side(side, side, "", {"model.name": settings.model, "model.dtype": settings.dtype})
        bring_up(home, START_S, lambda _: None)
        public = canaries(settings.canaries, settings.seed + _PUBLIC)
        for side, sentences in (("device", private), ("cloud", public)):
            with tempfile.TemporaryDirectory(prefix="hocket-") as folder:
                for name, text in documents(sentences).items():
                    (Path(folder) / name).write_text(text, encoding="utf-8")
                read_in(home.endpoint(f"{side}-retrieval"), [Path(folder)])
        yield home


def capture(home: Home, private: list[Canary], settings: Settings, *, drafts: bool) -> Capture:
    """Start the device anew with a tap in its wire, ask every question, stop it, and read what left."""
    ledger = home.at / f"ledger-{drafts}"
    stop(home, ["device"])
    _configure(home, ledger, settings, drafts=drafts)
    done, names = {}, [name.removesuffix(".txt") for name in documents(private)]
    with Tap(_tap(home), home.endpoint("cloud")) as tap:
        bring_up(home, START_S, lambda _: None)
        with Client(home.endpoint("device")) as client:
            client.ask("?", max_tokens=1, require_cloud=True).result()  # now it is there, unless the guard leaves it
            for at, canary in enumerate(track(private, "asking", console=console.err(), transient=True)):
                how: dict[str, Any] = {"seed": settings.seed + at, "temperature": settings.temperature}
                stream = client.ask(canary.question, max_tokens=settings.max_tokens, **how)
                done[canary.question] = stream.result()
        stop(home, ["device"])
        frames = [each for recorded in tap.recorded() for each in messages(recorded)]
    size_bytes = sum(len(frame) for each in frames for frame in each)
    published = {question: each.token_ids for question, each in done.items()}
    together = {question: of_both(each.token_ids, each.aggregation.solo_steps) for question, each in done.items()}
    alone = sum(bool(each.aggregation.solo_steps) for each in done.values())
    leaked = sum(any(name in origin.document for origin in each.sources for name in names) for each in done.values())
    sent = [decode(each) for each in frames]
    weighed = [framed_bytes(each) for each, message in zip(frames, sent, strict=True) if isinstance(message, Draft)]
    found = names_in(frames, names)
    return Capture(sent, size_bytes, _counted(ledger), published, weighed, together, found, leaked, alone)


def of_both(ids: list[int], solo_steps: list[int]) -> list[int]:
    """Return the tokens of an answer that the cloud may know: none after the last step that both sides took.

    Those after that step go to the reader alone.
    """
    alone = set(solo_steps)
    return ids[: max((step + 1 for step in range(len(ids)) if step not in alone), default=0)]


def names_in(frames: list[list[bytes]], names: list[str]) -> int:
    """Count the names that are in any frame, ignoring case."""
    sent = b"\n".join(frame for each in frames for frame in each).lower()
    return sum(name.lower().encode() in sent for name in names)


def _counted(ledger: Path) -> int:
    return sum(entry.size_bytes for entry in read(ledger))


def _tap(home: Home) -> str:
    return f"ipc://{home.at}/run/tap"


def _configure(home: Home, ledger: Path, settings: Settings, *, drafts: bool) -> None:
    values = {
        "endpoint": home.endpoint("device"),
        "retrieval": home.endpoint("device-retrieval"),
        "cloud": _tap(home),
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    lines += ["[model]", f"name = {json.dumps(settings.model)}", f"dtype = {json.dumps(settings.dtype)}"]
    lines += ["[egress]", f"drafts = {json.dumps(drafts)}", f"ledger = {json.dumps(str(ledger))}"]
    home.config("device").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _row(captured: Capture, private: list[Canary], settings: Settings, *, drafts: bool) -> Row:
    encode, to_text = _tokenizer(settings.model)
    seen = leaks.sessions(captured.sent, captured.together)
    outside = beyond(captured, seen, private, to_text)
    row: Row = {
        "drafts": drafts,
        "messages": len(captured.sent),
        "bytes": captured.size_bytes,
        "ledger": captured.ledger_bytes,
        "distributions": len(captured.draft_bytes),
        **_weights(captured.draft_bytes),
        "names": captured.names,
        "sourced": captured.sourced,
        "ended alone": captured.alone,
        "in texts": sum(in_texts(captured.sent, private)),
        "beyond the answer": sum(map(bool, outside)),
        "5-grams": sum(map(len, outside)),
    }
    groups = (private, canaries(settings.canaries, settings.seed + _CONTROL))
    own = leaks.own_runs([encode(" " + one.text) for group in groups for one in group])
    halves = (own[: len(private)], own[len(private) :])
    for name, likeliest in leaks.LIKELIEST.items():
        real, control = (
            _rebuilt(half, leaks.continuations(seen, [encode(" " + one.question) for one in group], likeliest))
            for half, group in zip(halves, groups, strict=True)
        )
        row |= {name: fmean(real), f"{name}, most": max(real), f"{name}, chance": fmean(control)}
    return row


def _rebuilt(own: list[set[tuple[int, ...]]], behind: Mapping[tuple[int, ...], set[int]]) -> list[float]:
    return [leaks.rebuilt(each, behind) for each in own]


def in_texts(sent: list[Message], private: list[Canary]) -> list[bool]:
    """Tell of each sentence whether five words of it are in a text, or a message could hold more than it should."""
    strange = any(map(leaks.strange, sent))
    spoken = {gram for message in sent for text in leaks.texts(message) for gram in grams(text)}
    return [strange or not spoken.isdisjoint(grams(canary.text)) for canary in private]


def beyond(
    captured: Capture, seen: list[leaks.Seen], private: list[Canary], to_text: Decode
) -> list[set[tuple[str, ...]]]:
    """Return, for each sentence, its 5-grams among the tokens that the cloud saw but that were not published."""
    published = {gram for ids in captured.published.values() for gram in grams(to_text(ids))}
    sequences = [ids for each in seen for ids in each.rejected()]
    sequences += [tuple(each.answer) for each in seen if not _is_published(each, captured.published)]
    held = {gram for ids in sequences for gram in grams(to_text(list(ids)))}
    return [grams(canary.text) & held - published for canary in private]


def _is_published(seen: leaks.Seen, published: Mapping[str, list[int]]) -> bool:
    return seen.answer == published.get(seen.begin.prompt.query, [])[: len(seen.answer)]


def _side_by_side(report: Report) -> list[Row]:
    """Return a row for each figure, with a column for each setting."""
    rows = sorted(report.rows, key=lambda row: not row["drafts"])
    names = [name for name in rows[0] if name != "drafts"]
    return [{"figure": name, "drafts = true": rows[0][name], "drafts = false": rows[1][name]} for name in names]


def _weights(draft_bytes: Sequence[int]) -> Row:
    found = (percentile(draft_bytes, 0.5), fmean(draft_bytes), percentile(draft_bytes, 0.95)) if draft_bytes else ()
    return dict(zip(_DRAFTS, found or (None,) * len(_DRAFTS), strict=True))


def _tokenizer(model: str) -> tuple[Encode, Decode]:
    tokenizer = open_model(ModelSettings(name=model, slots=1), "device").tokenizer
    return (
        lambda text: list(tokenizer(text, add_special_tokens=False)["input_ids"]),
        lambda ids: str(tokenizer.decode(ids, skip_special_tokens=True)),
    )


def _claim(report: Report, number: int) -> None:
    report.claims.clear()
    of = f"0 of {number}"
    for drafts in (True, False):
        row = report.find(drafts=drafts)
        assert row is not None
        name = f"drafts = {json.dumps(drafts)}"
        alone, equal = float(row["ended alone"] or 0), row["ledger"] == row["bytes"]
        maximum = _ALONE * number
        report.claim(f"{name}: answers with steps of the device alone", f"<= {maximum:g}", alone, alone <= maximum)
        report.claim(f"{name}: sentences in any text, or room for more", of, row["in texts"] or 0, not row["in texts"])
        report.claim(f"{name}: names of documents in any frame", "0", row["names"] or 0, not row["names"])
        report.claim(f"{name}: answers that name one to the reader", "some", row["sourced"] or 0, bool(row["sourced"]))
        report.claim(f"{name}: bytes of the ledger", f"{row['bytes']} captured", row["ledger"] or 0, equal)
        if not drafts:
            outside = row["beyond the answer"]
            report.claim(f"{name}: sentences with a 5-gram beyond the answer", of, outside or 0, not outside)
            report.claim(f"{name}: distributions", "0", row["distributions"] or 0, not row["distributions"])

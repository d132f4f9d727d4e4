"""Figure 7: time to the first token of all methods, over short and long documents, read anew and from stored KV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import msgspec
from rich.progress import Progress

from hocket_daemon.engine.settings import BUNDLED
from hocket_lab.bench.parties.methods import ALONE, DRCG_KV, DRCG_TEXT, DRDG_SW, METHODS, Methods, Options
from hocket_lab.bench.running.product import DOCUMENTS
from hocket_lab.bench.running.running import SIDES, bench_pair
from hocket_lab.bench.running.stream import Run
from hocket_lab.bench.speed.aggregation import fixed_prompts, inputs, share_out
from hocket_lab.bench.speed.kv import CHUNK_WORDS, QUESTION_CHARS, TEXTS, passages, wait_computed
from hocket_lab.reporting.picture import draw
from hocket_lab.reporting.report import Report, Row, Value, bootstrap, percentile
from hocket_tools import console

from .frame import Claim, Figure
from .running import TOO_FEW, Key, answers, cells, enough, seconds, upper_ratio

CELL = ("stored", "document_tokens", "rtt_ms", "method")
OURS = ("independent", "coupled")
SEVERAL = 2.0  # how many times as long DRCG is to take
READY_MS = 30  # what the bound of the time to the first token grants beyond reading and the link
Cells = Mapping[Key, Sequence[Run]]


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of figure 7; nothing is held. `tokens` is the length of an answer, which DRDG/SW shows at its end."""

    document_tokens: tuple[int, ...] = (16, 256)
    rtts_ms: tuple[int, ...] = (0, 100, 200, 300)
    jitter: float = 0.2
    methods: tuple[str, ...] = METHODS
    prompts: int = 30
    tokens: int = 20
    documents: int = DOCUMENTS
    passages: int = 20
    seed: int = 0
    model: str = BUNDLED  # both sides': a published name or a folder

    def __post_init__(self) -> None:
        """Check the settings. Raises ValueError for what cannot be measured."""
        if wrong := set(self.methods) - set(METHODS):
            raise ValueError(f"{wrong.pop()} is not one of {', '.join(METHODS)}")


def _inputs(settings: Settings, data: Path) -> Mapping[str, Value]:
    return inputs(data, settings.prompts, TEXTS * 2 * settings.passages)


def _measure(report: Report, settings: Settings, data: Path) -> None:
    for stored in (False, True):
        for tokens in settings.document_tokens:
            missing = [cell for cell in _cells(settings, stored, tokens) if report.find(**cell) is None]
            if missing:
                _measure_pair(report, settings, data, missing)


def _cells(settings: Settings, stored: bool, tokens: int) -> Iterator[Row]:
    """Yield the cells; a side alone uses no link, so it is measured once, with the first round trip."""
    for at, rtt_ms in enumerate(settings.rtts_ms):
        for method in settings.methods:
            if at == 0 or method not in ALONE:
                yield dict(zip(CELL, (stored, tokens, rtt_ms, method), strict=True))


def _measure_pair(report: Report, settings: Settings, data: Path, missing: Sequence[Row]) -> None:
    stored, tokens = bool(missing[0]["stored"]), int(missing[0]["document_tokens"] or 0)
    prompts = [prompt[:QUESTION_CHARS] for prompt in fixed_prompts(data, settings.prompts)]
    texts = passages(data, 2 * settings.passages, tokens)
    with (
        bench_pair(stored=stored, chunk_words=CHUNK_WORDS, model={"name": settings.model}) as pair,
        Progress(console=console.err(), transient=True) as bar,
    ):
        share_out(pair, texts)
        for number, side in enumerate(SIDES if stored else ()):
            wait_computed(pair, side, len(texts[number::2]))
        task = bar.add_task("measuring", total=len(missing) * len(prompts))
        with Methods(pair, model=settings.model) as methods:
            methods.warm_up(prompts[0], settings.methods)
            for cell in missing:
                bar.update(task, description=", ".join(f"{name} {value}" for name, value in cell.items()))
                length = settings.tokens if cell["method"] == DRDG_SW else 1
                methods.settle(seconds(cell["rtt_ms"]), settings.jitter)
                options = Options(length, 0.0, settings.documents, "answer")  # documents are kept as answers read them
                report.extend(answers(methods, cell, prompts, options, settings.seed))
                bar.advance(task, len(prompts))


# --- the claims


def _judge(rows: Sequence[Row]) -> list[Claim]:
    measured = cells(rows, CELL)
    lengths = dict.fromkeys(float(key[1] or 0) for key in measured)
    short, long, remote = min(lengths), max(lengths), max(float(key[2] or 0) for key in measured)
    found = enough(measured)
    claims = []
    for own in OURS:
        for tokens in lengths:
            claims.append(_ratio(found, (True, tokens, 0, own), (True, tokens, 0, "device"), 1.1))
            claims.append(_delayed(found, (True, tokens, remote, own)))
        claims.append(_ratio(found, (True, long, 0, own), (True, short, 0, own), 1.2))
        claims += [_rival(found, (True, long, 0, rival), (True, long, 0, own)) for rival in (DRCG_TEXT, DRCG_KV)]
    claims.append(_grows(found, (True, long, 0, DRCG_KV), (True, long, remote, DRCG_KV)))
    return claims


def _ratio(found: Cells, own: Key, rival: Key, limit: float) -> Claim:
    """Claim a limit on the upper end of the 95 % interval of the ratio of means, over the same prompts."""
    name = f"{_named(own)} / {_named(rival)}, stored KV, 0 ms, upper end"
    if own not in found or rival not in found or own == rival:
        return Claim(name, f"<= {limit}", TOO_FEW, None)
    ratio = upper_ratio(_ttft_ms(found[own]), _ttft_ms(found[rival]))
    return Claim(name, f"<= {limit}", ratio, ratio <= limit)


def _rival(found: Cells, rival: Key, own: Key) -> Claim:
    name, target = f"{_named(rival)} / {_named(own)}, stored KV, 0 ms, lower over upper end", f">= {SEVERAL}"
    if own not in found or rival not in found:
        return Claim(name, target, TOO_FEW, None)
    ratio = bootstrap(_ttft_ms(found[rival]))[0] / bootstrap(_ttft_ms(found[own]))[1]
    return Claim(name, target, ratio, ratio >= SEVERAL)


def _grows(found: Cells, near: Key, remote: Key) -> Claim:
    name = f"{_named(near)}: time to the first token at {remote[2]:g} ms over 0 ms, lower over upper end"
    if near not in found or remote not in found or near == remote:
        return Claim(name, "> 1", TOO_FEW, None)
    ratio = bootstrap(_ttft_ms(found[remote]))[0] / bootstrap(_ttft_ms(found[near]))[1]
    return Claim(name, "> 1", ratio, ratio > 1)


def _delayed(found: Cells, own: Key) -> Claim:
    """Claim the bound of reading and the link, with the sides' own times to the first token as the time of reading."""
    stored, tokens, rtt_ms, _ = own
    name = f"{_named(own)}, stored KV, {rtt_ms:g} ms: time to the first token, ms"
    alone = [found.get((stored, tokens, 0, side)) for side in ALONE]
    if own not in found or not alone[0] or not alone[1]:
        return Claim(name, "max(device, link + cloud) + 30", TOO_FEW, None)
    device_ms, cloud_ms, own_ms = (fmean(_ttft_ms(runs)) for runs in (alone[0], alone[1], found[own]))
    bound = max(device_ms, seconds(rtt_ms) * 1000 + cloud_ms) + READY_MS
    return Claim(name, f"<= {bound:.0f}", own_ms, own_ms <= bound)


def _named(key: Key) -> str:
    return f"{key[3]} with {key[1]:g}-token documents"


def _ttft_ms(runs: Sequence[Run]) -> list[float]:
    return [run.times_s[0] * 1000 for run in runs]


# --- the picture


def _summary(rows: Sequence[Row]) -> list[Row]:
    """Return one row for each cell, with the 95 % interval of the mean over the prompts."""
    made = []
    for key, runs in cells(rows, CELL).items():
        times_ms = _ttft_ms(runs)
        low, high = bootstrap(times_ms)
        figures: Row = {"ttft_ms": fmean(times_ms), "ttft_low_ms": low, "ttft_high_ms": high}
        percentiles: Row = {f"p{share}_ms": percentile(times_ms, share / 100) for share in (50, 95)}
        made.append(dict(zip(CELL, key, strict=True)) | figures | percentiles)
    return made


def _draw(png: Path, rows: Sequence[Row], settings: Settings) -> None:
    """Draw one picture for each length of documents, the first under the figure's own name."""
    for number, tokens in enumerate(settings.document_tokens):
        named = {True: "stored KV", False: "read anew"}
        shown = [
            row | {"curve": f"{row['method']}, {named[bool(row['stored'])]}"}
            for row in rows
            if row["document_tokens"] == tokens
        ]
        at = png if number == 0 else png.with_stem(f"{png.stem}-{tokens}")
        title = f"time to the first token, documents of {tokens} tokens"
        draw(at, shown, "rtt_ms", "ttft_ms", "curve", title=title, interval=("ttft_low_ms", "ttft_high_ms"))


FIGURE = Figure(
    title="time to the first token over added round trips, short and long documents, with and without stored KV",
    paper="DRAGON shows its first token as soon as the device alone; DRCG takes several times as long",
    settings=Settings,
    inputs=_inputs,
    measure=_measure,
    summary=_summary,
    judge=_judge,
    draw=_draw,
)

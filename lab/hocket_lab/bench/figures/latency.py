"""Figure 6: ms per token of all methods over added round trips, decode steps held at given times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from rich.progress import Progress

from hocket_bus.messages import Task
from hocket_daemon.engine.settings import BUNDLED
from hocket_lab.bench.parties.methods import ALONE, METHODS, Methods, Options
from hocket_lab.bench.questions.corpora import reading_questions
from hocket_lab.bench.running.product import DOCUMENTS
from hocket_lab.bench.running.running import bench_pair
from hocket_lab.bench.running.stream import Run, mean
from hocket_lab.bench.speed.aggregation import articles, fixed_prompts, inputs, share_out
from hocket_lab.reporting.picture import draw
from hocket_lab.reporting.report import Report, Row, Value, bootstrap
from hocket_lab.reporting.sources import digest
from hocket_tools import console

from .frame import Claim, Figure
from .running import TOO_FEW, Key, answers, cells, enough, seconds, summary, upper_ratio

CELL = ("device_ms", "cloud_ms", "temperature", "rtt_ms", "method")
ASKED = "asked"  # "paragraph": the beginning of one, to be continued; "question": one that a passage answers
REMOTE_MS = 300
RATIOS: Mapping[Key, Sequence[tuple[str, str, float]]] = {
    (25.0, 25.0): (
        ("independent", "sync", 0.62),
        ("coupled", "independent", 0.5),
        ("coupled", "sync", 0.25),
        ("coupled", "sync-both", 0.45),
    ),
    (132.0, 8.4): (("coupled", "sync", 0.5), ("coupled", "independent", 0.8)),
}  # at 300 ms and temperature 1, upper end over lower end
OURS = ("independent", "coupled")
Cells = Mapping[Key, Sequence[Run]]


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of figure 6.

    `device_ms` and `cloud_ms` are the held decode times, in pairs: equal sides, and the paper's OPT and Qwen. `model`
    is both sides': a published name or a folder.
    """

    device_ms: tuple[float, ...] = (25.0, 132.0, 217.0)
    cloud_ms: tuple[float, ...] = (25.0, 8.4, 19.0)
    temperatures: tuple[float, ...] = (1.0, 0.0)
    rtts_ms: tuple[int, ...] = (0, 100, 200, 300)
    jitter: float = 0.2
    methods: tuple[str, ...] = METHODS
    prompts: int = 30
    questions: int = 30
    tokens: int = 20
    documents: int = DOCUMENTS
    articles: int = 40
    seed: int = 0
    model: str = BUNDLED

    def __post_init__(self) -> None:
        """Check the settings. Raises ValueError for what cannot be measured."""
        if len(self.device_ms) != len(self.cloud_ms):
            raise ValueError("device_ms and cloud_ms go in pairs")
        if wrong := set(self.methods) - set(METHODS):
            raise ValueError(f"{wrong.pop()} is not one of {', '.join(METHODS)}")


def _inputs(settings: Settings, data: Path) -> Mapping[str, Value]:
    asked = digest([text for pair in reading_questions(data, settings.questions) for text in pair])
    return dict(inputs(data, settings.prompts, settings.articles)) | {"questions": asked}


def _measure(report: Report, settings: Settings, data: Path) -> None:
    for holds in zip(settings.device_ms, settings.cloud_ms, strict=True):
        missing = [cell for cell in _cells(settings, holds) if report.find(**cell) is None]
        if missing:
            _measure_pair(report, settings, data, missing)


def _cells(settings: Settings, holds: tuple[float, float]) -> Iterator[Row]:
    """Yield the cells of paragraphs, then those of questions, which are asked at the round trip FAR_MS.

    A side alone uses no link, so its paragraphs are measured once, with the first round trip.
    """

    def cell(asked: str, temperature: float, rtt_ms: int, method: str) -> Row:
        values: tuple[Value, ...] = (asked, *holds, temperature, rtt_ms, method)
        return dict(zip((ASKED, *CELL), values, strict=True))

    for temperature in settings.temperatures:
        for at, rtt_ms in enumerate(settings.rtts_ms):
            yield from (
                cell("paragraph", temperature, rtt_ms, method)
                for method in settings.methods
                if at == 0 or method not in ALONE
            )
    yield from (cell("question", 1.0, REMOTE_MS, method) for method in settings.methods)


def _measure_pair(report: Report, settings: Settings, data: Path, missing: Sequence[Row]) -> None:
    read = reading_questions(data, settings.questions)
    asked = {"paragraph": fixed_prompts(data, settings.prompts), "question": [question for question, _ in read]}
    tasks: Mapping[str, Task] = {"paragraph": "complete", "question": "answer"}
    device_s, cloud_s = (seconds(missing[0][name]) for name in CELL[:2])
    with (
        bench_pair((device_s, cloud_s), model={"name": settings.model}) as pair,
        Progress(console=console.err(), transient=True) as bar,
    ):
        share_out(pair, [*articles(data, settings.articles), *dict.fromkeys(passage for _, passage in read)])
        task = bar.add_task("measuring", total=sum(len(asked[str(cell[ASKED])]) for cell in missing))
        with Methods(pair, device_s, model=settings.model) as methods:
            methods.warm_up(asked["paragraph"][0], settings.methods)
            for cell in missing:
                prompts, kind = asked[str(cell[ASKED])], tasks[str(cell[ASKED])]
                bar.update(task, description=", ".join(f"{name} {value}" for name, value in cell.items()))
                options = Options(settings.tokens, float(cell["temperature"] or 0), settings.documents, kind)
                methods.settle(seconds(cell["rtt_ms"]), settings.jitter)
                report.extend(answers(methods, cell, prompts, options, settings.seed))
                bar.advance(task, len(prompts))


# --- the claims


def _judge(rows: Sequence[Row]) -> list[Claim]:
    found = cells([each for each in rows if each[ASKED] == "paragraph"], CELL)
    claims: list[Claim] = []
    for hold in dict.fromkeys(key[:2] for key in found):
        own = {key[2:]: runs for key, runs in enough(found).items() if key[:2] == hold}
        name = f"held {hold[0]:g}/{hold[1]:g} ms: "
        claims += [_ratio(name, own, *terms) for terms in RATIOS.get(hold, ())]
        claims += [
            _parity(name + "greedy, ", own, ("coupled",), "independent", 1.02, where=lambda key: key[0] == 0),
            _parity(name + "at 0 ms, ", own, OURS, "device", 1.05, where=lambda key: key[1] == 0),
            _parity(name, own, OURS, "sync", 1.02, where=lambda _: True),
        ]
    claims.append(_same_ids("coupled", found, where=lambda _: True))
    claims.append(_same_ids("independent", found, where=lambda key: key[2] == 0))
    return claims


def _ratio(hold: str, found: Cells, own: str, rival: str, limit: float) -> Claim:
    name = f"{hold}{own} / {rival} at {REMOTE_MS} ms and temperature 1, upper end over lower end"
    ours, theirs = (found.get((1.0, REMOTE_MS, method)) for method in (own, rival))
    if not ours or not theirs:
        return Claim(name, f"<= {limit}", TOO_FEW, None)
    ratio = bootstrap(_ms(ours))[1] / bootstrap(_ms(theirs))[0]
    measured = f"{ratio:.3f}; accepted: {own} {_accepted(ours)}, {rival} {_accepted(theirs)}"
    return Claim(name, f"<= {limit}", measured, ratio <= limit)


def _parity(
    hold: str, found: Cells, owns: Sequence[str], rival: str, limit: float, *, where: Callable[[Key], bool]
) -> Claim:
    """Claim a limit on the upper end of the 95 % interval of the ratio of means, prompt by prompt.

    It is that of the worst cell among those that have both methods.
    """
    name = f"{hold}{' and '.join(owns)} / {rival}, the same prompts, upper end in the worst cell"
    ratios = {
        key: upper_ratio(_ms(runs), _ms(found[(*key[:2], rival)]))
        for key, runs in found.items()
        if key[2] in owns and (*key[:2], rival) in found and where(key)
    }
    if not ratios:
        return Claim(name, f"<= {limit}", TOO_FEW, None)
    worst = max(ratios, key=lambda key: ratios[key])
    measured = f"{ratios[worst]:.3f}: {worst[2]}, temperature {worst[0]}, {worst[1]} ms"
    return Claim(name, f"<= {limit}", measured, ratios[worst] <= limit)


def _same_ids(method: str, found: Cells, *, where: Callable[[Key], bool]) -> Claim:
    pairs = [
        (own.ids, sync.ids)
        for key, runs in found.items()
        if key[-1] == method and where(key)
        for own, sync in zip(runs, found.get((*key[:-1], "sync"), ()), strict=False)
    ]
    same = sum(own == sync for own, sync in pairs)
    name = f"{method}{' greedy' if method == 'independent' else ''}: answers with the ids of sync"
    return Claim(name, "all", f"{same} of {len(pairs)}", same == len(pairs) if pairs else None)


def _ms(runs: Sequence[Run]) -> list[float]:
    """Return the ms per token of each prompt; methods that show all at once have none and are never compared."""
    return [run.ms_per_token or 0.0 for run in runs]


def _accepted(runs: Sequence[Run]) -> str:
    """Return the shares of the device's drafts and of the cloud's that were accepted."""
    shares = (mean([run.accepted[side] for run in runs]) for side in (0, 1))
    return "/".join("-" if share is None else f"{share:.2f}" for share in shares)


# --- the pictures


def _summary(rows: Sequence[Row]) -> list[Row]:
    return summary(rows, (ASKED, *CELL))


def _draw(png: Path, rows: Sequence[Row], settings: Settings) -> None:
    """Draw one picture for each pair of held times and each temperature, the first under the figure's own name."""
    rows = [each for each in rows if each[ASKED] == "paragraph"]
    for number, key in enumerate(dict.fromkeys(tuple(each[name] for name in CELL[:3]) for each in rows)):
        shown = [each for each in rows if tuple(each[name] for name in CELL[:3]) == key]
        device, cloud, temperature = key
        title = f"decode held at {device:g}/{cloud:g} ms, temperature {temperature:g}, {settings.prompts} prompts"
        at = png if number == 0 else png.with_stem(f"{png.stem}-{device:g}-{cloud:g}-t{temperature:g}")
        draw(at, shown, "rtt_ms", "ms_per_token", "method", title=title, interval=("ms_low", "ms_high"))


FIGURE = Figure(
    title="ms per token over added round trips, all methods, decode times held",
    paper="DRAGON is as fast as a side alone without a link, and hides the link where synchronisation cannot",
    settings=Settings,
    inputs=_inputs,
    measure=_measure,
    summary=_summary,
    judge=_judge,
    draw=_draw,
)

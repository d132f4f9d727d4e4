"""`hocket bench`: the benchmarks; each writes JSON, prints a table and its claims, and draws a picture."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Literal

import typer

app = typer.Typer(
    help="Measure: each benchmark prints a table and its claims; with --json most write a file, draw a picture beside "
    "it, and resume when interrupted. Exit status 1 when a claim misses.",
    epilog="Example: hocket bench aggregation --rtt 0,100,300 --json aggregation.json",
    no_args_is_help=True,
)
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Where to write; the picture goes beside.")]
Data = Annotated[
    Path, typer.Option("--data", metavar="FOLDER", help="The folder of the open corpora, see docs/figures.md.")
]
DATA = Path("../shared/data")
LEAST_HZ = 0.1  # a message every ten seconds


@app.callback()
def quiet() -> None:
    """Only errors are logged between the figures."""
    from hocket_bus import log

    log.setup("error")


@app.command(epilog="Example: hocket bench aggregation --rtt 0,100,300 --systems sync,sync-both,coupled --json a.json")
def aggregation(
    *,
    rtt: Annotated[str, typer.Option(help="Emulated round trips, ms.")] = "0,100,300",
    systems: Annotated[str, typer.Option(help="Ways of aggregation.")] = "sync,sync-both,coupled",
    hold: Annotated[str, typer.Option(help="Least time of a forward pass, ms; 0 leaves it as it is.")] = "25,0",
    prompts: Annotated[int, typer.Option(min=1, help="How many prompts.")] = 30,
    tokens: Annotated[int, typer.Option(min=2, help="Tokens per prompt.")] = 20,
    temperature: Annotated[float, typer.Option(min=0, help="0 is greedy.")] = 1.0,
    documents: Annotated[int, typer.Option(min=0, help="Passages a side.")] = 2,
    articles: Annotated[int, typer.Option(min=0, help="Paragraphs that the two sides have read.")] = 40,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first prompt.")] = 0,
    weights: Annotated[
        Literal["off", "static", "dynamic"], typer.Option(help="How documents and sides are weighed.")
    ] = "dynamic",
    data: Data = DATA,
    json_path: Json = None,
) -> None:
    """Time per token and to the first token of the running pair over emulated links."""
    from hocket_tools.bench import aggregation as bench

    settings = bench.Settings(
        rtts_ms=counts(rtt, "--rtt"),
        systems=_systems(systems),
        hold_ms=numbers(hold, "--hold"),
        prompts=prompts,
        tokens=tokens,
        temperature=temperature,
        documents=documents,
        corpus_articles=articles,
        seed=seed,
        weights=weights,
    )
    _leave(bench.run(data, settings, json_path))


@app.command(epilog="Example: hocket bench answers --json answers.json")
def answers(
    max_tokens: Annotated[int, typer.Option(min=1, help="Longest answer.")] = 48,
    documents: Annotated[int, typer.Option(min=1, help="Passages a side.")] = 2,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many questions.")] = None,
    json_path: Json = None,
) -> None:
    """Is the pair right where one side alone cannot be? Over 100 questions, greedily."""
    from hocket_tools.bench import answers as bench

    _leave(bench.run(json_path, max_tokens, documents, limit))


@app.command(epilog="Example: hocket bench overhead --json overhead.json")
def overhead(
    tokens: Annotated[int, typer.Option(min=10, help="Tokens to exchange.")] = 1000, json_path: Json = None
) -> None:
    """What bus and aggregation cost per token, without a model."""
    from hocket_tools.bench import overhead as bench

    _leave(bench.run(json_path, tokens))


@app.command(epilog="Example: hocket bench retrieval --json retrieval.json")
def retrieval(
    *,
    store: Annotated[Path, typer.Option(metavar="FOLDER", help="Keeps what was embedded.")] = Path("results/retrieval"),
    chunks: Annotated[int, typer.Option(min=100, help="Passages in the store.")] = 100_000,
    searches: Annotated[int, typer.Option(min=10, help="Questions to time.")] = 400,
    data: Data = DATA,
    json_path: Json = None,
) -> None:
    """How fast search is over 100,000 passages and how well it finds on SciFact."""
    from hocket_tools.bench import retrieval as bench

    settings = bench.Settings(data=data, store=store, chunks=chunks, searches=searches)
    _leave(bench.run(settings, json_path, json_path.with_suffix(".png") if json_path else None))


@app.command(epilog="Example: hocket bench real --json real.json")
def real(
    *,
    questions: Annotated[int, typer.Option(min=1, help="Questions to ask.")] = 20,
    searches: Annotated[int, typer.Option(min=1, help="Questions to search for.")] = 300,
    articles: Annotated[int, typer.Option(min=1, help="Articles that the cloud reads.")] = 600,
    documents: Annotated[int, typer.Option(min=1, help="Passages a side.")] = 2,
    max_tokens: Annotated[int, typer.Option(min=1, help="Longest answer.")] = 64,
    seed: Annotated[int, typer.Option(min=0, help="Chooses the questions.")] = 0,
    data: Data = DATA,
    json_path: Json = None,
) -> None:
    """Real documents and questions: a year of chats on the device, an encyclopedia in the cloud."""
    from hocket_tools.bench import real as bench

    settings = bench.Settings(
        questions=questions, searches=searches, articles=articles, documents=documents, max_tokens=max_tokens, seed=seed
    )
    _leave(bench.run(data, settings, json_path))


@app.command(epilog="Example: hocket bench kv --tokens 16,256 --json kv.json")
def kv(
    *,
    tokens: Annotated[str, typer.Option(help="Lengths of the passages.")] = "16,64,256",
    questions: Annotated[int, typer.Option(min=1, help="How many questions.")] = 30,
    passages: Annotated[int, typer.Option(min=1, help="Passages that each side has read.")] = 20,
    documents: Annotated[int, typer.Option(min=1, help="Passages a side takes for a question.")] = 2,
    data: Data = DATA,
    json_path: Json = None,
) -> None:
    """Time to the first token over short and long passages, read anew and from stored KV."""
    from hocket_tools.bench import kv as bench

    lengths = counts(tokens, "--tokens", least=1)
    settings = bench.Settings(tokens=lengths, questions=questions, passages=passages, documents=documents)
    _leave(bench.run(data, settings, json_path))


@app.command(epilog="Example: hocket bench preemption --json preemption.json")
def preemption(
    *,
    rejections: Annotated[int, typer.Option(min=5, help="Rejections of each way.")] = 200,
    layers: Annotated[int, typer.Option(min=1, help="Layers of the model.")] = 16,
    width: Annotated[int, typer.Option(min=64, help="Width of the model, a multiple of 64.")] = 640,
    seed: Annotated[int, typer.Option(min=0, help="Chooses weights and moments.")] = 0,
    json_path: Json = None,
) -> None:
    """From a rejection to the start of the recomputation, with and without interrupting the pass under way."""
    from hocket_tools.bench import preemption as bench

    settings = bench.Settings(rejections=rejections, layers=layers, width=width, seed=seed)
    _leave(bench.run(settings, json_path))


@app.command(epilog="Example: hocket bench engine --rows 2,32 --json engine.json")
def engine(
    *,
    rows: Annotated[str, typer.Option(help="Rows that decode together, of two for each session.")] = "2,8,32",
    lengths: Annotated[str, typer.Option(help="Tokens in each row.")] = "128,512",
    steps: Annotated[int, typer.Option(min=3, help="Steps of each measurement.")] = 60,
    json_path: Json = None,
) -> None:
    """A decode step of a batch beside the bare forward pass; on a GPU, beside its memory's speed."""
    from hocket_tools.bench import engine as bench

    settings = bench.Settings(
        rows=counts(rows, "--rows", least=1), lengths=counts(lengths, "--lengths", least=1), steps=steps
    )
    _leave(bench.run(settings, json_path))


@app.command(epilog="Example: hocket bench determinism --precisions float32,bfloat16 --json determinism.json")
def determinism(
    *,
    precisions: Annotated[str, typer.Option(help="As in [model] dtype.")] = "float32,bfloat16,float16",
    sessions: Annotated[int, typer.Option(min=2, help="Sessions that share a batch.")] = 9,
    tokens: Annotated[int, typer.Option(min=1, help="Tokens of each.")] = 60,
    temperature: Annotated[float, typer.Option(min=0, help="0 is greedy.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="Of texts and draws.")] = 0,
    json_path: Json = None,
) -> None:
    """How often who shares the batch, or the precision, changes a token."""
    from hocket_tools.bench import determinism as bench

    settings = bench.Settings(
        precisions=precisions.split(","), sessions=sessions, tokens=tokens, temperature=temperature, seed=seed
    )
    _leave(bench.run(settings, json_path))


@app.command(epilog="Example: hocket bench load --devices 1,4,16 --json load.json")
def load(
    *,
    devices: Annotated[str, typer.Option(help="Scripted devices.")] = "1,4,16",
    hold: Annotated[str, typer.Option(help="Least time of a step of the cloud, ms; 0 leaves it as it is.")] = "25,0",
    rtt: Annotated[float, typer.Option(min=0, help="Emulated round trip, ms.")] = 30.0,
    seconds: Annotated[float, typer.Option(min=1, help="Time of each measurement.")] = 20.0,
    tokens: Annotated[int, typer.Option(min=2, help="Tokens of a session.")] = 48,
    json_path: Json = None,
) -> None:
    """One cloud daemon with many scripted devices, beside a real one that must stay exact."""
    from hocket_tools.bench import load as bench

    settings = bench.Settings(
        devices=counts(devices, "--devices", least=1),
        hold_ms=numbers(hold, "--hold"),
        rtt_ms=rtt,
        seconds=seconds,
        tokens=tokens,
    )
    _leave(bench.run(settings, json_path))


@app.command(epilog="Example: hocket bench soak --minutes 10 --json soak.json")
def soak(
    *,
    minutes: Annotated[float, typer.Option(min=0.1, help="How long.")] = 10.0,
    devices: Annotated[int, typer.Option(min=1, help="Scripted devices.")] = 4,
    rtt: Annotated[float, typer.Option(min=0, help="Emulated round trip, ms.")] = 30.0,
    tokens: Annotated[int, typer.Option(min=2, help="Tokens of a session.")] = 48,
    seed: Annotated[int, typer.Option(min=0, help="Chooses the faults.")] = 0,
    json_path: Json = None,
) -> None:
    """Minutes of random faults: links, daemons and readers fail; memory stays flat and answers right."""
    from hocket_tools.bench import soak as bench

    settings = bench.Settings(minutes=minutes, devices=devices, rtt_ms=rtt, tokens=tokens, seed=seed)
    _leave(bench.run(settings, json_path))


@app.command(epilog="Example: hocket bench profile --load 0,1 --json profile.json")
def profile(
    *,
    model: Annotated[
        Literal["bundled", "large"],
        typer.Option(help="The bundled models, or a large one of random weights."),
    ] = "bundled",
    together: Annotated[bool, typer.Option("--together", help="Both sides answer at once, on these cores.")] = False,
    load: Annotated[str, typer.Option(help="Other processes that each load a core.")] = "0,1",
    questions: Annotated[int, typer.Option(min=1, help="Questions of each measurement.")] = 10,
    tokens: Annotated[int, typer.Option(min=2, help="Tokens per answer.")] = 100,
    runs: Annotated[int, typer.Option(min=1, help="Runs of the offline stage.")] = 3,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first question.")] = 0,
    json_path: Json = None,
) -> None:
    """How near the predicted decode time is to the measured one, also while other processes load cores."""
    from hocket_tools.bench import profile as bench

    loads = counts(load, "--load")
    settings = bench.Settings(
        model=model, together=together, loads=loads, questions=questions, tokens=tokens, runs=runs, seed=seed
    )
    _leave(bench.run(settings, json_path))


@app.command(epilog="Example: hocket bench link --json link.json")
def link(
    rtt: Annotated[str, typer.Option(help="Round trips to emulate, ms.")] = "0,30,100,300",
    rate: Annotated[str, typer.Option(help="Messages per second.")] = "10,100,1000",
    messages: Annotated[int, typer.Option(min=10, help="Messages of each measurement.")] = 100,
    json_path: Json = None,
) -> None:
    """How true the link emulator's delays are."""
    from hocket_tools.bench import link as bench

    _leave(bench.run(json_path, numbers(rtt, "--rtt"), numbers(rate, "--rate", least=LEAST_HZ), messages))


@app.command(epilog="Example: hocket bench figure 5 --out results --data corpora --set windows=20")
def figure(
    number: Annotated[int, typer.Argument(help="Which of the DRAGON paper's figures: see docs/figures.md.")],
    *,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Gets figure-N.json, .txt and .png.")] = Path("results"),
    data: Data = DATA,
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Another value of a setting; repeatable.")
    ] = None,
) -> None:
    """Make a figure of the DRAGON paper here, and say whether its claim holds."""
    from hocket_tools.bench.figures import frame

    _leave(frame.run(number, out, data, changes or []) is not False)


@app.command(epilog="Example: hocket bench wire --json wire.json")
def wire(
    vocabularies: Annotated[str, typer.Option(help="Sizes of the vocabulary.")] = "50272,151936",
    masses: Annotated[str, typer.Option(help="Wire masses.")] = "0.8,0.98",
    draws: Annotated[int, typer.Option(min=2, help="Distributions of each kind.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the distributions.")] = 0,
    json_path: Json = None,
) -> None:
    """What a draft weighs on the wire, and what encoding, decoding and aggregating cost."""
    from hocket_daemon.engine.distribution import VOCABULARY_LIMIT
    from hocket_tools.bench import wire as bench

    sizes = counts(vocabularies, "--vocabularies", least=1, most=VOCABULARY_LIMIT)
    shares = numbers(masses, "--masses", most=1)
    settings = bench.Settings(vocabularies=sizes, wire_masses=shares, draws=draws, seed=seed)
    _leave(bench.run(settings, json_path))


@app.command(epilog="Example: hocket bench privacy --json privacy.json")
def privacy(
    *,
    canaries: Annotated[int, typer.Option(min=1, help="Sentences to look for, each with a question.")] = 200,
    max_tokens: Annotated[int, typer.Option(min=1, help="Longest answer.")] = 32,
    temperature: Annotated[float, typer.Option(min=0, help="0 is greedy.")] = 0.7,
    seed: Annotated[int, typer.Option(min=0, help="Chooses sentences and tokens.")] = 0,
    json_path: Json = None,
) -> None:
    """What of private documents reaches the cloud, with drafts and without, read off the wire."""
    from hocket_tools.bench import privacy as bench

    settings = bench.Settings(canaries=canaries, max_tokens=max_tokens, temperature=temperature, seed=seed)
    _leave(bench.run(settings, json_path))


def numbers(text: str, option: str, least: float = 0.0, most: float = math.inf) -> list[float]:
    """The finite numbers of a comma-separated list, all in [least, most]. Raises BadParameter that names `option`."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = [math.nan]
    if not all(least <= value <= most and math.isfinite(value) for value in values):
        end = "on" if most == math.inf else f"to {most:.10g}"
        text = f'"{text}" is no list of numbers from {least:g} {end}, with commas between them'
        raise typer.BadParameter(text, param_hint=option)
    return values


def counts(text: str, option: str, least: int = 0, most: float = math.inf) -> list[int]:
    """The whole numbers of such a list. Raises BadParameter that names `option`."""
    values = numbers(text, option, least, most)
    if not all(value.is_integer() for value in values):
        raise typer.BadParameter(f'"{text}" has other than whole numbers', param_hint=option)
    return [int(value) for value in values]


def _systems(text: str) -> list[str]:
    from hocket_bus.messages import METHODS

    names = text.split(",")
    wrong = [name for name in names if name not in METHODS]
    if wrong:
        raise typer.BadParameter(f'"{wrong[0]}" is not one of {", ".join(METHODS)}', param_hint="--systems")
    return names


def _leave(holds: bool) -> None:
    if not holds:
        raise typer.Exit(1)

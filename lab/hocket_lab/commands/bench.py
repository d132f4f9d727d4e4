"""`hocket bench`: the benchmarks; each writes JSON, prints a table and its claims, and draws a picture."""

from __future__ import annotations

import time
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from hocket_lab.commands.options import DATA, Data, Json, command_of
from hocket_lab.reporting.measured import module_of
from hocket_tools.interrupted import leaving

BENCHMARKS = {  # what each measures, and an example of its options
    "aggregation": (
        "Time per token and to the first token of the running pair over emulated links.",
        "--rtt 0,100,300 --systems sync,sync-both,coupled --json a.json",
    ),
    "answers": (
        "Is the pair as good as the side that knows? Real questions: SQuAD's, a year of chats, and two-sided ones.",
        "--model FOLDER --data FOLDER --json answers.json",
    ),
    "invented": (
        "Is the pair right where one side alone cannot be? Invented questions, for the bundled models.",
        "--json invented.json",
    ),
    "newcomer": (
        "What somebody asks first over notes of their own: right, not known, wrong, invented; now and before.",
        "--json newcomer.json",
    ),
    "words": (
        "Do two models with different tokenizers answer as well together, by words, as the better one alone?",
        "--device smollm2 --cloud qwen2.5-coder-1.5b --data FOLDER --json words.json",
    ),
    "reading": (
        "How many passages of how many words a model should read: what is right, and the first token.",
        "--model qwen2.5-coder-0.5b --words 64,128 --passages 2,3 --json reading.json",
    ),
    "dialogues": (
        "Whether turns of a conversation over notes of one's own find their note, by what they refer to.",
        "--answers 10 --json dialogues.json",
    ),
    "overhead": ("What bus and aggregation cost per token, without a model.", "--json overhead.json"),
    "unknown": (
        "How often a question is said to be about nothing that was read, rightly and wrongly.",
        "--data FOLDER --json unknown.json",
    ),
    "answerable": (
        "Can a model that has read tell better than a cosine that no passage answers a question?",
        "--model qwen2.5-coder-0.5b --data FOLDER --json answerable.json",
    ),
    "gateway": ("What an answer over HTTP takes beside the plain client's.", "--json gateway.json"),
    "crowd": (
        "A gateway under clients that leave, read slowly or say half: its memory, and what a neighbour waits.",
        "--streams 5000 --json crowd.json",
    ),
    "group": (
        "Several devices that write one answer: how fast, how right, and what the asked one reads of a member.",
        "--part answers --model smollm2 --json group-answers.json",
    ),
    "retrieval": (
        "How fast search is over 100,000 passages and how well it finds on SciFact.",
        "--json retrieval.json",
    ),
    "found": (
        "Whether search finds what answers real questions: MTRAG's domains, and five corpora with gold spans.",
        "--json found.json",
    ),
    "relevance": (
        "Whether the probability that a passage answers holds, and whether its order is the best.",
        "--json relevance.json",
    ),
    "languages": (
        "Notes in one language and questions in another: whether they are found, and answered.",
        "--json languages.json",
    ),
    "stores": (
        "Each kind of store with a million passages: searches with and without an owner, memory, bytes.",
        "--passages 100000 --json stores.json",
    ),
    "real": (
        "Real documents and questions: a year of chats on the device, an encyclopedia in the cloud.",
        "--json real.json",
    ),
    "kv": (
        "Time to the first token over short and long passages, read anew and from stored KV.",
        "--tokens 16,256 --json kv.json",
    ),
    "preemption": (
        "From a rejection to the start of the recomputation, with and without interrupting the pass under way.",
        "--json preemption.json",
    ),
    "engine": (
        "A decode step of a batch beside the bare forward pass; on a GPU, beside its memory's speed.",
        "--rows 2,32 --json engine.json",
    ),
    "gpu": (
        "Steps, prompts and both together on a GPU, for models of published shapes and random weights.",
        "--shapes 1.5B,7B --json gpu.json",
    ),
    "vllm": (
        "A step of rows on vLLM beside vLLM's own step, on a GPU or on a CPU.",
        "--models 1.5B,7B --json vllm.json",
    ),
    "formats": (
        "A step and a prompt in each format of a model, beside llama.cpp's own loop; and the pair of two such models.",
        "--data FOLDER --json formats.json",
    ),
    "copying": (
        "What it saves to read ahead what an answer copies: a token with and without, by each engine on a CPU.",
        "--questions 160 --json copying.json",
    ),
    "determinism": (
        "How often who shares the batch, or the precision, changes a token.",
        "--precisions float32,bfloat16 --json determinism.json",
    ),
    "load": (
        "One cloud daemon with many scripted devices, beside a real one that must stay exact.",
        "--devices 1,4,16 --json load.json",
    ),
    "cloud": (
        "One cloud daemon with a model of a published shape and scripted devices, by each engine; for a GPU server.",
        "--engines auto,vllm --json cloud.json",
    ),
    "soak": (
        "Minutes of random faults: links, daemons and readers fail; memory stays flat and answers right.",
        "--minutes 10 --json soak.json",
    ),
    "profile": (
        "How near the predicted decode time is to the measured one, also while other processes load cores.",
        "--load 0,1 --json profile.json",
    ),
    "dispatch": (
        "Who begins, by each policy: first tokens, budgets under drift, costs of migration; over recorded servers.",
        "--part policies,times --json dispatch.json",
    ),
    "race": (
        "First tokens of a running pair whose sides race, beside the simulated ones; what is booked and counted.",
        "--prompts 100 --rtt 0,100,300 --json race.json",
    ),
    "migration": (
        "Answers of a running pair that move between its sides: equal ids, gaps, bytes, and right answers.",
        "--part moves,models --json migration.json",
    ),
    "typing": (
        "How long a key waits for a suggestion while a text is composed, near and far from the cloud.",
        "--keystrokes 2000 --conditions none,near,far,silent,busy --json typing.json",
    ),
    "composition": (
        "What memory is worth to a text that is typed: made-up facts in a running pair, and real pages.",
        "--facts 100 --json composition-facts.json",
    ),
    "shown": (
        "What is shown to somebody who types real texts, and how much of it is right.",
        "--keys 500 --confidence 0,0.3 --json shown.json",
    ),
    "graph": (
        "Devices that share summaries: who is found, what stays at home, what summaries give away, and how fast it is.",
        "--part matching --json graph-matching.json",
    ),
    "link": ("How true the link emulator's delays are.", "--json link.json"),
    "wire": (
        "What a draft weighs on the wire, and what encoding, decoding and aggregating cost.",
        "--json wire.json",
    ),
    "privacy": (
        "What of private documents reaches the cloud, with drafts and without, read off the wire.",
        "--json privacy.json",
    ),
    "attacker": (
        "What somebody learns of secrets in documents who knows all else, beside the bits that were counted.",
        "--model smollm2 --json attacker.json",
    ),
    "lies": (
        "What a cloud that lies hears of private facts, and how often an honest one is taken for one.",
        "--model FOLDER --data FOLDER --json lies.json",
    ),
}

app = typer.Typer(
    help="Measure: each benchmark prints a table and its claims; with --json most write a file, draw a picture beside "
    "it, and resume when interrupted. Exit status 1 when a claim misses.",
    epilog="Example: hocket bench aggregation --rtt 0,100,300 --json aggregation.json",
    no_args_is_help=True,
)


def register(hocket: typer.Typer) -> None:
    """Add the commands."""
    hocket.add_typer(app, name="bench")


class Benchmark(TyperCommand):
    """A benchmark's command; its module, which may import models, is imported when its options are asked for."""

    @cached_property
    def _whole(self) -> TyperCommand:
        module = import_module(module_of(self.name or ""))
        one = typer.Typer(add_completion=False)
        one.command(self.name)(command_of(module.run, module.Settings))
        made = typer.main.get_command(one)
        assert isinstance(made, TyperCommand)
        return made

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - typer keeps the type of its contexts to itself
        """The options that the benchmark's Settings name, and help."""
        return [*self._whole.params, *super().get_params(ctx)]

    def invoke(self, ctx: Any) -> object:  # noqa: ANN401 - as above
        """Run the benchmark. Raises Exit when a claim misses."""
        with leaving(_stays(ctx.params.get("json_path"))):
            return self._whole.invoke(ctx)


def _stays(file: Path | None) -> str:
    if file is None:
        return "stopped: nothing is kept without --json FILE"
    return f"stopped: the same command goes on behind the last whole line of {file}"


@app.callback()
def quiet() -> None:
    """Log errors alone between the figures."""
    from hocket_bus import log

    log.setup("error")


for _name, (_help, _example) in BENCHMARKS.items():
    app.command(_name, cls=Benchmark, help=_help, epilog=f"Example: hocket bench {_name} {_example}")(lambda: None)


@app.command(epilog="Example: hocket bench figure 5 --out results --data corpora --set windows=20")
def figure(
    number: Annotated[int, typer.Argument(help="Which of the DRAGON paper's figures: see lab/docs/benchmarks.md.")],
    *,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Gets figure-N.json, .txt and .png.")] = Path("results"),
    data: Data = DATA,
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Another value of a setting; repeatable.")
    ] = None,
) -> None:
    """Make a figure of the DRAGON paper here, and say whether its claim holds."""
    from hocket_lab.bench.figures import frame

    with leaving(_stays(out / f"figure-{number}.json")):
        if frame.run(number, out, data, changes or []) is False:
            raise typer.Exit(1)


@app.command(epilog="Example: hocket bench results")
def results() -> None:
    """Make lab/docs/results.md and its pictures from lab/docs/results, in a folder of hocket's sources."""
    from hocket_lab.bench.results.command import write

    write(Path())


@app.command(epilog="Example: hocket bench smoke --json smoke.json")
def smoke(*, data: Data = DATA, json_path: Json = None) -> None:
    """Run every headline's benchmark in small, in minutes; exit status 1 where one does not run.

    Claims that miss do not count: nothing so small is measured.
    """
    from hocket_lab.bench.service.smoke import TRIALS, Ran, run, summary
    from hocket_tools import console

    def show(ran: Ran) -> None:
        finding = f"{ran.claims} claims, {ran.missed} missed" if ran.outcome == "ran" else ran.why
        console.out().print(f"{ran.outcome:8}{ran.seconds:6.1f} s  {ran.name}: {finding}", markup=False)

    started_s = time.monotonic()
    with leaving("stopped: what was running is ended"):
        ran = run(data, TRIALS, show)
    text = summary(ran, time.monotonic() - started_s)
    if json_path is not None:
        json_path.write_text(text, encoding="utf-8")
    failed = [one.name for one in ran if one.outcome == "failed"]
    console.out().print(f"{len(ran)} benchmarks in {time.monotonic() - started_s:.0f} s, {len(failed)} failed")
    if failed:
        raise typer.Exit(1)

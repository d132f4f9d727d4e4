"""`hocket simulate`: the strategies of aggregation, replayed without models and without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hocket_lab.commands.options import DATA, Data, Json, numbers

EXAMPLE = """Examples:

hocket simulate --rtt 0,100,300 --json simulated.json

hocket simulate --recording pair.json --trace 3,17

hocket simulate record --out pair.json"""

app = typer.Typer(
    help="Replay acceptance decisions and decode times under every strategy of aggregation.",
    invoke_without_command=True,
    epilog=EXAMPLE,
)


def register(hocket: typer.Typer) -> None:
    """Add the commands."""
    hocket.add_typer(app, name="simulate")


@app.callback()
def simulate(
    context: typer.Context,
    *,
    rtt: Annotated[str, typer.Option(help="Round trips, ms.")] = "0,100,200,300,400",
    strategies: Annotated[str, typer.Option(help="Which to compare; default all.")] = "",
    recording: Annotated[Path | None, typer.Option(metavar="FILE", help="Replay this; default: drawn.")] = None,
    accept: Annotated[str, typer.Option(help="Drawn: Algorithm 1's acceptance, device,cloud.")] = "0.55,0.50",
    accept_coupled: Annotated[str, typer.Option(help="Drawn: coupled acceptance, device,cloud.")] = "0.90,0.85",
    decode: Annotated[str, typer.Option(help="Drawn: ms of a decode step, device,cloud.")] = "25,25",
    tokens: Annotated[int, typer.Option(min=2, help="Drawn: tokens of an answer.")] = 100,
    sequences: Annotated[int, typer.Option(min=1, help="Drawn: how many answers.")] = 50,
    jitter: Annotated[float, typer.Option(min=0, max=1, help="Amplitude of the sine, of the round trip.")] = 0.2,
    trace: Annotated[
        str, typer.Option(metavar="I,J", help="Instead of --rtt: recorded between two of 99 machines.")
    ] = "",
    period: Annotated[float, typer.Option(min=0.001, help="Seconds that each value of the trace holds.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
    pipeline: Annotated[Path | None, typer.Option(metavar="PNG", help="Draw the pipeline of one answer.")] = None,
    data: Data = DATA,
    json_path: Json = None,
) -> None:
    """Replay acceptance decisions and decode times under every strategy of aggregation.

    Needs no daemon. Prints ms per token, gaps and drafts of each strategy at each round trip.
    """
    if context.invoked_subcommand is not None:
        return
    if pipeline is not None and pipeline.suffix.lower() != ".png":
        raise typer.BadParameter(f"{pipeline} does not end in .png", param_hint="--pipeline")
    from hocket_lab.simulator import recording as tape
    from hocket_lab.simulator.roundtrip import recorded
    from hocket_lab.simulator.study import Settings, run

    rates = tape.Rates(
        _pair(accept, "--accept", maximum=1),
        _pair(accept_coupled, "--accept-coupled", maximum=1),
        tuple(ms / 1000 for ms in _pair(decode, "--decode", minimum=0.001)),  # type: ignore[arg-type]
    )
    answers = tape.load(recording) if recording else tape.drawn(rates, tokens, sequences, seed)
    first, second = _pair(trace, "--trace") if trace else (0, 0)
    settings = Settings(
        rtts_ms=numbers(rtt, "--rtt"),
        strategies=_strategies(strategies),
        jitter=jitter,
        trace_s=recorded(data, int(first), int(second)) if trace else (),
        trace_period_s=period,
        seed=seed,
    )
    if not run(answers, settings, json_path, pipeline):
        raise typer.Exit(1)


@app.command(epilog="Example: hocket simulate record --out pair.json")
def record(
    *,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to write the recording.")],
    prompts: Annotated[int, typer.Option(min=1, help="How many prompts.")] = 30,
    tokens: Annotated[int, typer.Option(min=2, help="Tokens per prompt.")] = 100,
    home: Annotated[Path | None, typer.Option("--home", metavar="FOLDER", help="The pair's folder.")] = None,
    data: Data = DATA,
) -> None:
    """Record decisions and decode times of the pair that `hocket up` started."""
    from hocket_bus import paths
    from hocket_lab.bench.speed.aggregation import fixed_prompts
    from hocket_lab.simulator.record import record as make
    from hocket_tools.pair.home import Home

    at = Home.find(home)
    texts = fixed_prompts(data, prompts)
    made = make(at.listening("device"), at.listening("cloud"), texts, tokens, out, keys=paths.keys(at.at))
    typer.echo(f"{out}: {made.source}")


def _pair(text: str, option: str, minimum: float = 0.0, maximum: float = float("inf")) -> tuple[float, float]:
    values = numbers(text, option)
    if len(values) != 2 or min(values) < minimum or max(values) > maximum:
        raise typer.BadParameter(f'"{text}" is not two numbers, for the device and the cloud', param_hint=option)
    return values[0], values[1]


def _strategies(text: str) -> list[str]:
    from hocket_lab.simulator.strategies import STRATEGIES

    names = text.split(",") if text else list(STRATEGIES)
    wrong = [name for name in names if name not in STRATEGIES]
    if wrong:
        raise typer.BadParameter(f'"{wrong[0]}" is not one of {", ".join(STRATEGIES)}', param_hint="--strategies")
    return names

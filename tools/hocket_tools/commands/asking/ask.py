"""`hocket ask`: one question, its answer streamed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hocket_bus.messages import DEFAULT_WEIGHTS, MAX_TOKENS, AggregationOptions, Ask, Method, Prompt, Weights

if TYPE_CHECKING:
    from hocket_bus.messages import Done, Notice, Thought, Token, Waiting
    from hocket_client import Stream

ASKED, AGGREGATED = Ask(request=bytes(16), topic=bytes(16), prompt=Prompt(query="")), AggregationOptions()
DRAWN = ASKED.sampling
Aggregation = Annotated[Method, typer.Option(help="How the two sides exchange drafts.")]
Mode = Annotated[
    str,
    typer.Option(
        help="How the sides work together: aggregation (both write); dispatch (the faster or cheaper "
        "side writes); auto (this device if it knows enough, else also the cloud and other devices); graph "
        "(always with them)."
    ),
]
Weighed = Annotated[
    Weights,
    typer.Option(
        help="How passages are weighed: off (all alike), static (by the question), dynamic (also by "
        "the sentence being written), likelihood (also by how well each passage explains the question)."
    ),
]
Quote = Annotated[bool, typer.Option("--quote", help="Print the passages of this device that the answer comes from.")]
To = Annotated[
    Literal["", "device", "cloud", "server"],
    typer.Option(help="Side that writes; implies --mode dispatch.", show_default=False),
]
Sources = Annotated[Literal["yes", "no"], typer.Option(help="Print which passages the answer comes from.")]
Required = Annotated[bool, typer.Option("--require-cloud", help="Fail instead of answering on the device alone.")]
Elsewhere = Annotated[
    str | None, typer.Option(help="Ask another daemon, for example tcp://laptop:7000; default $HOCKET_ENDPOINT.")
]
Seed = Annotated[int | None, typer.Option(min=0, help="Random seed, to repeat an answer exactly; default: random.")]
MaxTokens = Annotated[int, typer.Option(min=1, max=MAX_TOKENS, help="Longest answer, in tokens.")]
Temperature = Annotated[float, typer.Option(min=0, max=10, help="Sampling temperature; 0 is greedy.")]
TopP = Annotated[float, typer.Option(help="Sample from the likeliest tokens with this total probability.")]
Pace = Annotated[
    float, typer.Option(min=0, max=10_000, help="Print this many tokens a second, evenly; 0: as they come.")
]
Documents = Annotated[
    int | None,
    typer.Option(
        min=0, max=64, metavar="K", help="Passages per side; default: as many as this side's model reads well."
    ),
]
Within = Annotated[
    list[str] | None,
    typer.Option(
        "--in",
        metavar="PATH",
        help="Use only this folder or document of the device; repeatable. The cloud is not limited.",
    ),
]
With = Annotated[
    str,
    typer.Option(
        "--with",
        metavar="NAMES",
        help="Let these devices of the group draft too, encrypted end to end: ben,anna; implies --mode graph.",
    ),
]
Schema = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help='Answer with JSON that fits the JSON Schema in this file; "-": with any object.'),
]
Known = Annotated[
    Literal["say", "mark", "answer"],
    typer.Option(help="If nothing found is about the question: say so, mark the answer, or answer anyway."),
]
AskedHome = Annotated[
    Path | None, typer.Option(metavar="PATH", help="Ask the pair in this folder; default $HOCKET_HOME.")
]
EXAMPLE = """Examples:

hocket ask "Where does Linnea Varga live, and what is the price of the ferry to Brightholm?"

hocket ask --temperature 0 --json - < question.txt

hocket ask --schema invoice.json "Which invoice is still open?"
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("ask", epilog=EXAMPLE)(ask)


def ask(
    question: Annotated[
        str, typer.Argument(metavar="QUESTION", help='The question; "-" reads it from standard input.')
    ],
    *,
    mode: Mode = ASKED.mode,
    aggregation: Aggregation = AGGREGATED.method,  # type: ignore[assignment] # one of them
    weights: Weighed = DEFAULT_WEIGHTS,
    seed: Seed = None,
    max_tokens: MaxTokens = DRAWN.max_tokens,
    temperature: Temperature = DRAWN.temperature,
    top_p: TopP = DRAWN.top_p,
    documents: Documents = ASKED.documents,
    within: Within = None,
    unknown: Known = ASKED.unknown,
    stop: Annotated[list[str] | None, typer.Option(metavar="TEXT", help="Stop before this text; repeatable.")] = None,
    schema: Schema = None,
    alone: Annotated[bool, typer.Option("--alone", help="Ask this side only.")] = False,
    require_cloud: Required = False,
    members: With = "",
    to: To = "",
    pace: Pace = 0.0,
    timeout: Annotated[float, typer.Option(min=0.1, help="Give up after this many seconds.")] = ASKED.deadline_s,
    sources: Sources = "yes",
    quote: Quote = False,
    endpoint: Elsewhere = None,
    home: AskedHome = None,
    json_lines: Annotated[bool, typer.Option("--json", help="Print one JSON object per event.")] = False,
) -> None:
    """Ask the pair a question and print the answer as it is written.

    Each token is coloured by the side that proposed it. Ctrl-C cancels the request.
    """
    from hocket_tools import console
    from hocket_tools.pair.meant import folders_named, meant

    way = mode if mode != ASKED.mode else "dispatch" if to else "graph" if members else mode
    options: dict[str, Any] = {"mode": way, "aggregation": aggregation, "weights": weights, "documents": documents}
    options |= {"seed": seed, "max_tokens": max_tokens, "temperature": temperature, "top_p": top_p}
    options |= {"alone": alone, "require_cloud": require_cloud, "pace": pace, "deadline_s": timeout}
    options |= {"stop": tuple(stop or ()), "to": to, "members": _names(members)}
    options |= {"within": folders_named(within), "unknown": unknown}
    if schema is not None:
        options["schema"] = _schema(schema)
    text = console.stdin_text() if question == "-" else question
    where, keys = meant(endpoint, home)
    read = _ask_json if json_lines else ask_people
    read(where, text, options, keys, sources=sources == "yes", stored=_retrieval(endpoint, home) if quote else "")


def _schema(path: Path) -> dict[str, object]:
    """Read a JSON Schema. Raises BadParameter for a file that holds none."""
    if path == Path("-"):
        return {"type": "object"}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"{path} holds no JSON: {error}", param_hint="--schema") from error
    if not isinstance(found, dict):
        raise typer.BadParameter(f"{path} holds no JSON Schema: it is no object", param_hint="--schema")
    return found


def _names(listed: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in listed.split(",") if name.strip())


def _retrieval(endpoint: str | None, home: Path | None) -> str:
    """Return the endpoint of the asked device's retrieval daemon. Raises BadParameter for a daemon of no pair here."""
    from hocket_bus import paths
    from hocket_tools.commands.library.documents import endpoint_of

    if endpoint or (home is None and paths.named_endpoint()):
        raise typer.BadParameter("works only with this machine's pair: leave out --endpoint", param_hint="--quote")
    return endpoint_of("device", None, home)


def ask_people(
    endpoint: str,
    question: str,
    options: dict[str, Any],
    keys: Path | None = None,
    *,
    sources: bool = True,
    stored: str = "",
) -> Done:
    """Stream the answer in colour to standard output, legend, notices, sources and summary to standard error.

    `stored` is the retrieval daemon whose passages are quoted; empty quotes none.
    """
    from hocket_client import Client
    from hocket_tools import console
    from hocket_tools.commands.asking.quoting import print_quotes

    err = console.err()
    with Client(endpoint, keys=keys) as client:
        stream = client.ask(question, **options)
        if console.shows_colours():
            err.print(console.legend())
        with _Cancelling(stream):
            done = print_answer(stream)
    lines = console.lost(done) + console.way(done) + console.unsupported(done)
    for line in lines + (console.sources(done) if sources else []):
        err.print(line, style="dim", markup=False)
    err.print(f"[dim]{console.summary(done)}[/dim]")
    if stored:
        print_quotes(done, stored, keys)
    return done


def print_answer(stream: Stream) -> Done:
    """Stream the answer in colour to standard output, and its notices to standard error.

    Text that the model thinks before the answer goes to standard error, too, where that is a terminal.
    """
    from hocket_bus.messages import Notice, Thought, Token, Waiting
    from hocket_tools import console

    out, err, thinks = console.out(), console.err(), False
    wait = console.WaitLine(err)
    for event in stream.events():
        if isinstance(event, Waiting):
            wait.show(event)
            continue
        wait.clear()
        if isinstance(event, Thought):
            if err.is_terminal:
                err.print(console.printable(event.text), style="dim", markup=False, end="")
                thinks = True
            continue
        if thinks:
            err.print("\n")
            thinks = False
        if isinstance(event, Token):
            out.print(console.token(event.text, event.source), end="")
        elif isinstance(event, Notice):
            err.print(f"note: {console.for_people(console.printable(event.text), err)}", style="dim", markup=False)
    out.print()
    return stream.result()


def _ask_json(endpoint: str, question: str, options: dict[str, Any], keys: Path, *, sources: bool, stored: str) -> None:
    from hocket_bus.errors import HocketError
    from hocket_bus.messages import Done
    from hocket_client import Client
    from hocket_tools.commands.asking.quoting import records
    from hocket_tools.console import error_record, print_json

    try:
        with Client(endpoint, keys=keys) as client:
            stream = client.ask(question, **options)
            with _Cancelling(stream):
                for event in stream.events():
                    record = _record(event, sources=sources)
                    if stored and isinstance(event, Done):
                        record["quotes"] = records(event, stored, keys)
                    print_json(record)
    except HocketError as error:
        print_json(error_record(error))
        raise


def _record(event: Token | Thought | Waiting | Notice | Done, *, sources: bool = True) -> dict[str, Any]:
    """Return an event as the flat object that programs read; a Done has the number that `hocket explain` takes."""
    from hocket_bus import as_json
    from hocket_bus.messages import Done, Token

    fields: dict[str, Any] = as_json.plain(event)
    number, _ = fields.pop("request"), fields.pop("seq")
    if isinstance(event, Token):  # what was not asked for is left out
        fields = {name: value for name, value in fields.items() if value != []}
    if isinstance(event, Done):
        outcome, routing = fields.pop("outcome"), fields.pop("routing")
        fields |= {"id": number} | (outcome or {}) | (routing or {})
        if not sources:
            del fields["sources"], fields["token_sources"]
    return {"event": type(event).__name__.lower(), **fields}


class _Cancelling:
    """A context that cancels the request when it is left by an exception."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._stream.cancel()

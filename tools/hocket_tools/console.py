"""Output for people: colours by who proposed a token, the legend, the summary; knows no daemon."""

from __future__ import annotations

import sys
from typing import IO, Any, TextIO, cast

import typer
from rich.console import Console
from rich.text import Text

from hocket_bus import as_json
from hocket_bus.errors import BadRequest, HocketError
from hocket_bus.messages import AggregationOutcome, DispatchOutcome, Done, Origin, Passage, Place, Source, Waiting
from hocket_bus.visible import visible, visible_line
from hocket_tools.pair.hints import shortened_in
from hocket_tools.terminal import VisibleStream

STYLES: dict[Source, str] = {
    "both": "green",
    "device": "cyan",
    "cloud": "magenta",
    "resampled": "yellow",
    "solo": "blue",
}
MEANING: dict[Source, str] = {
    "both": "proposed by both",
    "device": "by the device",
    "cloud": "by the cloud",
    "resampled": "resampled",
    "solo": "one side alone",
}
PIPE_COLUMNS = 1000  # programs get whole names, people get what fits


def out() -> Console:
    """Standard output; colours only on a terminal and without NO_COLOR."""
    width = None if sys.stdout.isatty() else PIPE_COLUMNS
    return Console(file=_guarded(sys.stdout), highlight=False, soft_wrap=True, width=width)


def err() -> Console:
    """Standard error, for whatever is not the answer itself."""
    return Console(file=_guarded(sys.stderr), stderr=True, highlight=False, soft_wrap=True)


def _guarded(stream: TextIO) -> IO[str]:
    """Return a stream that replaces hidden characters in output for people, at a pipe, too."""
    return cast("IO[str]", VisibleStream(stream))


def for_people(text: str, console: Console) -> str:
    """Return a text with its paths shortened on a terminal, and unchanged for programs."""
    return shortened_in(text) if console.is_terminal else text


class WaitLine:
    """A line on a terminal that says for whom an answer waits; elsewhere nothing is written."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._width = 0

    def show(self, event: Waiting) -> None:
        """Write the line, in place of the one before."""
        if self._console.is_terminal:
            left = f", about {event.left_s:.0f} s left" if event.left_s >= 1 else ""
            text = f"{one_line(event.party)} is reading, {event.read:.0%}{left}"
            self._console.print(text.ljust(self._width), style="dim", markup=False, end="\r")
            self._width = max(self._width, len(text))

    def clear(self) -> None:
        """Remove the line; later output begins in its place."""
        if self._width:
            self._console.print(" " * self._width, end="\r")
            self._width = 0


def shows_colours() -> bool:
    """Tell whether an answer has colours here, and its legend can be seen on a terminal."""
    answers = out()
    return answers.is_terminal and answers.color_system is not None and not answers.no_color and err().is_terminal


def legend() -> Text:
    """The colours and what they mean, in one line."""
    return Text("  ").join(Text(f"■ {MEANING[source]}", style=style) for source, style in STYLES.items())


def token(text: str, source: Source) -> Text:
    """A piece of the answer in its colour; control characters of a model cannot reach the terminal."""
    return Text(printable(text), style=STYLES[source])


def printable(text: str) -> str:
    """Replace characters of `text` that control a terminal, reverse text or hide, except line breaks and tabs."""
    return visible(text)


def one_line(text: str) -> str:
    """Replace the same characters in `text`, such as a file's name, and turn line breaks into blanks."""
    return visible_line(text)


def summary(done: Done) -> str:
    """Counts and times of a finished answer in one line, and who wrote it; `hocket explain` has the rest."""
    end = {"eos": "", "length": " (more with --max-tokens)"}.get(done.finish, f" ({done.finish})")
    parts = [
        f"{len(done.token_ids)} tokens{end}",
        f"first after {done.ttft_s * 1000:.0f} ms",
        f"{done.ms_per_token:.1f} ms per token",
        *_outcome(done),
    ]
    return " · ".join(parts)


def sources(done: Done) -> list[str]:
    """Return a line for each source with a share in a finished answer, the largest first."""
    shares = [(f"{origin.share:>6.1%}", origin) for origin in done.sources]
    lines = [f"{share}  {origin.side:<6}  {_where(origin)}" for share, origin in shares if share.strip() != "0.0%"]
    return lines or (["from no document"] if done.token_ids else [])


def lost(done: Done) -> list[str]:
    """Return a line about the tokens that one side wrote alone, where both sides wrote the others."""
    outcome, tokens = done.outcome, len(done.token_ids)
    alone = outcome.solo_steps if isinstance(outcome, AggregationOutcome) else []
    if not alone or len(alone) == tokens:
        return []
    return [f"one side wrote {len(alone)} of {tokens} tokens alone, the first of them token {alone[0] + 1}"]


def unsupported(done: Done) -> list[str]:
    """A line with the words of the answer that no passage has, each once."""
    words = dict.fromkeys(one_line(done.text[span.start : span.end]) for span in done.unsupported)
    return [f"in no passage: {', '.join(words)}"] if words else []


def way(done: Done) -> list[str]:
    """A line that says which way the question went, where one was chosen."""
    return [f"way: {done.routing.way}; {one_line(done.routing.why)}"] if done.routing is not None else []


def _where(origin: Origin) -> str:
    if not origin.document:
        return "passages that it did not name"
    whose = f"{one_line(origin.device)}: " if origin.device else ""
    return f"{whose}{for_people(one_line(origin.document), err())}, {place_of(origin)}"


def place_of(passage: Origin | Passage | Place) -> str:
    """Return a passage's place in its document: as the file itself names it, else its number there."""
    return one_line(passage.place) or f"part {passage.ordinal + 1}"


def _outcome(done: Done) -> list[str]:
    """Return the parts of the summary that the mode decides: who wrote, and of dispatch the ID."""
    match done.outcome:
        case AggregationOutcome(members=[_, *_] as members):
            names = [one_line(each.name) for each in members if each.steps]
            return [f"written with {', '.join(names)}" if names else "written by the device alone"]
        case AggregationOutcome(method="alone"):
            return ["written by the device alone"]
        case AggregationOutcome():
            return ["written by both sides"]
        case DispatchOutcome(device_tokens=device, cloud_tokens=cloud):
            return [f"written by the device {device}, by the cloud {cloud}", f"{done.mode}, ID {done.request.hex()}"]
        case _:
            return [done.mode]


def stdin_text() -> str:
    """Read all of standard input, without blanks at its ends. Raises BadRequest where it is not UTF-8 text."""
    try:
        text = sys.stdin.read().removeprefix("\ufeff").strip()
        text.encode()  # in some locales what is no text comes as surrogates
    except UnicodeError as error:
        raise BadRequest("standard input is not valid UTF-8", "convert it: iconv -t UTF-8") from error
    return text


def print_json(record: object) -> None:
    """Print a record as one line on standard output, for programs: in UTF-8 whatever the terminal is set to."""
    typer.echo(as_json.encoded(record))


def error_record(error: HocketError) -> dict[str, Any]:
    """An error as the event that programs read."""
    return {"event": "error", "code": error.code, "text": error.text, "remedy": error.remedy}

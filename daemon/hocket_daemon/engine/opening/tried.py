"""The process that a model is tried in: it loads what can end or hold up a process, and reports the part it is at.

Errors that a daemon would report by itself are ignored: the daemon loads the model once more.
"""

from __future__ import annotations

import resource
import sys
import time
from contextlib import suppress
from pathlib import Path

from hocket_bus.errors import HocketError

from ..backends.llamacpp.gguf_model import SUFFIX, GGUFModel
from ..settings import ModelSettings
from ..text.file_tokenizer import FileTokenizer
from ..text.tokenizer import Worded

TEXT = "Where does the ferry leave, and when? It's 9 o'clock at pier no. 3 — über Ærø, 船は九時に出る。\n\n" * 4
TEMPLATE_S = 3.0  # of a processor, for what takes a thousandth of that
PARTS = ("weights", "words", "end")  # in their order


def main() -> None:
    """Try what the command line names, within so many seconds of a processor and bytes of memory; 0: any."""
    place, seconds, memory = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    with suppress(HocketError, OSError, ValueError):
        _say(PARTS[0], seconds)
        worded = _loaded(place)
        _say(PARTS[1], TEMPLATE_S)
        _lay_out(worded)
    _say(PARTS[2], TEMPLATE_S)


def _loaded(place: Path) -> Worded:
    if place.suffix == SUFFIX:
        return GGUFModel(ModelSettings(name=str(place), context=64, slots=1), place)  # which reads a token
    return Worded(FileTokenizer(place))


def _lay_out(worded: Worded) -> None:
    """Ask the template and the tokenizer for everything that a daemon may ask of them."""
    for system in ("", TEXT):
        for grounded in (True, False):
            layout = worded.layout("answer", system, grounded=grounded)
            layout.document(TEXT)
    worded.prompt(TEXT, "answer")
    worded.text(worded.continued(TEXT))


def _say(part: str, seconds: float) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + seconds) + 1, hard))
    sys.stdout.write(f"{part}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()

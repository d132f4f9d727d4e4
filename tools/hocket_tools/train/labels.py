"""The labels of examples: a document's own words, those of them that memory supports, or a server's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from queue import SimpleQueue

from msgspec.structs import replace

from hocket_bus.errors import HocketError
from hocket_bus.messages import Finish, Sampling
from hocket_daemon.composition.prompts import reference_text
from hocket_daemon.engine.generators.generator import TextRequest
from hocket_daemon.engine.generators.openai import open_server
from hocket_daemon.engine.settings import ServerSettings
from hocket_daemon.privacy.egress import EgressSettings, Ledger
from hocket_retrieval.text.chunking import sentences

from .examples import Example

OWN, SUPPORTED = "own", "supported"
SUPPORT = 0.5  # share of a sentence's telling words that stand in memory, or were typed
SERVER_TOKENS = 64
_CONTENT_WORD = re.compile(r"\w*\d\w*|\w{4,}")
Label = Callable[[Example], str]


def label_of(name: str, model: str, key_file: Path | None) -> Label:
    """Return the function that labels an example: OWN, SUPPORTED, or the server at the address `name` that has `model`.

    Raises BadConfiguration.
    """
    if name == OWN:
        return lambda example: example.rest
    if name == SUPPORTED:
        return supported
    return ServerModel(ServerSettings(url=name, model=model, key_file=str(key_file or "")))


def labelled(examples: Iterable[Example], label: Label) -> Iterator[Example]:
    """The examples with their labels; those that have none are left out, and made-up facts keep their own."""
    for example in examples:
        rest = example.rest if example.is_fact else label(example)
        if rest:
            yield replace(example, rest=rest)


def supported(example: Example) -> str:
    """The first sentences of a document's own continuation, as far as memory and what is typed support them."""
    known = {word.lower() for text in (example.typed, *example.takeaways) for word in _CONTENT_WORD.findall(text)}
    end = 0
    for start, stop in sentences(example.rest):
        stands = [word.lower() in known for word in _CONTENT_WORD.findall(example.rest[start:stop])]
        if not example.takeaways or sum(stands) < SUPPORT * len(stands):
            break
        end = stop
    return example.rest[:end]


class ServerModel:
    """A large model behind OpenAI's API that continues a text (HybridRAG, Table 2): text and memory leave for it."""

    def __init__(self, settings: ServerSettings) -> None:
        """Open the server. Raises BadConfiguration."""
        self._commands: SimpleQueue[Callable[[], None]] = SimpleQueue()
        generator = open_server(settings, self._post, EgressSettings(), Ledger(None))
        assert generator is not None  # there is an address
        self._generator = generator

    def __call__(self, example: Example) -> str:
        """Return the model's greedy continuation of an example. Raises what the server's errors mean."""
        token_texts, ended = list[str](), list[Finish | HocketError]()
        prompt = reference_text(example.takeaways, "", instructed=True) + example.typed
        sampling = Sampling(temperature=0.0, max_tokens=SERVER_TOKENS)
        self._generator.generate(TextRequest(prompt, sampling), token_texts.append, ended.append)
        while not ended:
            self._commands.get()()
        if isinstance(ended[0], HocketError):
            raise ended[0]
        text = "".join(token_texts)
        return text if text[:1].isspace() else f" {text}"

    def _post(self, *commands: Callable[[], None]) -> None:
        for command in commands:
            self._commands.put(command)

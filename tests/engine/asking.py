"""Texts asked of a server that a test scripts: a generator, this thread as the main one, and what is heard."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from mainthread import MainThread
from scripted_server import Scripted, Step

from hocket_bus.errors import HocketError
from hocket_bus.messages import Finish, Sampling
from hocket_daemon.engine.generators.generator import TextRequest
from hocket_daemon.engine.generators.openai import OpenAIGenerator, ServerText, open_server
from hocket_daemon.engine.settings import ServerSettings
from hocket_daemon.privacy.egress import EgressSettings, Ledger
from hocket_daemon.privacy.link_switch import LinkSwitch

KEY, PROMPT = "sk-very-secret-0123", "Where is the red boat?"
ALL_LEAVES = EgressSettings()
SHORT_S = 0.1  # what a server must take too long for
ASKED = TextRequest(PROMPT, Sampling(temperature=0.0, seed=(1 << 31) + 5, max_tokens=9), session=b"\x01" * 16)


@dataclass
class Heard:
    """What a text calls back."""

    fragments: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    ends: list[Finish | HocketError] = field(default_factory=list)
    begun: ServerText | None = None

    @property
    def error(self) -> HocketError:
        (end,) = self.ends
        assert isinstance(end, HocketError)
        return end

    @property
    def text(self) -> str:
        assert all(self.fragments), "no piece is empty"
        return "".join(self.fragments)


class World:
    """A generator for one server, this thread as the main one, and a ledger."""

    def __init__(self, url: str, folder: Path, *, egress: EgressSettings = ALL_LEAVES, **settings: object) -> None:
        key = folder / "key"
        key.write_text(f"{KEY}\n")
        key.chmod(0o600)
        told = {"url": url, "model": "m", "key_file": str(key), **settings}
        self.main, self.ledger, self.switch = MainThread(), Ledger(folder / "ledger"), LinkSwitch()
        server = ServerSettings(**told)  # type: ignore[arg-type]
        made = open_server(server, self.main.post, egress, self.ledger, switch=self.switch)
        assert made is not None
        self.generator: OpenAIGenerator = made

    def begin(self, request: TextRequest = ASKED) -> Heard:
        heard = Heard()

        def on_text(text: str) -> None:
            assert threading.current_thread() is threading.main_thread()
            assert not heard.ends
            heard.fragments.append(text)

        def on_thought(text: str) -> None:
            assert threading.current_thread() is threading.main_thread()
            assert not heard.ends
            assert not heard.fragments
            heard.thoughts.append(text)

        heard.begun = self.generator.generate(request, on_text, heard.ends.append, on_thought)
        assert not heard.ends
        return heard

    def hear(self, request: TextRequest = ASKED) -> Heard:
        heard = self.begin(request)
        self.main.until(lambda: bool(heard.ends))
        return heard


def fixed(*steps: Step) -> Callable[[Scripted], Iterable[Step]]:
    return lambda _: steps


def then_stay(*steps: Step) -> Callable[[Scripted], Iterable[Step]]:
    """And wait for the client to leave."""
    return lambda server: (*steps, server.until_left)

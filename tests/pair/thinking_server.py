"""A server of text whose model thinks before it answers, in every form that servers have."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from scripted_server import DONE, PLAIN, Scripted, Step, event, piece, usage

THOUGHT = "The peregrine canary asks for\n\na bay – say the second one."
ANSWER = "The bay is red."
FORMS = ("tags", "reasoning_content", "parts")


def told(text: str, form: str) -> bytes:
    """A piece of a thought."""
    if form == "tags":
        return piece(text, "chat")
    said: object = {"reasoning_content": text}
    if form == "parts":
        said = {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]}
    return event({"choices": [{"index": 0, "delta": said, "finish_reason": None}]})


def thinks(form: str = "", *, ends: bool = True) -> Callable[[Scripted], Iterable[Step]]:
    """The script: thoughts of this form, or none, and the answer; one that does not end thinks until it is cut."""

    def script(_: Scripted) -> Iterable[Step]:
        whole = "" if not form else f"<think>\n{THOUGHT}\n</think>\n" if form == "tags" else THOUGHT
        whole = whole if ends else whole.partition("say")[0]
        yield PLAIN
        for at in range(0, len(whole), 7):
            yield told(whole[at : at + 7], form)
        for at in range(0, len(ANSWER) if ends else 0, 4):
            yield piece(ANSWER[at : at + 4], "chat")
        yield piece(None, "chat", "stop" if ends else "length") + usage() + DONE

    return script

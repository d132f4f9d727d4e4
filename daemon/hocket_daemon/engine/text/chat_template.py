"""Conversations rendered by a model's chat template: the same on every day, and with no thought left open.

Templates run in a sandbox, as in transformers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date
from functools import lru_cache

from jinja2 import Template, TemplateError
from jinja2.ext import Extension, loopcontrols
from jinja2.meta import find_undeclared_variables
from jinja2.nodes import Node
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from .thinking import TAGS, closing

DAY = date(2024, 7, 26)  # to a template that asks for the date: with today's, no kept KV would be found tomorrow
_SWITCHES = {"enable_thinking", "thinking"}  # what templates call it


def rendered(template: str, tokens: Mapping[str, str], turns: Sequence[tuple[str, str]]) -> str:
    """The text of turns, each a role and what it says, up to where the answer begins.

    `tokens` are the special ones by their names. Raises ValueError where the template refuses it.

    A model that thinks aloud finds its thought closed and empty, and so answers at once (Ma et al. 2025, "Reasoning
    Models Can Be Effective Without Thinking"). The template decides. Its switch is turned off where it has one. What it
    opens all the same is closed, as of QwQ. Where it only knows how a thought closes and has no switch, as of the first
    DeepSeek-R1, the model would open one itself. All else stays as it is: templates of models that do not think know
    of no thought (Qwen3's Instruct-2507), or have a switch (Granite).
    """
    messages = [{"role": role, "content": content} for role, content in turns]
    given = {"messages": messages, "add_generation_prompt": True, **tokens, **dict.fromkeys(_SWITCHES, False)}
    try:
        compiled, has_switch = _compiled(template)
        text = compiled.render(given)
    except TemplateError as error:
        raise ValueError(f"the chat template fails: {error}") from error
    return _unthinking(text, template, has_switch=has_switch)


@lru_cache(maxsize=8)
def _compiled(template: str) -> tuple[Template, bool]:
    """Compile a template once, which takes milliseconds; tell whether it has a switch for thoughts."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, _Generation]
    )
    environment.globals |= {"raise_exception": _refuse, "strftime_now": DAY.strftime}
    environment.filters["tojson"] = _as_json
    has_switch = bool(find_undeclared_variables(environment.parse(template)) & _SWITCHES)
    return environment.from_string(template), has_switch


def _unthinking(text: str, template: str, *, has_switch: bool) -> str:
    end = text.rstrip()
    opened = next((tag for tag in TAGS if end.endswith(tag)), "")
    if opened:
        return f"{end}\n\n{closing(opened)}\n\n"
    known = next((tag for tag in TAGS if closing(tag) in template), "")
    if has_switch or not known or end.endswith(closing(known)):
        return text
    return f"{text}{known}\n\n{closing(known)}\n\n"


class _Generation(Extension):
    """The block `generation` of a template around what the model writes, which training looks for."""

    tags = {"generation"}  # noqa: RUF012 - as jinja2 has it

    def parse(self, parser: Parser) -> list[Node]:
        """Return the contents of the block as they are."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _refuse(message: str) -> None:
    raise TemplateError(message)


def _as_json(value: object, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)

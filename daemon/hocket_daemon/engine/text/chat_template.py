"""A conversation's turns by a model's chat template, the same on every day.

Templates run in a sandbox, as in transformers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date

from jinja2 import TemplateError
from jinja2.ext import Extension, loopcontrols
from jinja2.nodes import Node
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

DAY = date(2024, 7, 26)  # to a template that asks for the date: with today's, no kept KV would be found tomorrow


def rendered(template: str, tokens: Mapping[str, str], turns: Sequence[tuple[str, str]]) -> str:
    """The text of turns, each a role and what it says, up to where the answer begins.

    `tokens` are the special ones by their names.

    A model that may think aloud is asked not to. Raises ValueError where the template refuses it.
    """
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, _Generation]
    )
    environment.globals |= {"raise_exception": _refuse, "strftime_now": DAY.strftime}
    environment.filters["tojson"] = _as_json
    messages = [{"role": role, "content": content} for role, content in turns]
    given = {"messages": messages, "add_generation_prompt": True, **tokens}
    try:
        return environment.from_string(template).render(given, enable_thinking=False)
    except TemplateError as error:
        raise ValueError(f"the chat template fails: {error}") from error


class _Generation(Extension):
    """A block around what the model writes, which training looks for."""

    tags = {"generation"}  # noqa: RUF012 - as jinja2 has it

    def parse(self, parser: Parser) -> list[Node]:
        """What stands in it, as it stands."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _refuse(message: str) -> None:
    raise TemplateError(message)


def _as_json(value: object, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)

"""A tokenizer from the files that transformers writes for one, without transformers, which takes seconds and memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer

_TOKENIZER, _CONFIG, _TEMPLATE = "tokenizer.json", "tokenizer_config.json", "chat_template.jinja"
_OLDER = "special_tokens_map.json"  # where some have the names that others have in the configuration
_NAMED = ("bos_token", "eos_token", "unk_token", "pad_token")  # of which a template may speak


class FileTokenizer:
    """The parts of a tokenizer that the engine needs, under transformers' names. Usable from any thread."""

    def __init__(self, folder: Path) -> None:
        """Read the tokenizer in a folder. Raises OSError and ValueError where there is none."""
        try:
            self.backend_tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
        except Exception as error:  # the library raises nothing else
            raise ValueError(f"{_TOKENIZER} cannot be read: {error}") from error
        self.backend_tokenizer.no_truncation()
        self.backend_tokenizer.no_padding()
        config = _record(folder / _CONFIG)
        if (more := folder / _OLDER).exists():
            config = _record(more) | config
        self.special_tokens_map = {name: text for name in _NAMED if (text := _text_of(config.get(name)))}
        template = folder / _TEMPLATE
        own = template.read_text(encoding="utf-8") if template.exists() else _default_of(config.get("chat_template"))
        self.chat_template: str | None = own

    @property
    def added_tokens_decoder(self) -> dict[int, AddedToken]:
        """The tokens that are looked for in a text before anything else, by number."""
        return dict(self.backend_tokenizer.get_added_tokens_decoder())

    @property
    def bos_token_id(self) -> int | None:
        """The number of the token that a text begins with, where there is one."""
        name = self.special_tokens_map.get("bos_token")
        return None if name is None else self.backend_tokenizer.token_to_id(name)

    def get_vocab(self) -> dict[str, int]:
        """Return every piece and its number."""
        return dict(self.backend_tokenizer.get_vocab(with_added_tokens=True))

    def __call__(self, text: str, *, add_special_tokens: bool, **_: object) -> dict[str, list[int]]:
        """The ids of `text`, as `input_ids`."""
        return {"input_ids": self.backend_tokenizer.encode(text, add_special_tokens=add_special_tokens).ids}

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = False, **_: object) -> str:
        """The text of `ids`."""
        return str(self.backend_tokenizer.decode(list(ids), skip_special_tokens=skip_special_tokens))


def _record(file: Path) -> dict[str, Any]:
    found = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(found, dict):
        raise ValueError(f"{file.name} is not a JSON object")
    return found


def _default_of(template: Any) -> str | None:  # noqa: ANN401 - as the file has it
    """The template, or of several with names the default one; None where there is none."""
    if isinstance(template, list):
        named = {each.get("name"): each.get("template") for each in template if isinstance(each, dict)}
        template = named.get("default")
    return template if isinstance(template, str) else None


def _text_of(token: Any) -> str:  # noqa: ANN401 - a string, a record or nothing, as the file has it
    text = token.get("content") if isinstance(token, dict) else token
    return text if isinstance(text, str) else ""

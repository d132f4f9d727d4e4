"""Schemas of JSON-Schema-Test-Suite: each is refused in one line, or every text that is drawn by it fits it."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from fake_model import EOS, FakeModel

from hocket_bus.errors import BadRequest
from hocket_client.schema import grammar_of
from hocket_daemon.engine.runtime.grammar import Grammars, check_grammar

MODEL = FakeModel()  # its tokens are characters
SUITE = os.environ.get("JSON_SCHEMA_SUITE", "")
DRAFTS = {"draft7": jsonschema.Draft7Validator, "draft2020-12": jsonschema.Draft202012Validator}
MISREAD = {"$id with file URI still resolves pointers - *nix", "$ref prevents a sibling $id from changing the base uri"}
MOST = 400  # characters: what is longer is not drawn to its end
LEAST = 200  # schemas that must not be refused


def groups() -> Iterator[tuple[Any, str, dict[str, Any]]]:
    for draft, validator in DRAFTS.items():
        for path in sorted(Path(SUITE, draft).rglob("*.json")):
            for group in json.loads(path.read_text(encoding="utf-8")):
                if isinstance(group["schema"], dict):
                    yield validator, group["description"], group["schema"]


def text_of(schema: dict[str, Any], seed: int) -> str | None:
    """Draw a text that a schema's grammar has, ends and closing marks before others; None where it gets long."""
    rng, grammar, ids = random.Random(seed), Grammars(MODEL).of(grammar_of(schema)), list[int]()
    closing = set(MODEL.continued('"}],0'))
    assert grammar is not None
    while len(ids) < MOST:
        allowed = set(grammar.allowed(ids).tolist())
        if EOS in allowed and (allowed == {EOS} or rng.random() < 0.5):
            return MODEL.text(ids)
        soon = sorted(allowed & closing)
        ids.append(rng.choice(soon if soon and rng.random() < 0.4 else sorted(allowed - {EOS})))
    return None


@pytest.mark.skipif(not SUITE, reason="JSON_SCHEMA_SUITE names no folder `tests` of JSON-Schema-Test-Suite")
def test_texts_fit_or_the_schema_is_refused() -> None:
    """But for one rule of draft 7 on nested addresses, which the library reads as later drafts do."""
    drawn, refused, wrong = 0, list[str](), set()
    for validator, description, schema in groups():
        try:
            check_grammar(grammar_of(schema))
        except BadRequest as error:
            refused.append(str(error))
            continue
        for seed in range(3):
            text = text_of(schema, seed)
            if text is None:
                continue
            drawn += 1
            try:
                fits = validator(schema).is_valid(json.loads(text))
            except (re.error, jsonschema.exceptions._WrappedReferencingError):  # what the validator cannot read
                continue
            if not fits:
                wrong.add(description)
    print(f"{drawn} texts drawn, {len(refused)} schemas refused")
    assert not any("\n" in line for line in refused)
    assert wrong <= MISREAD
    assert drawn > 3 * LEAST

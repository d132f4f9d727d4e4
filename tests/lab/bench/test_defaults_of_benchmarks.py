"""Law: a benchmark takes from the product what the product has a default for, unless its law says otherwise."""

from __future__ import annotations

import ast
import dataclasses
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hocket_bus.messages import DEFAULT_WEIGHTS, SUGGESTED
from hocket_daemon.dispatch.settings import DispatchSettings
from hocket_lab.bench.figures.frame import FIGURES, find
from hocket_lab.bench.running import product
from hocket_lab.commands.bench import BENCHMARKS
from hocket_lab.reporting.identity import ROOTS
from hocket_lab.reporting.measured import module_of

BENCH = ROOTS["lab"] / "bench"
PRODUCT: dict[str, Any] = {
    "weights": DEFAULT_WEIGHTS,
    "documents": product.DOCUMENTS,
    "temperature": product.TEMPERATURE,
    "relevance_temperature": product.RELEVANCE_TEMPERATURE,
    "wire_mass": product.WIRE_MASS,
    "threads": product.THREADS,
    "dtype": product.DTYPE,
    "pace": DispatchSettings().pace,
}
OTHERWISE = {  # and why
    ("aggregation", "temperature"): "what noise costs is told where there is some",
    ("determinism", "temperature"): "a draw shows more than the most likely token",
    ("figure 8", "temperature"): "the paper's",
    ("figure 5", "weights"): "all of the paper's ways",
    ("figure 5", "documents"): "numbers of them are what is compared",
    ("newcomer", "temperature"): "seeds tell something where there is noise",
    ("copying", "dtype"): "in float32 ids do not depend on what shares a pass",
    ("lies", "dtype"): "whether a cloud is left must not depend on the machine",
    ("formats", "threads"): "numbers of them are what is compared",
}


def defaults(settings: Any) -> dict[str, Any]:
    """The fields that a settings class has a default for, with it."""
    if dataclasses.is_dataclass(settings):
        return {field.name: field.default for field in dataclasses.fields(settings)}
    return {field.name: field.default for field in msgspec.structs.fields(settings)}


SETTINGS = {name: import_module(module_of(name)).Settings for name in BENCHMARKS} | {
    f"figure {number}": find(number).settings for number in FIGURES
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_that_the_product_has_too_has_its_default(name: str) -> None:
    """Or stands above, with the reason."""
    own = defaults(SETTINGS[name])
    other = {field for field in own.keys() & PRODUCT.keys() if own[field] != PRODUCT[field]}
    assert {field for field in other if (name, field) not in OTHERWISE} == set()


def test_the_reasons_are_of_settings_that_there_are() -> None:
    """One that is left over would excuse the next mistake."""
    assert [key for key in OTHERWISE if key[1] not in defaults(SETTINGS[key[0]])] == []


def test_suggestions_are_as_long_as_the_product_s() -> None:
    """Where a benchmark types."""
    assert defaults(SETTINGS["typing"])["tokens"] == SUGGESTED


def restated(path: Path) -> list[str]:
    """Fields and arguments of these names whose default is written out, such as `documents: int = 2`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    fields = [
        (node.target.id, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value
    ]
    functions = [node.args for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    arguments = [
        pair
        for args in functions
        for pair in (
            *zip([one.arg for one in args.args[len(args.args) - len(args.defaults) :]], args.defaults, strict=True),
            *((one.arg, value) for one, value in zip(args.kwonlyargs, args.kw_defaults, strict=True) if value),
        )
    ]
    return [name for name, value in (*fields, *arguments) if name in PRODUCT and isinstance(value, ast.Constant)]


def test_no_default_of_the_product_is_written_out_in_a_benchmark() -> None:
    """It would stay when the product's changes; the explained ones may."""
    names = {Path(import_module(SETTINGS[name].__module__).__file__ or ""): name for name in SETTINGS}
    found = {
        (names.get(path, path.stem), field) for path in BENCH.rglob("*.py") for field in restated(path)
    } - OTHERWISE.keys()
    assert found == set()

"""Laws of what programs read: every record of the program is strict, whole JSON, whatever is in its fields.

No test saw a record that JSON has no word for, since each printed what one small answer happened to fill: a field that
is mostly empty was never there. Here the schema says what there is, and every field is filled.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from filled import NoData, filled, finite, read_back, record_types
from hocket_bus import as_json
from hocket_bus.messages import BY_CODE, AggregationOutcome, DispatchOutcome, Done, Routing
from strict_json import value_of

PRINTING = ("hocket_bus", "hocket_client", "hocket_gateway", "hocket_daemon", "hocket_tools")
TIMES = 12
KINDS = record_types(PRINTING)


def data(kind: type, times: int) -> list[Any]:
    """Records of this kind; none where it holds what is not data."""
    rng = random.Random(kind.__qualname__)
    try:
        return [filled(kind, rng) for _ in range(times)]
    except NoData:
        return []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.__module__}.{kind.__qualname__}")
def test_every_record_is_strict_and_whole_json_and_reads_back_equal(kind: type) -> None:
    """Every field is there; a number that is not finite is null, bytes are hexadecimal, a lone surrogate stays one."""
    for record in data(kind, TIMES):
        found = value_of(as_json.text(record))
        assert finite(read_back(kind, found)) == finite(record)


def test_the_schema_finds_the_records_that_are_printed() -> None:
    """All messages and what is in them, and the commands' own; few are left out as no data."""
    found = {kind for kind in KINDS if data(kind, 1)}
    assert {*BY_CODE.values(), AggregationOutcome, DispatchOutcome, Routing} <= found
    names = {kind.__name__ for kind in found}
    assert {"DecisionRecord", "DaemonState", "Pace", "Problem", "NetworkProfile", "DecodeProfile", "Span"} <= names


def test_an_end_is_printed_without_one_field_over_another() -> None:
    """The fields of the outcome and of the way stand beside those of the answer."""
    names = [set(kind.__struct_fields__) for kind in (Done, AggregationOutcome, Routing)]
    assert sum(map(len, names)) == len(set.union(*names))
    names[1] = set(DispatchOutcome.__struct_fields__)
    assert sum(map(len, names)) == len(set.union(*names))


def test_what_is_no_data_is_refused() -> None:
    """A record with a function in it is a mistake of ours, and not JSON that lacks it."""
    with pytest.raises(TypeError):
        as_json.text({"done": print})

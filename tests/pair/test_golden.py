"""The bundled models' answers are the ones that the file has, whatever was rebuilt since."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from golden import METHODS, TEMPERATURES, answers, key, opened, read

from hocket_client import Client
from hocket_daemon.aggregation.settings import GroupSettings

FILE = read()
QUESTIONS: list[str] = FILE["questions"]  # type: ignore[assignment]
SOME = range(0, len(QUESTIONS), 24)
ALL = pytest.param(range(len(QUESTIONS)), marks=pytest.mark.long)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with opened(FILE["documents"], relevance_temperature=0.1) as client:  # type: ignore[arg-type]
        yield client


@pytest.fixture(scope="module")
def of_two() -> Iterator[Client]:
    """A group whose other member is the cloud alone."""
    group = GroupSettings(with_="drafts", patience_ms=60_000, reading_s=60)
    with opened(FILE["documents"], relevance_temperature=0.1, group=group) as client:  # type: ignore[arg-type]
        yield client


@pytest.mark.parametrize("numbers", [SOME, ALL], ids=["some", "all"])
@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("method", METHODS)
def test_no_token_has_changed(client: Client, method: str, temperature: float, numbers: range) -> None:
    """Every id of every answer."""
    expected: list[list[int]] = FILE["ids"][key(method, temperature)]  # type: ignore[index]
    assert answers(client, QUESTIONS, numbers, method, temperature) == [expected[n] for n in numbers]


@pytest.mark.parametrize("numbers", [SOME, ALL], ids=["some", "all"])
@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_a_group_of_two_has_the_tokens_of_the_pair(of_two: Client, temperature: float, numbers: range) -> None:
    """Every id of every answer, whoever aggregates."""
    expected: list[list[int]] = FILE["ids"][key("coupled", temperature)]  # type: ignore[index]
    assert answers(of_two, QUESTIONS, numbers, "coupled", temperature, mode="graph") == [expected[n] for n in numbers]

"""lab/docs/results/systems.toml: which files tell of which system, its headlines in plain words, and its picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from hocket_bus.errors import BadConfiguration
from hocket_lab.bench.results.records import Record

Areas = Mapping[str, Sequence[Record]]


class Of(Struct, frozen=True, forbid_unknown_fields=True):
    """A record, by its file and its claim."""

    area: str
    claim: str

    def find(self, areas: Areas) -> Record:
        """Return the record. Raises BadConfiguration."""
        found = next((one for one in areas.get(self.area, ()) if one.claim == self.claim), None)
        if found is None:
            raise BadConfiguration(f'systems.toml: {self.area} has no claim "{self.claim}"', "name one that it has")
        return found


class Headline(Of, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A number that a person cares about: `says` is a sentence with {value}, or with a number of the record's."""

    says: str

    def sentence(self, areas: Areas) -> str:
        """Return the sentence with its numbers. Raises BadConfiguration for a number that the record does not have."""
        record = self.find(areas)
        numbers = {name: f"{number:g}" for name, number in record.numbers.items()}
        try:
            return self.says.format_map({"value": record.value} | numbers)
        except KeyError as error:
            raise BadConfiguration(f"systems.toml: {self.claim} has no number {error}", "name one it has") from error


class Bar(Of, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A bar of a picture."""

    number: str
    label: str

    def length(self, areas: Areas) -> float:
        """Return the number that the bar shows. Raises BadConfiguration."""
        record = self.find(areas)
        if self.number not in record.numbers:
            raise BadConfiguration(f"systems.toml: {self.claim} has no number {self.number}", "name one it has")
        return record.numbers[self.number]


class System(Struct, frozen=True, forbid_unknown_fields=True):
    """A system: its files, three to five headlines, and a picture of some of its numbers."""

    name: str
    picture: Annotated[str, Meta(pattern=r"^[a-z]+\.svg$")]
    title: str
    areas: list[str]
    headlines: Annotated[list[Headline], Meta(min_length=3, max_length=5)]
    bars: Annotated[list[Bar], Meta(min_length=2)]


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    system: list[System]


def read_systems(path: Path, areas: Areas) -> list[System]:
    """Return all systems. Raises BadConfiguration if the file is wrong, or a file of records is in none or in two."""
    try:
        systems = msgspec.toml.decode(path.read_bytes(), type=_File).system
    except (OSError, msgspec.DecodeError) as error:
        raise BadConfiguration(f"{path}: {error}", "mend it") from error
    named = [area for system in systems for area in system.areas]
    if wrong := sorted(area for area in areas.keys() | set(named) if named.count(area) != 1 or area not in areas):
        raise BadConfiguration(
            f"{path}: {', '.join(wrong)} must stand in one system", "name the files of lab/docs/results"
        )
    return systems

"""Joules by the kernel's counters, which begin anew and may be nobody's to read."""

from __future__ import annotations

from pathlib import Path

from hocket_daemon.profiling.energy import EnergyMeter


def package(folder: Path, number: int, microjoules: int) -> Path:
    made = folder / f"intel-rapl:{number}"
    made.mkdir(exist_ok=True)
    (made / "energy_uj").write_text(f"{microjoules}\n")
    (made / "max_energy_range_uj").write_text("1000000000\n")
    return made


def test_the_packages_add_up_and_their_parts_do_not(tmp_path: Path) -> None:
    """A part of a package is in the package."""
    package(tmp_path, 0, 5_000_000)
    package(tmp_path, 1, 999_000_000)
    part = tmp_path / "intel-rapl:0:0"
    part.mkdir()
    (part / "energy_uj").write_text("7\n")
    meter = EnergyMeter(tmp_path)
    assert meter.joules() == 0.0
    package(tmp_path, 0, 7_500_000)
    package(tmp_path, 1, 1_000_000)  # it has begun anew
    assert meter.joules() == 2.5 + 2.0


def test_without_counters_nothing_is_known(tmp_path: Path) -> None:
    """None at all, or none that can be read."""
    assert EnergyMeter(tmp_path).joules() is None
    (package(tmp_path, 0, 1) / "energy_uj").unlink()
    assert EnergyMeter(tmp_path).joules() is None

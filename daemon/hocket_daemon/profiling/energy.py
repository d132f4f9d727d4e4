"""Energy that the processor has used, by the kernel's counters (powercap, RAPL); knows no model.

Each package of the machine has a counter in microjoules, which begins anew at its range. Root alone may read them on
most systems. The whole machine's work is in them, so what is measured beside other work is too much.
"""

from __future__ import annotations

from pathlib import Path

COUNTERS = Path("/sys/class/powercap")


class EnergyMeter:
    """A meter of the joules since it was made; None where there is no counter that can be read."""

    def __init__(self, counters: Path = COUNTERS) -> None:
        self._folders = sorted(counters.glob("intel-rapl:[0-9]*"))
        self._folders = [folder for folder in self._folders if folder.name.count(":") == 1]  # whole packages alone
        self._began = [_microjoules(folder, "energy_uj") for folder in self._folders]

    def joules(self) -> float | None:
        """Return the joules since the beginning, of all packages."""
        used = 0
        for folder, began in zip(self._folders, self._began, strict=True):
            now, range_uj = _microjoules(folder, "energy_uj"), _microjoules(folder, "max_energy_range_uj")
            if began is None or now is None:
                return None
            used += now - began if now >= began else now - began + (range_uj or 0)
        return used / 1e6 if self._folders else None


def _microjoules(folder: Path, name: str) -> int | None:
    try:
        return int((folder / name).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None

"""The owner's switch that cuts this device off from everything elsewhere: the cloud, and a server of text."""

from __future__ import annotations

from pathlib import Path

from hocket_bus.errors import Unavailable
from hocket_bus.trust.private import write_whole

CUT = Unavailable("the link is cut on this device", "connect it again: hocket alone off")


class LinkSwitch:
    """A switch stored as a file beside the ledger: what was cut stays cut after a restart. For the main thread."""

    def __init__(self, ledger: Path | None = None) -> None:
        """Read the switch; without a ledger it is held in memory alone."""
        self._file = ledger.with_suffix(".cut") if ledger is not None else None
        self.is_cut = self._file is not None and self._file.exists()

    def turn(self, *, cut: bool) -> None:
        """Cut or join the link. Raises Unavailable where that cannot be written, and lasts until the daemon ends."""
        self.is_cut = cut
        if self._file is None:
            return
        try:
            if cut:
                write_whole(self._file, "")
            else:
                self._file.unlink(missing_ok=True)
        except OSError as error:
            how = "cut" if cut else "connected"
            text = f"the link is {how} until the device daemon ends: {self._file} cannot be written, {error.strerror}"
            raise Unavailable(text, "make its folder writable for the device daemon") from error

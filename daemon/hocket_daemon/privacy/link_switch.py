"""Whether the owner has cut this device off from whoever is elsewhere: the cloud, and a server of text."""

from __future__ import annotations

from pathlib import Path

from hocket_bus.errors import Unavailable
from hocket_bus.trust.private import write_whole

CUT = Unavailable("the link is cut on this device", "connect it again: hocket alone off")


class LinkSwitch:
    """A file beside the ledger says so, for a daemon that starts again: what was cut stays cut. For the main thread."""

    def __init__(self, ledger: Path | None = None) -> None:
        """Without a ledger it is known in memory alone."""
        self._file = ledger.with_suffix(".cut") if ledger is not None else None
        self.is_cut = self._file is not None and self._file.exists()

    def turn(self, *, cut: bool) -> None:
        """Be cut, or not. Raises Unavailable where that lasts no longer than the daemon, as it cannot be written."""
        self.is_cut = cut
        if self._file is None:
            return
        try:
            if cut:
                write_whole(self._file, "")
            else:
                self._file.unlink(missing_ok=True)
        except OSError as error:
            how = "cut" if cut else "joined"
            text = f"the link is {how} until the device daemon ends: {self._file} cannot be written, {error.strerror}"
            raise Unavailable(text, "make its folder writable for the device daemon") from error

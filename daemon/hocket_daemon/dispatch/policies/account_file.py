"""The account's file: a few numbers as JSON, replaced whole after every answer."""

from __future__ import annotations

import json
import os
from pathlib import Path

import structlog

from .account import Account

log = structlog.get_logger(__name__)


class AccountFile:
    """The storage of an account over restarts, if there is a path. A file that cannot be used is logged once."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._failing = False

    def read_into(self, account: Account) -> None:
        """Restore the account from the file, if there is one."""
        if self._path is None or not self._path.exists():
            return
        try:
            account.restore({name: float(value) for name, value in json.loads(self._path.read_bytes()).items()})
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            log.warning("the account cannot be read and begins anew", file=str(self._path), error=str(error))

    def write(self, account: Account) -> None:
        """Write the account as it is now."""
        if self._path is None:
            return
        beside = self._path.with_name(f"{self._path.name}.new")
        try:
            beside.write_text(json.dumps(account.state()), encoding="utf-8")
            os.replace(beside, self._path)
            self._failing = False
        except OSError as error:
            if not self._failing:
                log.warning("the account cannot be kept", file=str(self._path), error=str(error))
            self._failing = True

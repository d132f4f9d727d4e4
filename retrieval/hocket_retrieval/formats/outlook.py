"""Mails as Outlook saves them (MS-OXMSG): compound files with a stream for each property, read by olefile."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import datetime, timedelta
from email.message import EmailMessage
from typing import TYPE_CHECKING

from .content import Content
from .embedded import Pictures
from .encodings import decoded
from .mail import Attached, mail

if TYPE_CHECKING:
    from olefile import OleFileIO

_STREAM = "__substg1.0_{}{}"
_FIELDS = {"Subject": ("0037",), "To": ("0E04",), "Cc": ("0E03",)}
_SENDER_NAMES, _SENDER_ADDRESSES = ("0C1A", "0042"), ("5D01", "0C1F", "0065")
_TEXT, _HTML, _DATA, _FILE_NAMES = "1000", "1013", "3701", ("3707", "3704", "3001")
_PROPERTIES, _HEAD, _ROW = "__properties_version1.0", 32, 16  # bytes
_TIMES = (0x00390040, 0x0E060040)  # when it was sent, when it came
_ATTACHED = "__attach_version1.0"
_EPOCH = datetime(1601, 1, 1)


def outlook(data: bytes, pictures: Pictures, attached: Attached) -> Content:
    """Such a mail, as the same one from another program. Raises OSError where it is none."""
    from olefile import OleFileIO

    with OleFileIO(io.BytesIO(data)) as file:
        return mail(_message(file).as_bytes(), pictures, attached)


def _message(file: OleFileIO) -> EmailMessage:
    message = EmailMessage()
    for name, tags in _FIELDS.items():
        _set(message, name, _first(file, "", tags))
    sender, address = _first(file, "", _SENDER_NAMES), _first(file, "", _SENDER_ADDRESSES)
    _set(message, "From", f"{sender} <{address}>" if "@" in address and address != sender else sender or address)
    _set(message, "Date", _sent(file))
    text, page = _text(file, "", _TEXT), _bytes(file, _STREAM.format(_HTML, "0102"))
    is_page = bool(page) and not text.strip()
    message.set_content(decoded(page) if is_page else text, subtype="html" if is_page else "plain")
    for folder in _folders(file):
        held = _bytes(file, f"{folder}/{_STREAM.format(_DATA, '0102')}")
        name = _first(file, folder, _FILE_NAMES) or "attachment"
        message.add_attachment(held, maintype="application", subtype="octet-stream", filename=name)
    return message


def _set(message: EmailMessage, name: str, value: str) -> None:
    if value:
        message[name] = " ".join(value.split())


def _folders(file: OleFileIO) -> Iterator[str]:
    yield from sorted(entry[0] for entry in file.listdir(streams=False, storages=True) if _is_attachment(entry))


def _is_attachment(entry: list[str]) -> bool:
    return len(entry) == 1 and entry[0].startswith(_ATTACHED)


def _first(file: OleFileIO, folder: str, tags: tuple[str, ...]) -> str:
    return next(filter(None, (_text(file, folder, tag) for tag in tags)), "")


def _text(file: OleFileIO, folder: str, tag: str) -> str:
    """A property that is a text: in UTF-16, or in an older encoding."""
    wide, narrow = (f"{folder}/{_STREAM.format(tag, kind)}".lstrip("/") for kind in ("001F", "001E"))
    text = _bytes(file, wide).decode("utf-16-le", "replace") if file.exists(wide) else decoded(_bytes(file, narrow))
    return text.replace("\r\n", "\n").rstrip("\0")


def _bytes(file: OleFileIO, name: str) -> bytes:
    return bytes(file.openstream(name).read()) if file.exists(name) else b""


def _sent(file: OleFileIO) -> str:
    """In UTC."""
    rows = _bytes(file, _PROPERTIES)[_HEAD:]
    found = {int.from_bytes(rows[at : at + 4], "little"): rows[at + 8 : at + 16] for at in range(0, len(rows), _ROW)}
    time = next((found[tag] for tag in _TIMES if tag in found), b"")
    at = _EPOCH + timedelta(microseconds=int.from_bytes(time, "little") // 10)
    return f"{at:%a, %d %b %Y %H:%M:%S} +0000" if time else ""

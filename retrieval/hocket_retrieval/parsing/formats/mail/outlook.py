"""Mails as Outlook saves them (MS-OXMSG): compound files with a stream for each property, read by olefile."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from email.message import EmailMessage
from typing import TYPE_CHECKING

from ..content import Content
from ..encodings import decoded
from ..pictures.embedded import Pictures
from .compressed_rtf import decompressed
from .mail import Attached, mail

if TYPE_CHECKING:
    from olefile import OleFileIO

_STREAM = "__substg1.0_{}{}"
_FIELDS = {"Subject": ("0037",), "To": ("0E04",), "Cc": ("0E03",)}
_SENDER_NAMES, _SENDER_ADDRESSES = ("0C1A", "0042"), ("5D01", "0C1F", "0065")
_TEXT, _HTML, _RTF, _DATA, _FILE_NAMES = "1000", "1013", "1009", "3701", ("3707", "3704", "3001")
_PROPERTIES, _HEAD, _INNER_HEAD, _ROW = "__properties_version1.0", 32, 24, 16  # bytes
_MAIL = "/__substg1.0_3701000D"  # in an attachment that is a mail
_MEETING = {"Start": 0x820D, "End": 0x820E}  # times of an appointment, by their long ids (MS-OXPROPS)
_PLACE = 0x8208
_NAMES = "__nameid_version1.0/__substg1.0_00030102"  # 8 bytes of each property that has a long id
_TIME, _OWN = 0x0040, 0x8000  # a type, and the first tag of properties with long ids
_TIMES = (0x00390040, 0x0E060040)  # when it was sent, when it came
_ATTACHED = "__attach_version1.0"
_EPOCH = datetime(1601, 1, 1)
_LAST = 1 << 61  # of 100 ns: year 8900, and some programs write the last moment of all


def outlook(data: bytes, pictures: Pictures, attached: Attached) -> Content:
    """Read an Outlook mail like one of another program. Raises OSError where it is none, and DocumentError."""
    from olefile import OleFileIO

    with OleFileIO(io.BytesIO(data)) as file:
        return mail(_message(file).as_bytes(), pictures, attached)


def _message(file: OleFileIO, folder: str = "") -> EmailMessage:
    """Return the mail, or one that is attached to it, in this folder."""
    message = EmailMessage()
    for name, tags in _FIELDS.items():
        _set(message, name, _first(file, folder, tags))
    sender, address = _first(file, folder, _SENDER_NAMES), _first(file, folder, _SENDER_ADDRESSES)
    _set(message, "From", f"{sender} <{address}>" if "@" in address and address != sender else sender or address)
    times = _times(file, folder)
    _set(message, "Date", next((f"{times[tag]:%a, %d %b %Y %H:%M:%S} +0000" for tag in _TIMES if tag in times), ""))
    text, page = _text(file, folder, _TEXT), _bytes(file, f"{folder}/{_STREAM.format(_HTML, '0102')}".lstrip("/"))
    is_page = bool(page) and not text.strip()
    message.set_content(decoded(page) if is_page else text, subtype="html" if is_page else "plain")
    if not text.strip() and not page and (rich := _bytes(file, f"{folder}/{_STREAM.format(_RTF, '0102')}".lstrip("/"))):
        message.add_attachment(decompressed(rich), maintype="application", subtype="rtf")
    if meeting := _meeting(file, folder, times):
        message.add_attachment(meeting)
    for each in _folders(file, folder):
        _attach(message, file, each)
    return message


def _attach(message: EmailMessage, file: OleFileIO, folder: str) -> None:
    name = _first(file, folder, _FILE_NAMES) or "attachment"
    if file.exists(folder + _MAIL):
        message.add_attachment(_message(file, folder + _MAIL), filename=name)
    else:
        held = _bytes(file, f"{folder}/{_STREAM.format(_DATA, '0102')}")
        message.add_attachment(held, maintype="application", subtype="octet-stream", filename=name)


def _meeting(file: OleFileIO, folder: str, times: Mapping[int, datetime]) -> str:
    """Return when and where a meeting is; empty where the mail is about none."""
    lines = [f"{name}: {times[tag]:%Y-%m-%d %H:%M} UTC" for name, long_id in _MEETING.items()
             if (tag := _tag(file, long_id) << 16 | _TIME) in times]  # fmt: skip
    place = _text(file, folder, f"{_tag(file, _PLACE):04X}")
    return "\n".join([*lines, *([f"Place: {place}"] if place and lines else [])])


def _tag(file: OleFileIO, long_id: int) -> int:
    """The tag of a property in this file; 0 where it has none of it."""
    rows = _bytes(file, _NAMES)
    places = range(0, len(rows) - 7, 8)
    found = (at for at in places if int.from_bytes(rows[at : at + 4], "little") == long_id and not rows[at + 4] & 1)
    return next((_OWN + int.from_bytes(rows[at + 6 : at + 8], "little") for at in found), 0)


def _set(message: EmailMessage, name: str, value: str) -> None:
    if value:
        message[name] = " ".join(value.split())


def _folders(file: OleFileIO, folder: str) -> Iterator[str]:
    """Yield the folders of the attachments of the mail in this folder."""
    inside = tuple(folder.split("/")) if folder else ()
    entries = sorted(map(tuple, file.listdir(streams=False, storages=True)))
    for *outer, name in entries:
        if tuple(outer) == inside and name.startswith(_ATTACHED):
            yield "/".join((*outer, name))


def _first(file: OleFileIO, folder: str, tags: tuple[str, ...]) -> str:
    return next(filter(None, (_text(file, folder, tag) for tag in tags)), "")


def _text(file: OleFileIO, folder: str, tag: str) -> str:
    """A property that is a text: in UTF-16, or in an older encoding."""
    wide, narrow = (f"{folder}/{_STREAM.format(tag, kind)}".lstrip("/") for kind in ("001F", "001E"))
    text = _bytes(file, wide).decode("utf-16-le", "replace") if file.exists(wide) else decoded(_bytes(file, narrow))
    return text.replace("\r\n", "\n").rstrip("\0")


def _bytes(file: OleFileIO, name: str) -> bytes:
    return bytes(file.openstream(name).read()) if file.exists(name) else b""


def _times(file: OleFileIO, folder: str) -> dict[int, datetime]:
    """Return the times of a mail, by their tags and type, in UTC."""
    head = _INNER_HEAD if folder else _HEAD
    rows = _bytes(file, f"{folder}/{_PROPERTIES}".lstrip("/"))[head:]
    found = {int.from_bytes(rows[at : at + 4], "little"): rows[at + 8 : at + 16] for at in range(0, len(rows), _ROW)}
    ticks = {tag: int.from_bytes(value, "little") for tag, value in found.items() if tag & 0xFFFF == _TIME}
    return {tag: _EPOCH + timedelta(microseconds=count // 10) for tag, count in ticks.items() if count < _LAST}

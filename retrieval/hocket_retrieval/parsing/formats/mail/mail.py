"""Mails with what is attached to them, and boxes of mails."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from email import message_from_bytes
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.policy import EmailPolicy
from pathlib import PurePosixPath

from ....errors import DocumentError
from ..content import Content, Section, below
from ..encodings import decoded
from ..markup.html import html
from ..pictures.embedded import Pictures

MAX_HEADER_CHARS = 8192  # two hundred addresses; longer ones are parsed in quadratic time
_FIELDS = ("From", "To", "Cc", "Date", "Subject")
_BORDER = re.compile(rb"(?m)^From \S+ +\w{3} \w{3} +\d.*\r?\n")  # a sender and a day: else it is a sentence
_WRITTEN = ("text/plain", "text/html")  # what a body is written in, the simplest first
_OTHER_BODIES = frozenset((*_WRITTEN, "text/enriched", "text/richtext", "text/x-amp-html", "text/watch-html"))
_CALENDAR = ".ics"
_SUFFIXES = {  # of parts whose names tell no type
    "text/calendar": _CALENDAR, "application/ics": _CALENDAR, "text/plain": ".txt", "text/html": ".html",
    "text/csv": ".csv", "text/markdown": ".md", "text/vcard": ".vcf", "text/x-vcard": ".vcf", "text/rtf": ".rtf",
    "application/rtf": ".rtf", "application/pdf": ".pdf", "image/png": ".png", "image/jpeg": ".jpg",
}  # fmt: skip
Attached = Callable[[str, bytes, Pictures], Content | None]  # of a name and bytes; None where nobody reads them


class _Bounded(EmailPolicy):
    """A policy that parses the beginning of a longer header alone; one that is shown is read whole, but not parsed."""

    def header_fetch_parse(self, name: str, value: str) -> str:
        """Parse the beginning of a header; return a longer one that is shown whole, but not parsed."""
        if len(value) > MAX_HEADER_CHARS and name.title() in _FIELDS:
            return " ".join(str(make_header(decode_header(value))).split())
        header: str = super().header_fetch_parse(name, value[:MAX_HEADER_CHARS])
        return header


_POLICY = _Bounded()


def mail(data: bytes, pictures: Pictures, attached: Attached) -> Content:
    """Read a mail: its fields, its text, its events, and what is attached. Raises DocumentError."""
    message = message_from_bytes(data, policy=_POLICY)
    assert isinstance(message, EmailMessage)
    fields = [f"{name}: {message[name]}" for name in _FIELDS if message[name]]
    sections, unread, notices = [Section("\n".join(fields))], list[str](), list[str]()
    for each in _parts(message):
        if _is_body(each):
            sections += _body(each, pictures)
            continue
        name = each.get_filename() or ""
        found = _attachment(each, name, pictures, attached)
        if found is None:
            unread.append(name or each.get_content_type())
            continue
        notices += [f"{name or each.get_content_type()}: {found.notice}"] if found.notice else []
        sections += _new(sections, name, found.sections)
    if unread:
        notices.insert(0, f"attachments that are not read: {', '.join(unread)}")
    return Content(str(message["Subject"] or ""), sections, "; ".join(notices))


def _new(known: Sequence[Section], name: str, found: Sequence[Section]) -> list[Section]:
    """Return an attachment's sections; none if their text is there already: many programs send an event twice."""
    texts = {section.text for section in known}
    if all(section.text in texts or not section.text for section in found):
        return []
    place = f"attachment {name}"
    return [Section(f"Attachment {name}:", place), *below(place, found)] if name else list(found)


def page(data: bytes, pictures: Pictures) -> Content:
    """Read a web page as browsers keep it in one file, with its pictures (MHTML). Raises DocumentError."""
    message = message_from_bytes(data, policy=_POLICY)
    assert isinstance(message, EmailMessage)
    shown = next((part for part in message.walk() if part.get_content_type() == "text/html"), None)
    body = shown.get_payload(decode=True) if shown is not None else None
    title, sections, _ = html(body, pictures) if isinstance(body, bytes) else Content("", [])
    drawn = [part.get_payload(decode=True) for part in message.walk() if part.get_content_maintype() == "image"]
    return Content(title, [*sections, *(pictures.section(each) for each in drawn if isinstance(each, bytes))])


def box(data: bytes, pictures: Pictures, attached: Attached) -> Content:
    """Read a file of mails, one after the other. Raises DocumentError."""
    mails = [mail(part, pictures, attached) for part in _BORDER.split(data)[1:]]
    if not mails:
        return mail(data, pictures, attached)
    notices = " ".join(filter(None, (each.notice for each in mails)))
    sections = [
        section
        for number, each in enumerate(mails, 1)
        for section in below(f'mail "{each.title}"' if each.title else f"mail {number}", each.sections)
    ]
    return Content("", sections, notices)


def _parts(message: EmailMessage) -> Iterator[EmailMessage]:
    """Yield every part without parts of its own; of a text in several forms, the simplest that says something."""
    if not message.get_content_type().startswith("multipart/") or not message.is_multipart():
        yield message
        return
    forms = [list(_parts(part)) for part in message.iter_parts() if isinstance(part, EmailMessage)]
    is_choice = message.get_content_subtype() == "alternative"
    best = min(filter(_says_something, forms), key=_rank, default=[])
    for parts in forms:
        yield from (part for part in parts if not is_choice or parts is best or not _is_other_body(part))


def _says_something(parts: Sequence[EmailMessage]) -> bool:
    return any(_is_body(part) and _data(part).strip() for part in parts)


def _rank(parts: Sequence[EmailMessage]) -> int:
    return min(_WRITTEN.index(part.get_content_type()) for part in parts if _is_body(part))


def _is_other_body(part: EmailMessage) -> bool:
    return part.get_content_type() in _OTHER_BODIES and not part.is_attachment() and not part.get_filename()


def _is_body(part: EmailMessage) -> bool:
    return part.get_content_type() in _WRITTEN and not part.is_attachment() and not part.get_filename()


def _body(part: EmailMessage, pictures: Pictures) -> list[Section]:
    if part.get_content_type() == "text/html":
        return [section._replace(place="") for section in html(_data(part), pictures).sections]
    return [Section(decoded(_data(part), part.get_content_charset() or ""))]


def _attachment(part: EmailMessage, name: str, pictures: Pictures, attached: Attached) -> Content | None:
    kind, path, data = part.get_content_type(), PurePosixPath(name), _data(part)
    with suppress(DocumentError):
        if kind == "message/rfc822" and isinstance(inner := part.get_content(), EmailMessage):
            return mail(inner.as_bytes(), pictures, attached)
        if path.suffix.lower() == ".eml":
            return mail(data, pictures, attached)
        if _SUFFIXES.get(kind) == _CALENDAR:
            return attached(f"event{_CALENDAR}", decoded(data, part.get_content_charset() or "").encode(), pictures)
        return attached(path.name if path.suffix else f"{path.name or 'part'}{_SUFFIXES.get(kind, '')}", data, pictures)
    return None


def _data(part: EmailMessage) -> bytes:
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""

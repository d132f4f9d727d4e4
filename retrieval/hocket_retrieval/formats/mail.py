"""Mails with what is attached to them, and boxes of mails."""

from __future__ import annotations

import re
from collections.abc import Callable
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import EmailPolicy
from pathlib import PurePosixPath

from .content import Content, Section, below
from .embedded import Pictures
from .encodings import decoded
from .html import html

MAX_HEADER_CHARS = 8192  # two hundred addresses; longer ones are parsed in quadratic time
_FIELDS = ("From", "To", "Cc", "Date", "Subject")
_BORDER = re.compile(rb"(?m)^From \S+ +\w{3} \w{3} +\d.*\r?\n")  # a sender and a day: else it is a sentence
Attached = Callable[[str, bytes, Pictures], Content | None]  # of a name and bytes; None where nobody reads them


class _Bounded(EmailPolicy):
    """Of a longer header the beginning is read."""

    def header_fetch_parse(self, name: str, value: str) -> str:
        """As the class above says."""
        header: str = super().header_fetch_parse(name, value[:MAX_HEADER_CHARS])
        return header


_POLICY = _Bounded()


def mail(data: bytes, pictures: Pictures, attached: Attached) -> Content:
    """One mail: its fields, its text and what is attached. Raises DocumentError."""
    message = message_from_bytes(data, policy=_POLICY)
    assert isinstance(message, EmailMessage)
    fields = [f"{name}: {message[name]}" for name in _FIELDS if message[name]]
    sections, unread, notices = [Section("\n".join(fields)), *_body(message, pictures)], list[str](), list[str]()
    for each in _attachments(message):
        name = each.get_filename() or "attachment"
        found = _attachment(each, name, pictures, attached)
        if found is None:
            unread.append(name)
            continue
        notices += [f"{name}: {found.notice}"] if found.notice else []
        if any(section.text for section in found.sections):
            place = f"attachment {name}"
            sections += [Section(f"Attachment {name}:", place), *below(place, found.sections)]
    if unread:
        notices.insert(0, f"attachments that are not read: {', '.join(unread)}")
    return Content(str(message["Subject"] or ""), sections, "; ".join(notices))


def page(data: bytes, pictures: Pictures) -> Content:
    """A web page as browsers keep it in one file, with its pictures (MHTML). Raises DocumentError."""
    message = message_from_bytes(data, policy=_POLICY)
    assert isinstance(message, EmailMessage)
    shown = next((part for part in message.walk() if part.get_content_type() == "text/html"), None)
    body = shown.get_payload(decode=True) if shown is not None else None
    title, sections, _ = html(body, pictures) if isinstance(body, bytes) else Content("", [])
    drawn = [part.get_payload(decode=True) for part in message.walk() if part.get_content_maintype() == "image"]
    return Content(title, [*sections, *(pictures.section(each) for each in drawn if isinstance(each, bytes))])


def box(data: bytes, pictures: Pictures, attached: Attached) -> Content:
    """A file of mails, one behind the other. Raises DocumentError."""
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


def _attachments(message: EmailMessage) -> list[EmailMessage]:
    """What is attached, and the pictures that stand in the text."""
    shown = message.get_body(preferencelist=("related",))
    inner = shown.iter_attachments() if shown is not None and shown is not message else ()
    pictures = [each for each in inner if each.get_content_maintype() == "image"]
    return [each for each in (*message.iter_attachments(), *pictures) if isinstance(each, EmailMessage)]


def _body(message: EmailMessage, pictures: Pictures) -> list[Section]:
    part = message.get_body(preferencelist=("plain", "html"))
    data = part.get_payload(decode=True) if part is not None else None
    if part is None or not isinstance(data, bytes):
        return []
    if part.get_content_type() == "text/html":
        return [section._replace(place="") for section in html(data, pictures).sections]
    return [Section(decoded(data, part.get_content_charset() or ""))]


def _attachment(part: EmailMessage, name: str, pictures: Pictures, attached: Attached) -> Content | None:
    if part.get_content_type() == "message/rfc822":
        inner = part.get_content()
        return mail(inner.as_bytes(), pictures, attached) if isinstance(inner, EmailMessage) else None
    data = part.get_payload(decode=True)
    return attached(PurePosixPath(name).name, data, pictures) if isinstance(data, bytes) else None

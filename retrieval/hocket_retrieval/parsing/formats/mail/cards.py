"""Calendars (RFC 5545) and contacts (RFC 6350, and vCard 2.1): a section for each event, task and person."""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..content import Content, Section
from ..encodings import decoded
from ..headings import MAX_HEADING

_FOLD = re.compile(r"\r?\n[ \t]")
_SOFT = re.compile(r"=\r?\n")  # how vCard 2.1 goes on in a next line
_LINE = re.compile(r"(?:[\w-]+\.)?([\w-]+)((?:;(?:[^\":;]|\"[^\"]*\")*)*):(.*)")
_PARAMETER = re.compile(r";([\w-]+)(?:=(\"[^\"]*\"|[^;]*))?")
_ESCAPE = re.compile(r"\\([nN,;:\\])")
_TIME = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:T(\d\d):?(\d\d)(?::?\d\d)?(Z?))?")
_KINDS = {"VEVENT": "event", "VTODO": "task", "VJOURNAL": "entry", "VCARD": "contact", "VFREEBUSY": "times"}
_NAMES = {
    "DTSTART": "Start", "DTEND": "End", "DUE": "Due", "RRULE": "Repeats", "LOCATION": "Place", "ORGANIZER": "Organizer",
    "ATTENDEE": "With", "STATUS": "Status", "CATEGORIES": "Categories", "URL": "URL", "NICKNAME": "Nickname",
    "ORG": "Organisation", "TITLE": "Title", "ROLE": "Role", "TEL": "Telephone", "EMAIL": "E-mail", "ADR": "Address",
    "BDAY": "Birthday", "ANNIVERSARY": "Anniversary", "DESCRIPTION": "Description", "NOTE": "Note",
    "DURATION": "Duration", "EXDATE": "Except", "RDATE": "Also", "RECURRENCE-ID": "In place of",
    "COMPLETED": "Completed", "COMMENT": "Comment", "CONTACT": "Contact", "CONFERENCE": "Conference",
    "FREEBUSY": "Busy", "ATTACH": "Attached", "METHOD": "Message",
}  # fmt: skip
_METHODS = {"REQUEST": "invitation", "CANCEL": "cancelled", "COUNTER": "counter-proposal", "ADD": "further dates"}
_ANSWERS = {"ACCEPTED": "accepted", "DECLINED": "declined", "TENTATIVE": "tentative", "DELEGATED": "delegated"}
_TIMES = frozenset(("DTSTART", "DTEND", "DUE", "BDAY", "ANNIVERSARY", "RECURRENCE-ID", "COMPLETED", "EXDATE", "RDATE"))
_PEOPLE = frozenset(("ORGANIZER", "ATTENDEE"))
_LISTS = frozenset(("ADR", "ORG", "CATEGORIES"))
_USES = frozenset(("HOME", "WORK", "CELL", "FAX"))
_CALENDAR_NAMES = frozenset(("X-WR-CALNAME", "NAME"))


class _Field(NamedTuple):
    name: str
    parameters: dict[str, str]
    value: str


_ENDS = [_Field("END", {}, "")] * 3  # of an alarm, its event, and the calendar, in a file that is cut off


def cards(data: bytes) -> Content:
    """Read all events, tasks and contacts, without alarms, time zones and photos; one that is cut off, too."""
    title, sections, open_parts, fields, method = "", list[Section](), list[str](), list[_Field](), list[_Field]()
    for field in [*_fields(decoded(data)), *_ENDS]:
        if field.name == "BEGIN":
            open_parts.append(field.value.upper())
            fields = [*method] if open_parts[-1] in _KINDS else fields
        elif field.name == "END":
            kind = _KINDS.get(open_parts.pop() if open_parts else "")
            if kind:
                sections.append(_section(kind, len(sections) + 1, fields))
        elif open_parts and open_parts[-1] in _KINDS:
            fields.append(field)
        elif len(open_parts) == 1:
            title = field.value if field.name in _CALENDAR_NAMES else title
            method = [field] if field.name == "METHOD" and field.value.upper() != "PUBLISH" else method
    return Content(title, sections)


def _fields(text: str) -> Iterator[_Field]:
    if "QUOTED-PRINTABLE" in text.upper():
        text = _SOFT.sub("", text)
    for line in _FOLD.sub("", text).splitlines():
        found = _LINE.fullmatch(line)
        if found:
            parameters = {name.upper(): value.strip('"') for name, value in _PARAMETER.findall(found[2])}
            yield _Field(found[1].upper(), parameters, _value(parameters, found[3]))


def _value(parameters: dict[str, str], value: str) -> str:
    if "QUOTED-PRINTABLE" in (parameters.get("ENCODING", "").upper(), *parameters):
        return decoded(quopri.decodestring(value.encode()), parameters.get("CHARSET", ""))
    return value.strip()


def _section(kind: str, number: int, fields: Sequence[_Field]) -> Section:
    known = {field.name: _plain(field.value) for field in reversed(fields)}
    name = known.get("SUMMARY") or known.get("FN") or " ".join(reversed(known.get("N", "").split(";")[:2])).strip()
    told = [each for each in fields if each.name in _NAMES and each.value and "BINARY" not in each.parameters.values()]
    lines = [f"{_NAMES[each.name]}{_use(each)}: {_text(each)}" for each in told]
    short = " ".join(name.replace('"', "'").split())[:MAX_HEADING]
    place = f'{kind} "{short}"' if short else f"{kind} {number}"
    return Section("\n".join(filter(None, [name, *lines])), place)


def _text(field: _Field) -> str:
    if field.name in _TIMES:
        zone = field.parameters.get("TZID", "")
        return ", ".join(map(_time, field.value.split(","))) + (f" ({zone})" if zone else "")
    if field.name in _PEOPLE:
        return _person(field)
    if field.name == "METHOD":
        return _METHODS.get(field.value.upper(), field.value.lower())
    if field.name == "RRULE":
        return field.value.lower().removeprefix("freq=").replace(";", ", ").replace("=", " ")
    if field.name in _LISTS:
        return ", ".join(part for each in re.split(r"(?<!\\)[;,]", field.value) if (part := _plain(each)))
    return _plain(re.sub("(?i)^tel:", "", field.value))


def _person(field: _Field) -> str:
    """Return a name and address, and the answer to an invitation where there is one."""
    address, name = re.sub("(?i)^mailto:", "", field.value), field.parameters.get("CN", "")
    answer = _ANSWERS.get(field.parameters.get("PARTSTAT", "").upper(), "")
    return (f"{name} <{address}>" if name else address) + (f" ({answer})" if answer else "")


def _use(field: _Field) -> str:
    """Return the use of a field, such as " (work)" of a telephone; empty where none is named."""
    named = {*field.parameters.get("TYPE", "").upper().split(","), *field.parameters} & _USES
    return f" ({', '.join(sorted(named)).lower()})" if named else ""


def _time(value: str) -> str:
    found = _TIME.match(value)
    if not found:
        return value
    year, month, day, hour, minute, is_universal = found.groups()
    return f"{year}-{month}-{day}" + (f" {hour}:{minute}" if hour else "") + (" UTC" if is_universal else "")


def _plain(value: str) -> str:
    return _ESCAPE.sub(lambda sign: "\n" if sign[1] in "nN" else sign[1], value).strip()

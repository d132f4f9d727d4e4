"""Laws of mails: every part is read or named, in whatever order and form programs send them."""

from __future__ import annotations

import struct
from email.message import EmailMessage, MIMEPart
from email.policy import SMTP
from pathlib import Path

import pytest
from compound_files import Tree, compound, outlook

from hocket_retrieval.parsing.readers import PlainText, read

EVENT = """BEGIN:VCALENDAR
VERSION:2.0
METHOD:{method}
BEGIN:VEVENT
UID:q4
SUMMARY:{name}
DTSTART;TZID=Europe/Oslo:20270311T173000
LOCATION:Boathouse 2
END:VEVENT
END:VCALENDAR
"""


def event(name: str = "Keel lift", method: str = "REQUEST") -> str:
    return EVENT.format(name=name, method=method).replace("\n", "\r\n")


def calendar(text: str, charset: str = "utf-8", name: str = "", encoding: str = "base64") -> MIMEPart:
    part = MIMEPart()
    part.set_content(text.encode(charset), "text", "calendar", cte=encoding, params={"charset": charset})
    if name:
        part.add_header("Content-Disposition", "attachment", filename=name)
    return part


def written(text: str, kind: str = "plain") -> MIMEPart:
    part = MIMEPart()
    part.set_content(text, subtype=kind)
    return part


def several(kind: str, *parts: MIMEPart) -> MIMEPart:
    whole = MIMEPart()
    whole["Content-Type"] = f"multipart/{kind}"
    for part in parts:
        whole.attach(part)
    return whole


def mail(part: MIMEPart) -> PlainText:
    message = EmailMessage(policy=SMTP)
    message["Subject"] = "Spring"
    for name, value in part.items():
        message[name] = value
    message.set_payload(part.get_payload())
    return read(Path("a.eml"), message.as_bytes())


PLAIN, PAGE = written("See you there."), written("<p>See you <b>there</b>.", "html")


@pytest.mark.parametrize("encoding", ["base64", "quoted-printable"])
@pytest.mark.parametrize("charset", ["utf-8", "iso-8859-15"])
@pytest.mark.parametrize(
    "place", ["alone", "in a mail", "beside a text", "beside a page", "in a page's parts", "named oddly", "octets"]
)
def test_an_invitation_is_read_wherever_it_stands(place: str, charset: str, encoding: str) -> None:
    """With its name, its day and its place. Events were tested as files alone, and attached ones by their suffix."""
    part = calendar(event("Kiel überholen"), charset, encoding=encoding)
    named = calendar(event("Kiel überholen"), charset, "meeting", encoding)
    octets = MIMEPart()
    octets.set_content(event("Kiel überholen").encode(), "application", "ics")
    forwarded = EmailMessage(policy=SMTP)
    forwarded["Subject"], forwarded["Content-Type"] = "Fwd", "multipart/alternative"
    forwarded.set_payload([PLAIN, part])
    inner = MIMEPart()
    inner.set_content(forwarded)
    found = mail(
        {
            "alone": part,
            "in a mail": several("mixed", PLAIN, inner),
            "beside a text": several("alternative", PLAIN, part),
            "beside a page": several("alternative", PAGE, part),
            "in a page's parts": several("mixed", several("alternative", PLAIN, several("related", PAGE, part)), PLAIN),
            "named oddly": several("mixed", PLAIN, named),
            "octets": several("mixed", PLAIN, octets),
        }[place]
    )
    assert found.notice == ""
    for said in ("Kiel überholen", "2027-03-11 17:30 (Europe/Oslo)", "Boathouse 2", "Message: invitation"):
        assert found.text.count(said) == 1


def test_an_event_that_is_sent_twice_is_told_once() -> None:
    """As many calendars do, for programs that show one of them; another event is another one."""
    twice = several("mixed", several("alternative", PLAIN, PAGE, calendar(event())), calendar(event(), name="a.ics"))
    assert mail(twice).text.count("Keel lift") == 1
    other = several("alternative", PLAIN, calendar(event()), calendar(event("Rigging")))
    assert "Keel lift" in mail(other).text
    assert "Rigging" in mail(other).text


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (event(method="CANCEL"), "Message: cancelled"),
        (event(method="REPLY").replace("UID:q4", "ATTENDEE;PARTSTAT=DECLINED;CN=Bo:mailto:bo@example.org"),
         "Message: reply\nWith: Bo <bo@example.org> (declined)"),
        (event().replace("UID:q4", "RRULE:FREQ=WEEKLY\nEXDATE:20270318T173000Z,20270325T173000Z"),
         "Repeats: weekly\nExcept: 2027-03-18 17:30 UTC, 2027-03-25 17:30 UTC"),
        (event().replace("UID:q4", "RECURRENCE-ID;VALUE=DATE:20270310\nDURATION:PT2H"),
         "In place of: 2027-03-10\nDuration: PT2H"),
        (event().replace("VEVENT", "VTODO").replace("DTSTART;TZID=Europe/Oslo", "DUE"), "Due: 2027-03-11 17:30"),
        (event().replace("END:VEVENT\r\nEND:VCALENDAR\r\n", ""), "Place: Boathouse 2"),
        (event(method="PUBLISH").replace("UID:q4", "ATTACH;ENCODING=BASE64;VALUE=BINARY:AAAA"), "Keel lift\nStart"),
    ],
)  # fmt: skip
def test_what_becomes_of_an_event_is_told_with_it(told: str, said: str) -> None:
    """That it is off, moved, answered or repeated; a reader who hears of the day alone goes there."""
    found = mail(several("alternative", PLAIN, calendar(told)))
    assert said in found.text
    assert read(Path("a.ics"), told.encode()).text in found.text


@pytest.mark.parametrize(
    ("part", "said", "notice"),
    [
        (several("alternative", written(" \n"), PAGE), ["See you there."], ""),
        (several("alternative", several("mixed", PLAIN, written("Signed.")), PAGE), ["See you there.", "Signed."], ""),
        (several("mixed", PLAIN, several("mixed", written("Inner."), PAGE)), ["Inner."], ""),
        (several("mixed", PLAIN, written("A footer.")), ["See you there.", "A footer."], ""),
        (several("alternative", PLAIN, calendar("nothing")), ["See you there."], "not read: text/calendar"),
        (several("alternative", PAGE, PLAIN), ["See you there."], ""),
    ],
)
def test_every_part_of_a_mail_is_read_once_or_named(part: MIMEPart, said: list[str], notice: str) -> None:
    """However parts lie in parts. Of forms of one text one is read; only mails of one text were tested."""
    found = mail(part)
    assert all(found.text.count(each) == 1 for each in said)
    assert notice in found.notice
    assert bool(notice) == bool(found.notice)


def test_a_mail_that_is_a_file_in_a_mail_is_read() -> None:
    inner = EmailMessage(policy=SMTP)
    inner["Subject"] = "Inner"
    inner.set_content("Seven keys.")
    part = MIMEPart()
    part.set_content(inner.as_bytes(), "application", "octet-stream", filename="first.eml")
    assert "Seven keys." in mail(several("mixed", PLAIN, part)).text


def test_a_meeting_of_outlook_says_when_and_where_and_what_is_attached_to_it() -> None:
    """A mail in a mail, too. Its times stand in properties that are numbered anew in each file."""
    at = round((1_795_000_000 + 11_644_473_600) * 1e7)
    names = b"".join(struct.pack("<IHH", *each) for each in [(0x820D, 2, 5), (0x8205, 2, 6), (0x8208, 2, 9)])
    rows = struct.pack("<IIQ", 0x80050040, 6, at) + struct.pack("<IIQ", 0x80060040, 6, (1 << 63) - 1)
    inner: Tree = {"__substg1.0_0037001F": "Old".encode("utf-16-le"), "__substg1.0_1000001E": b"Seven keys."}
    tree: Tree = {
        "__nameid_version1.0": {"__substg1.0_00030102": names},
        "__properties_version1.0": bytes(32) + rows,
        "__substg1.0_1000001F": "Come.".encode("utf-16-le"),
        "__substg1.0_8009001F": "Slip 4".encode("utf-16-le"),
        "__attach_version1.0_#00000000": {
            "__substg1.0_3701000D": inner, "__substg1.0_3001001F": "Old".encode("utf-16-le"),
        },
    }  # fmt: skip
    found = read(Path("a.msg"), compound(tree))
    assert found.text.startswith("Come.\n\nStart: 2026-11-18 11:06 UTC\nPlace: Slip 4")
    assert "Subject: Old\n\nSeven keys." in found.text
    assert found.notice == ""
    attached = read(Path("a.msg"), outlook("Spring", "Come.", {"invite.ics": event().encode()}))
    assert "Place: Boathouse 2" in attached.text

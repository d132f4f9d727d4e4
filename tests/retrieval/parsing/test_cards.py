"""Laws of calendars, contacts, subtitles and mails of Outlook: each says what the program that wrote it shows."""

from __future__ import annotations

import struct
from email.message import EmailMessage
from pathlib import Path

from compound_files import compound, outlook
from pictures import drawn, saved

from hocket_retrieval.parsing.formats.pictures.recognition import RECOGNISED
from hocket_retrieval.parsing.outline import borders, place_of
from hocket_retrieval.parsing.readers import read
from hocket_retrieval.text.chunking import spans


def passages(name: str, data: bytes) -> list[tuple[str, str]]:
    """(place, text) of each passage."""
    found = read(Path(name), data)
    cut = spans(found.text, 64, borders(found.outline))
    return [(place_of(found.outline, start, end), found.text[start:end]) for start, end in cut]


CALENDAR = """BEGIN:VCALENDAR
X-WR-CALNAME:Family
BEGIN:VTIMEZONE
TZID:Europe/Stockholm
BEGIN:STANDARD
DTSTART:19701025T030000
END:STANDARD
END:VTIMEZONE
BEGIN:VEVENT
DTSTART;TZID=Europe/Stockholm:20261127T140000
SUMMARY:Dentist\\, with
  "Anna"
RRULE:FREQ=WEEKLY;BYDAY=MO
ATTENDEE;CN="Ben: L";ROLE=X:mailto:ben@example.org
DESCRIPTION:Bring\\nthe card.
BEGIN:VALARM
DESCRIPTION:Alarm
END:VALARM
END:VEVENT
BEGIN:VTODO
DUE;VALUE=DATE:20261201
SUMMARY:Tax
END:VTODO
END:VCALENDAR
"""


def test_an_event_is_a_passage_with_its_day_and_without_its_alarm() -> None:
    for text in (CALENDAR, CALENDAR.replace("\n", "\r\n")):
        assert read(Path("a.ics"), text.encode()).title == "Family"
        assert passages("a.ics", text.encode()) == [
            (
                "event \"Dentist, with 'Anna'\"",
                'Dentist, with "Anna"\nStart: 2026-11-27 14:00 (Europe/Stockholm)\nRepeats: weekly, byday mo\n'
                "With: Ben: L <ben@example.org>\nDescription: Bring\nthe card.",
            ),
            ('task "Tax"', "Tax\nDue: 2026-12-01"),
        ]


def test_a_contact_is_a_passage() -> None:
    """Also one of vCard 2.1, whose letters are written in their codes and over several lines."""
    cards = (
        "BEGIN:VCARD\nFN:Ada Merrow\nTEL;TYPE=CELL,VOICE:+46 1\nitem1.EMAIL:ada@example.org\n"
        "ADR;TYPE=HOME:;;Main St 5;Ystad;;271;Sweden\nPHOTO;ENCODING=b:AAAA\n AAAA\nEND:VCARD\n"
        "BEGIN:VCARD\nN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;J=C3=\n=B6rg\nTEL;HOME:030 1\nEND:VCARD\n"
    )
    assert passages("a.vcf", cards.encode()) == [
        (
            'contact "Ada Merrow"',
            "Ada Merrow\nTelephone (cell): +46 1\nE-mail: ada@example.org\n"
            "Address (home): Main St 5, Ystad, 271, Sweden",
        ),
        ('contact "Jörg Müller"', "Jörg Müller\nTelephone (home): 030 1"),
    ]


def test_subtitles_are_what_is_said_at_its_time() -> None:
    """Without numbers, marks and notes; a line that is shown twice in a row is said once."""
    film = (
        "WEBVTT\r\n\r\nNOTE not said\r\n\r\n1\r\n00:01.000 --> 00:02.500 align:start\r\n"
        "<v Ada>Hello &amp; <i>you</i>.\r\n\r\n"
        "2\r\n00:02.500 --> 00:04.000\r\nHello & you.\r\n\r\n01:00:31.000 --> 01:00:32.000\r\nTwo\r\nlines.\r\n"
    )
    found = read(Path("a.vtt"), film.encode())
    assert (found.text, found.outline) == ("Hello & you.\n\nTwo lines.", ((0, "0:00:00"), (14, "1:00:30")))


def test_a_mail_of_outlook_says_what_another_mail_says() -> None:
    found = read(
        Path("a.msg"), outlook("Keys", "Two keys.\r\n\r\nThey hang here.", {"a.txt": b"Seven.", "b.zip": b"PK"})
    )
    assert (found.title, found.notice) == ("Keys", "attachments that are not read: b.zip")
    assert found.text.startswith(
        "From: Anna <anna@example.org>\nTo: Ben\nSubject: Keys\n\nTwo keys.\n\nThey hang here."
    )
    assert found.outline[-1][1] == "attachment a.txt"


def test_a_mail_of_outlook_may_be_a_page_and_has_a_day() -> None:
    sent = round((1_795_000_000 + 11_644_473_600) * 1e7)
    tree = {
        "__substg1.0_10130102": b"<p>Two <b>keys</b>.",
        "__substg1.0_0037001E": "Schlüssel".encode("cp1252"),
        "__properties_version1.0": bytes(32) + struct.pack("<IIQ", 0x00390040, 6, sent),
    }
    found = read(Path("a.msg"), compound(tree))
    assert found.text == "Date: Wed, 18 Nov 2026 11:06:40 +0000\nSubject: Schlüssel\n\nTwo keys."


def test_a_page_in_one_file_has_its_pictures() -> None:
    message = EmailMessage()
    message.set_content('<title>T</title><h1>Lease</h1><img src="cid:a">Two keys.', subtype="html")
    message.add_related(saved("PNG", drawn("Seen.")), "image", "png", cid="<a>")
    found = read(Path("a.mhtml"), message.as_bytes(), lambda _: "Seen.")
    assert (found.title, found.text.split()) == ("T", ["Lease", "Two", "keys.", "Seen."])
    assert found.notice == f"1 picture in it is {RECOGNISED}"

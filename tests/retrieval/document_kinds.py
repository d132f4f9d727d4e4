"""Small files of fifty kinds and more, each with a sentence to find and the place where it stands; and broken ones.

Every file says something else, so that a question finds one file alone.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from email.message import EmailMessage
from typing import NamedTuple

import office_files as office
from compound_files import old_workbook, outlook


class Made(NamedTuple):
    """A file: its name and bytes, a sentence in it, a question that shares no telling word with it, and its place."""

    name: str
    data: bytes
    said: str
    asked: str
    place: str


FACTS = [  # what a file says, and a question about that in other words
    ("The veterinarian vaccinated the kitten on Thursday.", "When did the animal doctor give the young cat its shot?"),
    ("The plumber repaired a leaking faucet upstairs.", "Who fixed the dripping tap?"),
    ("Her airplane to Lisbon departs before sunrise.", "At what time of day is the flight to Portugal?"),
    ("The committee postponed the wedding until autumn.", "Was the marriage ceremony delayed?"),
    ("Our physician prescribed pills against migraine.", "Which medicine did the doctor order for headaches?"),
    ("Grandfather planted apple trees behind the barn.", "What grows in the orchard of my ancestor?"),
    ("The automobile needs winter tyres by November.", "When must the car get snow wheels?"),
    ("Burglars stole the silver necklace from a drawer.", "What jewellery did the thieves take?"),
    ("The orchestra rehearses Beethoven every Monday.", "When do the musicians practise the symphony?"),
    ("Firefighters extinguished the blaze in the bakery.", "Who put out the fire at the bread shop?"),
    ("The toddler is allergic to peanuts and almonds.", "Which nuts make the small child ill?"),
    ("A locksmith duplicated the key of the cellar.", "Who made a copy for the basement door?"),
    ("The landlord raised the rent by forty euros.", "How much more does the flat's owner want each month?"),
    ("Fishermen caught enormous salmon near the estuary.", "What was the haul at the river mouth?"),
    ("The electrician installed solar panels on the roof.", "Who put photovoltaic modules on top of the house?"),
    ("My colleague speaks Portuguese and Swedish fluently.", "Which languages does the coworker know?"),
    ("The museum displays a mummy from ancient Egypt.", "Where can one see an embalmed pharaoh?"),
    ("Heavy snowfall closed the mountain pass for days.", "Why could nobody drive over the alpine road?"),
    ("The carpenter sanded the oak table twice.", "Who smoothed the wooden furniture?"),
    ("Bees produce honey in hives beside the meadow.", "Where do the insects make something sweet?"),
    ("The teacher graded mathematics exams overnight.", "Who marked the algebra tests?"),
    ("Volcanic ash grounded planes across Iceland.", "Why did no aircraft fly in the north Atlantic?"),
    ("The sailor repaired torn canvas with thick thread.", "How was the ripped sail mended?"),
    ("Doctors removed his appendix in an emergency.", "Which organ was taken out in surgery?"),
    ("The goldfish survived the freezing pond.", "Did the pet in the icy water live?"),
    ("Parliament abolished the tax on bicycles.", "Which levy did lawmakers end?"),
    ("The chef seasons lamb with rosemary and garlic.", "Which herbs does the cook use for meat?"),
    ("Students occupied the library during finals.", "Where did the pupils sit before their exams?"),
    ("The astronomer discovered a comet beyond Jupiter.", "Who found an icy body in space?"),
    ("Moths ruined the woollen coat in the wardrobe.", "Which insects damaged the clothing?"),
    ("The lawyer contested the inheritance in court.", "Which attorney disputed the will before a judge?"),
    ("A hedgehog hibernates under the compost heap.", "Which spiny animal sleeps through winter in the garden?"),
    ("The ballerina sprained her ankle on stage.", "How was the dancer injured?"),
    ("Customs officers confiscated smuggled cigarettes.", "What tobacco did border guards seize?"),
    ("The pharmacist recommended syrup against coughing.", "What helps with a sore throat, by the chemist?"),
    ("Pirates buried the treasure on a coral island.", "Where did the buccaneers hide their gold?"),
    ("The elevator is stuck between the fourth and fifth floor.", "Why does the lift not move?"),
    ("Our dentist extracted two wisdom teeth in March.", "When were the molars pulled?"),
    ("The glacier retreats by eleven metres every year.", "How fast does the ice in the mountains shrink?"),
    ("The detective interrogated the butler until midnight.", "Which servant did the investigator question?"),
    ("Termites destroyed the beams of the chapel.", "What insects ate the wood of the church?"),
    ("The jockey fell off a brown horse at the fence.", "Which rider was thrown from an animal?"),
    ("The submarine surfaced near the Norwegian coast.", "Where did the underwater vessel emerge?"),
    ("My aunt knitted mittens of blue wool.", "What gloves did a relative make from yarn?"),
    ("The beekeeper wears a veil over his face.", "How does a man with hives protect his head?"),
    ("The referee expelled the goalkeeper for a foul.", "Which football player was sent off?"),
    ("Archaeologists unearthed Roman coins in a vineyard.", "What ancient money was dug up?"),
    ("The nurse measured a fever of forty degrees.", "How high was the patient's temperature?"),
    ("A squirrel gnawed through the telephone cable.", "Which rodent cut the phone line?"),
    ("The tailor shortened the trousers by three inches.", "Who altered the pants?"),
    ("The lighthouse keeper polishes the lamp at dusk.", "Who cleans the beacon by the sea in the evening?"),
    ("The accountant filed the tax return too late.", "Who missed the deadline for the revenue office?"),
    ("Monks brew dark beer in the monastery.", "What ale do the brothers of the abbey make?"),
    ("The lioness nursed three cubs in the zoo.", "How many babies does the big cat have?"),
    ("An earthquake cracked the dam above the village.", "What did the tremor do to the reservoir's wall?"),
    ("The novelist burned the manuscript of her sequel.", "Which author destroyed a book in the flames?"),
    ("The gardener prunes roses in February.", "In which month are the flowers cut back?"),
    (
        "Pensioners ride the tram for free on Sundays.",
        "On which day do elderly people use the streetcar without paying?",
    ),
    ("The chimney sweep found a stork's nest.", "What bird lives on top of the smokestack?"),
    ("The cellist lost her bow on the train.", "What did the string player leave in the railway carriage?"),
    ("The shepherd sheared ninety sheep before noon.", "Who cut the wool of the flock in the morning?"),
    ("Hikers found a rusty bicycle beneath the waterfall.", "Which old bike did the walkers discover?"),
    ("The optician ordered thicker lenses for my spectacles.", "Who procures stronger glasses?"),
    ("Her nephew collects stamps from Mongolia.", "What postal items does a young relative gather?"),
    ("The quarry delivered marble for the staircase.", "Where does the stone of the steps come from?"),
    ("A badger dug tunnels beneath the tennis court.", "Which animal burrowed under the sports ground?"),
    ("The ambassador declined the invitation to dinner.", "Which diplomat refused the evening meal?"),
    ("Frost cracked the fountain in the courtyard.", "What did the cold do to the water feature in the yard?"),
    ("The tenor forgot his lines during the premiere.", "Which singer missed his text on opening night?"),
    ("Lightning struck the steeple of the village church.", "What hit the spire in the storm?"),
    ("The dog chewed the left slipper to pieces.", "Which shoe did the puppy ruin?"),
    ("Our choir performs Handel on Saturday evening.", "When do the singers give their concert?"),
    ("The cashier returned a forged banknote to the police.", "Who handed in counterfeit money?"),
    ("Seagulls stole sandwiches from tourists on the pier.", "Which birds took the visitors' lunch?"),
    ("The surveyor measured the boundary of the vineyard.", "Who determined the border of the wine estate?"),
    ("The midwife arrived by sledge in the blizzard.", "How did the birth attendant travel through the snowstorm?"),
    ("A burst pipe flooded the archive of the town hall.", "Why are the municipal records wet?"),
    ("The falconer trains a hawk on the heath.", "Who tames a raptor on the moor?"),
    ("The typesetter misspelled the mayor's surname.", "Whose family name was printed wrongly?"),
    ("Beavers dammed the stream behind the sawmill.", "Which animals blocked the creek?"),
    ("The locksmith lost his spectacles in the fountain.", "Whose glasses fell into the water?"),
]
BEFORE = "Nothing else of importance stands in this part, and whoever reads on will learn no more from it than before."
Maker = Callable[[str], tuple[bytes, str]]


def _markdown(said: str) -> tuple[bytes, str]:
    return f"# Handbook\n\n{BEFORE}\n\n## Details\n\n{said}\n".encode(), "§ Handbook › Details"


def _page(said: str) -> tuple[bytes, str]:
    body = f"<h1>Handbook</h1><p>{BEFORE}<h2>Details</h2><p>{said}"
    return f"<title>T</title><body>{body}</body>".encode(), "§ Handbook › Details"


def _org(said: str) -> tuple[bytes, str]:
    return f"* Handbook\n\n{BEFORE}\n\n** Details\n\n{said}\n".encode(), "§ Handbook › Details"


def _rst(said: str) -> tuple[bytes, str]:
    text = f"Handbook\n========\n\n{BEFORE}\n\nDetails\n-------\n\n{said}\n"
    return text.encode(), "§ Handbook › Details"


def _tex(said: str) -> tuple[bytes, str]:
    body = f"\\section{{Handbook}}\n\n{BEFORE}\n\n\\subsection{{Details}}\n\n{said}"
    text = f"\\documentclass{{article}}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"
    return text.encode(), "§ Handbook › Details"


def _rtf(said: str) -> tuple[bytes, str]:
    styles = r"{\stylesheet{\s1 heading 1;}{\s2 heading 2;}}"
    parts = (
        rf"\pard\s1\outlinelevel0 Handbook\par\pard {BEFORE}\par",
        rf"\pard\s2\outlinelevel1 Details\par\pard {said}\par",
    )
    return f"{{\\rtf1\\ansi{styles}{''.join(parts)}}}".encode(), "§ Handbook › Details"


def _docx(said: str) -> tuple[bytes, str]:
    body = office.paragraph("Handbook", "Heading1") + office.paragraph(BEFORE) + office.paragraph("", page=True)
    body += office.paragraph("Details", "Heading2") + office.paragraph(f"{said}")
    return office.docx(body), "p. 2, § Handbook › Details"


def _odt(said: str) -> tuple[bytes, str]:
    headings = [("Handbook", 1, BEFORE), ("Details", 2, f"{said}")]
    body = "".join(
        f'<text:h text:outline-level="{level}">{name}</text:h><text:p>{text}</text:p>' for name, level, text in headings
    )
    return office.opened("text", "text", body), "§ Handbook › Details"


def _pptx(said: str) -> tuple[bytes, str]:
    return office.slides([("Handbook", BEFORE), ("", ""), ("Details", said)]), "slide 3"


def _xlsx(said: str) -> tuple[bytes, str]:
    return office.workbook(
        {"Names": [["who"], [BEFORE]], "Details": [["what", "who"], [said, "Ada"]]}
    ), "sheet Details, row 2"


def _ods(said: str) -> tuple[bytes, str]:
    def row(*values: str) -> str:
        cells = (
            f'<table:table-cell office:value-type="string"><text:p>{each}</text:p></table:table-cell>'
            for each in values
        )
        return f"<table:table-row>{''.join(cells)}</table:table-row>"

    sheets = (("Names", row("who") + row(BEFORE)), ("Details", row("what", "who") + row(said, "Ada")))
    body = "".join(f'<table:table table:name="{name}">{rows}</table:table>' for name, rows in sheets)
    return office.opened("spreadsheet", "spreadsheet", body), "sheet Details, row 2"


def _odp(said: str) -> tuple[bytes, str]:
    return office.open_slides([BEFORE, "Nothing.", said]), "slide 3"


def _flat(maker: Maker) -> Maker:
    """An OpenDocument as one XML."""

    def made(said: str) -> tuple[bytes, str]:
        data, place = maker(said)
        return office.flat(data), place

    return made


def _xls(said: str) -> tuple[bytes, str]:
    return old_workbook("Details", [["what", "who"], ["Nothing.", "Ben"], [said, "Ada"]], 3), "sheet Details, row 6"


def _xlsb(said: str) -> tuple[bytes, str]:
    rows = [["what", "who"], ["Nothing.", "Ben"], [said, "Ada"]]
    return office.binary_workbook("Details", rows, 3), "sheet Details, row 6"


def _outlook(said: str) -> tuple[bytes, str]:
    return outlook("Handbook", BEFORE, {"deeds.md": _markdown(said)[0]}), "attachment deeds.md, § Handbook › Details"


def _kept_page(said: str) -> tuple[bytes, str]:
    message = EmailMessage()
    message["Subject"] = "T"
    message.set_content(f"<h1>Handbook</h1><p>{BEFORE}<h2>Details</h2><p>{said}", subtype="html")
    message.make_related()
    return message.as_bytes(), "§ Handbook › Details"


def _fb2(said: str) -> tuple[bytes, str]:
    parts = (("Handbook", BEFORE), ("Details", said))
    body = "".join(f"<section><title><p>{name}</p></title><p>{text}</p></section>" for name, text in parts)
    space = "http://www.gribuser.ru/xml/fictionbook/2.0"
    return f'<FictionBook xmlns="{space}"><body>{body}</body></FictionBook>'.encode(), "§ Details"


def _adoc(said: str) -> tuple[bytes, str]:
    return f"= Handbook\n:toc:\n\n{BEFORE}\n\n== Details\n\n{said}\n".encode(), "§ Handbook › Details"


def _calendar(said: str) -> tuple[bytes, str]:
    event = "BEGIN:VEVENT\r\nDTSTART:20261127T140000Z\r\nSUMMARY:{}\r\nDESCRIPTION:{}\r\nEND:VEVENT\r\n"
    events = event.format("Nothing", BEFORE) + event.format("Deeds", said.replace(",", "\\,"))
    return f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{events}END:VCALENDAR\r\n".encode(), 'event "Deeds"'


def _contacts(said: str) -> tuple[bytes, str]:
    card = "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:{}\r\nNOTE:{}\r\nEND:VCARD\r\n"
    return (card.format("Ben", BEFORE) + card.format("Ada Merrow", said)).encode(), 'contact "Ada Merrow"'


def _subtitles(head: str, sign: str) -> Maker:
    def made(said: str) -> tuple[bytes, str]:
        half = len(said) // 2
        cues = [("00:00:05", BEFORE), ("00:12:31", f"<i>{said[:half]}"), ("00:12:33", f"{said[half:]}</i>")]
        lines = [f"{at}{sign}000 --> {at}{sign}900\n{text}\n" for at, text in cues]
        return (head + "\n".join(lines)).encode(), "0:12:30"

    return made


def _epub(said: str) -> tuple[bytes, str]:
    return office.book("T", [f"<h1>Handbook</h1><p>{BEFORE}</p>", f"<h1>Details</h1><p>{said}</p>"]), "§ Details"


def _notebook(said: str) -> tuple[bytes, str]:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": [f"# Handbook\n\n{BEFORE}"]},
        {
            "cell_type": "code",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": ["# no heading\nx = 1"],
        },
        {"cell_type": "markdown", "metadata": {}, "source": [f"## Details\n\n{said}"]},
    ]
    book = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(book).encode(), "§ Handbook › Details"


def _pdf(said: str) -> tuple[bytes, str]:
    pages = [["Handbook", *_wrapped(BEFORE)], ["Details", *_wrapped(f"{said}")]]
    return office.pdf(pages, [("Handbook", 0, 0), ("Details", 1, 1)]), "p. 2, § Handbook › Details"


def _plain_pdf(said: str) -> tuple[bytes, str]:
    return office.pdf([_wrapped(BEFORE), _wrapped(f"{said}")], []), "p. 2"


def _table(delimiter: str) -> Maker:
    def made(said: str) -> tuple[bytes, str]:
        rows = [["id", "what"], ["1", "Nothing."], ["9", said], ["10", "Nothing."]]
        return "\n".join(delimiter.join(f'"{value}"' for value in row) for row in rows).encode(), "row 3"

    return made


def _letter(said: str) -> tuple[bytes, str]:
    return office.mail("Handbook", f"{said}", {}), ""


def _attached(said: str) -> tuple[bytes, str]:
    data = office.mail("Handbook", BEFORE, {"deeds.md": _markdown(said)[0]})
    return data, "attachment deeds.md, § Handbook › Details"


def _box(said: str) -> tuple[bytes, str]:
    first, second = office.mail("Handbook", BEFORE, {}), office.mail("Details", f"{said}", {})
    line = b"From anna Fri Nov 27\n"
    return line + first + b"\n" + line + second, 'mail "Details"'


def _as_it_is(form: str) -> Maker:
    def made(said: str) -> tuple[bytes, str]:
        return form.format(said).encode(), ""

    return made


def _wrapped(text: str) -> list[str]:
    words = text.split()
    return [" ".join(words[at : at + 9]) for at in range(0, len(words), 9)]


MAKERS: dict[str, Sequence[Maker]] = {
    "md": (_markdown, _markdown), "markdown": (_markdown,), "html": (_page, _page), "htm": (_page,), "xhtml": (_page,),
    "txt": (_as_it_is("{}\n"), _as_it_is(f"{BEFORE}\n\n{{}}\n")), "text": (_as_it_is("{}\n"),),
    "org": (_org, _org), "rst": (_rst, _rst), "tex": (_tex, _tex), "rtf": (_rtf, _rtf), "docx": (_docx, _docx, _docx),
    "odt": (_odt, _odt), "pptx": (_pptx, _pptx), "xlsx": (_xlsx, _xlsx), "ods": (_ods, _ods),
    "epub": (_epub, _epub), "ipynb": (_notebook, _notebook), "pdf": (_pdf, _pdf, _plain_pdf, _plain_pdf),
    "csv": (_table(","), _table(";"), _table(",")), "tsv": (_table("\t"), _table("\t")),
    "eml": (_letter, _attached, _attached), "mbox": (_box, _box), "log": (_as_it_is("12:00 {}\n"),) * 2,
    "json": (_as_it_is('{{"said": "{}"}}'),) * 2, "yaml": (_as_it_is("said: {}\n"),) * 2,
    "toml": (_as_it_is('said = "{}"\n'),), "py": (_as_it_is("# {}\nx = 1\n"),) * 2, "js": (_as_it_is("// {}\n"),) * 2,
    "sql": (_as_it_is("-- {}\nSELECT 1;\n"),) * 2, "docm": (_docx,), "pptm": (_pptx,), "xlsm": (_xlsx,), "xls": (_xls,),
    "odp": (_odp,), "fodt": (_flat(_odt),), "fods": (_flat(_ods),), "msg": (_outlook,), "mht": (_kept_page,),
    "fb2": (_fb2,), "adoc": (_adoc,), "ics": (_calendar,), "vcf": (_contacts,), "srt": (_subtitles("", ","),),
    "vtt": (_subtitles("WEBVTT\n\n", "."),), "jsonl": (_as_it_is('{{"said": "{}"}}\n{{"said": ""}}\n'),),
    "ini": (_as_it_is("[a]\nsaid = {}\n"),), "kt": (_as_it_is("// {}\nval x = 1\n"),), "mdx": (_markdown,),
    "tf": (_as_it_is('# {}\nregion = "x"\n'),), "xlsb": (_xlsb,),
}  # fmt: skip


def files() -> list[Made]:
    """All of them."""
    made: list[Made] = []
    for suffix, makers in MAKERS.items():
        for maker in makers:
            said, asked = FACTS[len(made)]
            made.append(Made(f"{len(made):02}.{suffix}", maker(said)[0], said, asked, maker(said)[1]))
    return made


CUT = ("docx", "pptx", "xlsx", "odt", "epub", "pdf", "odp", "xls", "xlsb", "msg", "fods")


def broken() -> dict[str, bytes]:
    """Files of these names that cannot be read, each in another way."""
    whole = {suffix: MAKERS[suffix][0]("Never said.")[0] for suffix in CUT}
    return {
        "cut.docx": whole["docx"][:400], "cut.pptx": whole["pptx"][:400], "cut.xlsx": whole["xlsx"][:400],
        "cut.odt": whole["odt"][:300], "cut.epub": whole["epub"][:300], "cut.pdf": whole["pdf"][:200],
        "noise.docx": bytes(range(256)) * 8, "noise.pdf": b"%PDF-1.7\n" + bytes(range(256)) * 8,
        "other.xlsx": b"a,b\n1,2\n", "other.pptx": whole["pdf"], "other.ipynb": b"{", "text.pdf": b"only text",
        "empty.txt": b"", "empty.md": b"", "blank.html": b"<script>1</script>", "none.csv": b"\n\n",
        "binary.txt": b"\x00\x01\x02", "zipped.txt": gzip.compress(b"text", mtime=0),
        "cut.odp": whole["odp"][:300], "cut.xls": whole["xls"][:1_000], "cut.msg": whole["msg"][:1_000],
        "other.msg": whole["docx"], "other.xls": b"a,b\n", "cut.fods": whole["fods"][:200], "none.vcf": b"\n",
        "none.ics": b"BEGIN:VCALENDAR\n", "none.srt": b"1\n", "other.fb2": b"<a>", "cut.xlsb": whole["xlsb"][:300],
        "scan.pdf": office.pdf([[]], []), "none.docx": office.docx(""),
    }  # fmt: skip

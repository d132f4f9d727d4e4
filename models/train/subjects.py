"""Who and what facts are about: one maker of names for each type of subject."""

from collections.abc import Callable
from dataclasses import dataclass

from values import Source, brand, digits, family_name, person, place, title
from words import ADJECTIVES, CATEGORIES, NOUNS


@dataclass(frozen=True)
class Subject:
    """`name` as it stands inside a sentence, `short` a later mention, `pronoun` its stand-in."""

    name: str
    short: str
    pronoun: str


def _made(words: str) -> Callable[[Source], str]:
    """ "the Brand word" or "Brand number" for words of a type."""
    choices = words.split()

    def draw(s: Source) -> str:
        form = s.rng.random()
        word = s.rng.choice(choices)
        if form < 0.4:
            return f"the {brand(s)} {word}"
        if form < 0.6:
            return f"the {brand(s)} {digits(s, 1, 3)}"
        if form < 0.8:
            return f"the {word} {brand(s)}"
        return f"the {word} of {place(s)}"

    return draw


def _owned(words: str) -> Callable[[Source], str]:
    """ "the green lamp" or "the lamp"."""
    choices = words.split()

    def draw(s: Source) -> str:
        word = s.rng.choice(choices) if s.rng.random() < 0.5 else s.rng.choice(NOUNS)
        if s.rng.random() < 0.3:
            return f"the {word}"
        return s.name(lambda: f"the {s.rng.choice(ADJECTIVES if s.rng.random() < 0.5 else s.plain)} {word}")

    return draw


def _toward(words: str) -> Callable[[Source], str]:
    """ "the ferry to Place" and the like."""
    choices = words.split()
    return lambda s: f"the {s.rng.choice(choices)} {s.rng.choice(('to', 'to', 'from', 'for'))} {place(s)}"


def _company(s: Source) -> str:
    form = s.rng.random()
    if form < 0.5:
        return brand(s)
    if form < 0.75:
        return f"{family_name(s)} and {family_name(s)}"
    return f"{brand(s)} {s.rng.choice(('Works', 'Motors', 'Yarns', 'Foods', 'Systems', 'Books', 'Mills', 'Glass'))}"


def _landmark(kind: str) -> Callable[[Source], str]:
    """ "Mount Place", "the Place Bridge"."""
    return lambda s: f"{kind} {place(s)}" if kind in ("Mount", "Lake") else f"the {place(s)} {kind}"


EVENTS = (
    "meeting", "concert", "party", "market", "festival", "exam", "lecture", "workshop", "dinner", "rehearsal",
    "appointment", "match", "fair",
)  # fmt: skip


def _event(s: Source) -> str:
    form = s.rng.random()
    kind = s.rng.choice(EVENTS)
    if form < 0.3:
        return f"the {kind} with {person(s)}"
    if form < 0.55:
        return f"the {s.rng.choice(ADJECTIVES + CATEGORIES['job'] + CATEGORIES['sport'])} {kind}"
    if form < 0.8:
        return f"the {kind} in {place(s)}"
    return f"the {brand(s)} {kind}"


def _animal(s: Source) -> str:
    word = s.rng.choice(CATEGORIES["animal"])
    if s.rng.random() < 0.5:
        return f"the {s.rng.choice(ADJECTIVES)} {brand(s).lower()} {word}"
    return f"the {word} {brand(s)}"


def _dish(s: Source) -> str:
    word = s.rng.choice(CATEGORIES["food"] + ("soup", "cake", "tart", "sauce", "jam"))
    return s.rng.choice(
        (f"{brand(s)} {word}", f"the {word} of {person(s)}", f"{s.rng.choice(ADJECTIVES)} {word}", brand(s).lower())
    )


TYPES: dict[str, Callable[[Source], str]] = {
    "person": person,
    "place": place,
    "country": place,
    "company": _company,
    "shop": _made("shop bakery pharmacy kiosk cafe bookshop butcher florist hairdresser garage"),
    "office": _made("office bank clinic surgery town-hall post-office agency embassy"),
    "building": _made("museum library theatre castle tower church palace school hospital gallery zoo baths"),
    "hut": _made("hut cabin cottage flat house lodge tent"),
    "room": _owned("room hall studio office cellar workshop"),
    "hotel": _made("hotel inn hostel guesthouse"),
    "gym": _made("gym club pool"),
    "machine": _made("engine printer lathe pump robot crane telescope mill press oven drill generator clock submarine"),
    "device": _made("radio camera phone lamp watch laptop kettle heater router scale toaster"),
    "vehicle": _made("van car bicycle boat tractor bus motorcycle caravan"),
    "account": _owned("account mailbox server printer library-account"),
    "parcel": _toward("parcel letter package"),
    "order": _made("order parcel delivery"),
    "trip": _toward("trip flight journey holiday excursion"),
    "transport": _toward("ferry train bus boat tram coach plane"),
    "event": _event,
    "visit": _event,
    "course": _made("course lesson class workshop training seminar"),
    "class": _made("class group course"),
    "project": lambda s: f"{s.rng.choice(('project', 'the project', 'project'))} {brand(s)}",
    "contract": _owned("contract insurance lease report essay"),
    "homework": _owned("homework essay report form bill"),
    "team": lambda s: s.rng.choice((f"the {brand(s)} {s.rng.choice(NOUNS).title()}s", f"the team of {place(s)}")),
    "club": lambda s: s.rng.choice(
        (f"the {s.rng.choice(CATEGORIES['hobby'])} club of {place(s)}", f"the {brand(s)} Society")
    ),
    "people": lambda s: f"the people of {place(s)}",
    "work": title,
    "dish": _dish,
    "drink": lambda s: f"{brand(s)} {s.rng.choice(CATEGORIES['drink'])}",
    "animal": _animal,
    "plant": lambda s: f"the {s.rng.choice(ADJECTIVES)} {s.rng.choice(CATEGORIES['flower'])}",
    "mountain": _landmark("Mount"),
    "lake": _landmark("Lake"),
    "bridge": _landmark("Bridge"),
    "river": lambda s: f"the river {brand(s)}",
    "trail": _landmark("Trail"),
    "statue": lambda s: f"the statue of {person(s)}",
    "tool": _owned(" ".join(CATEGORIES["tool"])),
    "ship": lambda s: f"the {s.rng.choice(('ship', 'steamer', 'yacht', 'barge', 'schooner'))} {brand(s)}",
    "pet": lambda s: s.rng.choice((brand(s), f"our {s.rng.choice(('dog', 'cat', 'rabbit', 'pony'))} {brand(s)}")),
    "island": lambda s: s.rng.choice((place(s), f"the island of {place(s)}")),
    "mineral": lambda s: f"{brand(s).lower()}ite",
    "festival": lambda s: f"the {s.rng.choice((place(s), brand(s)))} Festival",
    "law": lambda s: f"the {brand(s)} {s.rng.choice(('Act', 'Treaty', 'Charter', 'Decree'))}",
    "thing": _owned("key passport map umbrella torch tent charger ticket glue blanket spare-key suitcase"),
}


def subject(s: Source, kind: str) -> Subject:
    """A fresh subject of the type."""
    name = TYPES[kind](s)
    if kind != "person":
        return Subject(name, name, "it")
    words = name.split()
    titled = words[0] in {"Doctor", "Mr", "Mrs", "Professor", "Uncle", "Aunt", "Cousin", "Captain", "Miss", "Sister"}
    return Subject(name, name if titled else words[0], s.rng.choice(("he", "she")))

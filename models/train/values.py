"""Names and values of many shapes; a fixed tenth of all names belongs to the held-out pool alone."""

import random
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from words import (
    ADJECTIVES,
    CATEGORIES,
    CODAS,
    FAMILY_ENDS,
    NOUNS,
    ONSETS,
    PERSON_ENDS,
    PLACE_ENDS,
    VOWELS,
)  # fmt: skip


@dataclass(frozen=True)
class Source:
    """Randomness plus the words of real text (capitalised and plain); `held_out` picks the pool of names.

    `real` is the share of names that are words of real text, which a tokenizer breaks into fewer pieces.
    """

    rng: random.Random
    capitals: Sequence[str]
    plain: Sequence[str]
    held_out: bool
    real: float = 0.45

    def name(self, make: Callable[[], str]) -> str:
        """Draw names until one is of this source's pool."""
        while True:
            word = make()
            if is_held_out(word) == self.held_out:
                return word


BEFORE_PLACES = ("New", "Old", "Upper", "Lower", "Port", "Saint", "East", "West", "Little", "Great")
CONTAINERS = ("drawer", "box", "cupboard", "shed", "basket", "jar", "bag", "shelf", "trunk", "tin")


def is_held_out(name: str) -> bool:
    """One name in ten, fixed by its spelling."""
    return zlib.crc32(name.encode()) % 10 == 0


def syllables(s: Source, count: int, ends: Sequence[str]) -> str:
    """A pronounceable made-up word with a typical ending."""
    r = s.rng
    word = "".join(r.choice(ONSETS) + r.choice(VOWELS) + (r.choice(CODAS) if i else "") for i in range(count))
    return (word + r.choice(ends)).capitalize()


def first_name(s: Source) -> str:
    """A first name, made up or taken from real text."""
    if s.rng.random() < s.real:
        return s.name(lambda: s.rng.choice(s.capitals))
    return s.name(lambda: syllables(s, s.rng.choice((1, 1, 2)), PERSON_ENDS))


def family_name(s: Source) -> str:
    """A family name, one in ten with a hyphen."""
    if s.rng.random() < s.real:
        return s.name(lambda: s.rng.choice(s.capitals))
    name = s.name(lambda: syllables(s, s.rng.choice((1, 1, 2)), FAMILY_ENDS))
    return f"{name}-{family_name(s)}" if s.rng.random() < 0.08 else name


def person(s: Source) -> str:
    """A person as texts name one."""
    form = s.rng.random()
    if form < 0.6:
        return f"{first_name(s)} {family_name(s)}"
    if form < 0.8:
        return first_name(s)
    title = s.rng.choice(("Doctor", "Mr", "Mrs", "Professor", "Uncle", "Aunt", "Cousin", "Captain", "Miss", "Sister"))
    return f"{title} {family_name(s)}"


def full_person(s: Source) -> str:
    """First and family name."""
    return f"{first_name(s)} {family_name(s)}"


def place(s: Source) -> str:
    """A town, island or land."""
    if s.rng.random() < 0.55 * s.real:
        return s.name(lambda: s.rng.choice(s.capitals))
    name = s.name(lambda: syllables(s, s.rng.choice((1, 1, 2)), PLACE_ENDS))
    form = s.rng.random()
    if form < 0.13:
        return s.rng.choice(BEFORE_PLACES) + " " + name
    if form < 0.2:
        return name + s.rng.choice((" Bay", " Hill", " Cross", " Castle", " Falls", " Heath", " Springs"))
    return name


def brand(s: Source) -> str:
    """One word, mostly invented."""
    if s.rng.random() < s.real - 0.45:
        return s.name(lambda: s.rng.choice(s.capitals))
    return s.name(
        lambda: syllables(s, s.rng.choice((1, 2)), ("a", "on", "ex", "ix", "um", "or", "ine", "tron", "o", "y"))
    )


def thing(s: Source) -> str:
    """An adjective and a noun, or two words of real text."""
    if s.rng.random() < 0.5:
        return s.name(lambda: f"{s.rng.choice(ADJECTIVES)} {s.rng.choice(NOUNS)}s")
    return s.name(lambda: f"{s.rng.choice(s.plain)} {s.rng.choice(s.plain)}")


def title(s: Source) -> str:
    """The title of a work."""
    words = (
        [s.rng.choice(ADJECTIVES), s.rng.choice(NOUNS)]
        if s.rng.random() < 0.6
        else [s.rng.choice(s.plain), s.rng.choice(NOUNS)]
    )
    return s.name(lambda: "The " + " ".join(words).title() if s.rng.random() < 0.99 else "The " + brand(s))


def digits(s: Source, low: int, high: int) -> str:
    """A number of `low` to `high` digits without a leading zero."""
    n = s.rng.randint(low, high)
    return str(s.rng.randint(10 ** (n - 1), 10**n - 1))


def number(s: Source) -> str:
    """A count: mostly small, sometimes with a thousands comma."""
    form = s.rng.random()
    if form < 0.75:
        return digits(s, 1, 3)
    return f"{s.rng.randint(1000, 99999):,}"


def decimal(s: Source) -> str:
    """A measure, one time in three with a decimal point."""
    return f"{digits(s, 1, 2)}.{s.rng.randint(1, 9)}" if s.rng.random() < 0.33 else number(s)


def clock(s: Source) -> str:
    """A time of day, 24 hours."""
    return f"{s.rng.randint(0, 23)}:{s.rng.randint(0, 59):02}"


def date(s: Source) -> str:
    """A day of the year, sometimes with the year."""
    r = s.rng
    day, month, year = r.randint(1, 28), r.choice(CATEGORIES["month"]), r.randint(1900, 2035)
    return r.choice((f"{day} {month}", f"{day} {month}", f"{day} {month} {year}", f"{month} {day}"))


def moment(s: Source) -> str:
    """A weekday or a date with a time."""
    return f"{s.rng.choice(CATEGORIES['day'])} at {clock(s)}"


def year(s: Source) -> str:
    """A year."""
    return str(s.rng.randint(1100, 2030))


def code(s: Source) -> str:
    """Letters and digits in one of the usual shapes."""
    r = s.rng
    letters = "".join(r.choice("ABCDEFGHJKLMNPQRSTUVWXYZ") for _ in range(r.randint(1, 3)))
    return letters + r.choice(("-", " ", "", "-")) + digits(s, 2, 5)


def password(s: Source) -> str:
    """A lower-case word and digits."""
    word = s.rng.choice(s.plain) if s.rng.random() < 0.4 else brand(s).lower()
    return s.name(lambda: word + s.rng.choice(("", "-", "")) + digits(s, 1, 4))


def phone(s: Source) -> str:
    """A telephone number."""
    return f"0{digits(s, 2, 3)} {digits(s, 4, 6)}"


def address(s: Source) -> str:
    """House number and street."""
    return f"{digits(s, 1, 3)} {brand(s)} {s.rng.choice(('Street', 'Lane', 'Road', 'Square', 'Avenue', 'Alley'))}"


def spot(s: Source) -> str:
    """A place in a house."""
    return f"{s.rng.choice(ADJECTIVES)} {s.rng.choice(CONTAINERS)}"


def listed(category: str) -> Callable[[Source], str]:
    """Words of a list, half of them with a second word before them."""

    def draw(s: Source) -> str:
        word = s.rng.choice(CATEGORIES[category])
        if category in {"day", "month", "language"} or s.rng.random() < 0.5:
            return word
        return f"{s.rng.choice(ADJECTIVES if s.rng.random() < 0.6 else s.plain)} {word}"

    return draw


SHAPES: dict[str, Callable[[Source], str]] = {
    "person": full_person, "place": place, "brand": brand, "company": brand, "thing": thing, "title": title,
    "number": number,
    "decimal": decimal, "clock": clock, "date": date, "moment": moment, "year": year, "code": code,
    "password": password, "phone": phone, "address": address, "spot": spot, "ext": lambda s: digits(s, 2, 5),
    "small": lambda s: digits(s, 1, 3),
    **{category: listed(category) for category in CATEGORIES},
}  # fmt: skip

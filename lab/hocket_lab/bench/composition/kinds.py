"""The kinds of made-up facts, with two wordings each, and names that are put together of syllables."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple


class Kind(NamedTuple):
    """A kind of fact: `own` and `other` are wordings between subject and value that share no word of five letters."""

    subject: str
    own: str
    other: str
    value: str
    after: str = ""  # what follows the value


def _kinds(table: str) -> tuple[Kind, ...]:
    rows = ([cell.strip() for cell in line.split(";")] for line in table.strip().splitlines())
    return tuple(Kind(*row) for row in rows)


KINDS = _kinds("""
person ; keeps the spare key in the ; has put another key away inside the ; spot
person ; was apprenticed to ; learned the trade from ; person
person ; moved the workshop to ; relocated the business to ; place
person ; dedicated the second sonata to ; wrote a piece of music for ; person
person ; became treasurer of the choir in ; took charge of the singers' money in ; year
person ; can be reached under extension ; answers the telephone at number ; digits
person ; named the new boat ; gave a vessel the name ; brand
person ; sold the family farm to ; handed the land over to ; person
person ; rents a studio above the bakery in ; paints over a bread shop in ; place
person ; plays the flute in a duo with ; makes music together with ; person
person ; hid the letters in the ; put the correspondence away inside the ; spot
person ; boards the night train at ; gets on the evening express in ; place
house ; was restored by ; was repaired by ; person
house ; is reached by boat from ; can be visited with the ferry from ; place
house ; charges an entrance fee of ; asks every visitor to pay ; digits ; crowns
house ; opens its doors at ; lets the first visitors in at ; clock
house ; will close for good on ; receives its last guests on ; date
house ; is listed in the register as ; bears the inventory number ; code
house ; lost its roof in the storm of ; was left without a cover by the gale of ; year
house ; is insured with the company ; has a policy from the insurer ; brand
house ; has seats for ; can hold an audience of ; digits ; people
house ; was bought at auction by ; became the property of ; person
device ; was tested for the first time in ; had its trial run in ; place
device ; is unlocked with the word ; asks for a password, which is ; password
device ; runs on a licence held by ; may be used thanks to a permit of ; person
device ; carries the serial number ; is marked underneath as ; code
device ; draws a power of ; needs an electric supply of ; digits ; watts
device ; must be serviced before ; is due for the next inspection on ; date
""")


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_ONSETS = _words("b br c d dr f g gl h j k l m n p pr r s st t tr v w")
_VOWELS, _CODAS = _words("a e i o u ea ia"), _words("l m n r s t nd rn lt sk")
_FIRST, _FAMILY = _words("a el in na or us is ette"), _words("ham sen ovic ard well brook mont ini")
_PLACE, _BRAND = _words("ford holm wick stead mouth grove dale ness"), _words("on ex ima or ax ella ium ant")
_SIZES = _words("narrow heavy striped painted tall shallow dented varnished round locked padded slanted")
_STUFFS = _words("copper walnut canvas linen enamel bamboo marble velvet pewter cedar wicker leather")
_CONTAINERS = _words("chest bureau hamper casket locker bin satchel urn crate pouch")
_MONTHS = _words("January February March April May June July August September October November December")
_HOUSES = _words("theatre mill archive lighthouse chapel museum brewery library")
_DEVICES = _words("turbine loom scanner press winch furnace telescope pump")


def _name(rng: random.Random, ends: Sequence[str]) -> str:
    first = rng.choice(_ONSETS) + rng.choice(_VOWELS)
    return (first + rng.choice(_CODAS) + rng.choice(ends)).capitalize()


def _person(rng: random.Random) -> str:
    return f"{_name(rng, _FIRST)} {_name(rng, _FAMILY)}"


def _brand(rng: random.Random) -> str:
    return _name(rng, _BRAND)


MAKERS: Mapping[str, Callable[[random.Random], str]] = {
    "person": _person,
    "place": lambda rng: _name(rng, _PLACE),
    "brand": _brand,
    "house": lambda rng: f"The {_name(rng, _PLACE)} {rng.choice(_HOUSES)}",
    "device": lambda rng: f"The {_brand(rng)} {rng.choice(_DEVICES)}",
    "spot": lambda rng: f"{rng.choice(_SIZES)} {rng.choice(_STUFFS)} {rng.choice(_CONTAINERS)}",
    "year": lambda rng: str(rng.randint(1402, 1989)),
    "digits": lambda rng: str(rng.randint(102, 998)),
    "clock": lambda rng: f"{rng.randint(6, 22)}:{rng.randint(1, 59):02}",
    "date": lambda rng: f"{rng.randint(1, 28)} {rng.choice(_MONTHS)} {rng.randint(1990, 2039)}",
    "code": lambda rng: f"{''.join(rng.choices('BCDFGHKLMNPRSTVWXZ', k=2))}-{rng.randint(1002, 9998)}",
    "password": lambda rng: f"{_brand(rng).lower()}-{rng.randint(12, 98)}",
}

"""Laws of the look at a page's tags: what takes a parser quadratic time is refused, and no page of people."""

from __future__ import annotations

import pytest

from hocket_retrieval.errors import DocumentError
from hocket_retrieval.parsing.formats.markup.tags import MAX_ATTRIBUTES, MAX_DEPTH, check

MANY = MAX_DEPTH + 1
REFUSED = {
    "blocks": "<div>" * MANY,
    "different ones": "<div><span><b>" * MANY,
    "upper case": "<DIV>" * MANY,
    "with attributes": "<div class='a>b' id=c>" * MANY,
    "slashes that mean nothing": "<div/>" * MANY,
    "tables": "<table><tr><td>" * MANY,
    "behind a comment": "<!-- > -->" + "<i>" * MANY,
    "behind a script": "<script>'<b>'</script>" + "<i>" * MANY,
    "in a script that never ends": "<script>" + "<i>" * MANY,
    "wrong ends": "<div></span>" * MANY,
    "attributes": "<p " + " ".join(f"a{n}=1" for n in range(MAX_ATTRIBUTES + 1)) + ">",
    "attributes without values": "<p " + " ".join(f"a{n}" for n in range(MAX_ATTRIBUTES + 1)) + ">",
    "attributes between slashes": "<p " + "/".join(f"a{n}" for n in range(MAX_ATTRIBUTES + 1)) + ">",
    "attributes behind a quoted end": "<p a='>' " + " ".join(f"a{n}" for n in range(MAX_ATTRIBUTES + 1)) + ">",
}
TAKEN = {
    "blocks that end": "<div><b>a</b></div>" * MANY,
    "paragraphs that do not": "<p>a" * MANY,
    "items that do not": "<ul>" + "<li>a" * MANY,
    "cells in which something does not": "<table>" + "<tr><td><font>a" * MANY,
    "a parent that ends": "<div><span><font>a</div>" * MANY,
    "tags in a script": "<script>" + "'<div>'" * MANY + "</script>",
    "tags in a comment": "<!--" + "<div>" * MANY + "-->",
    "a drawing": "<svg>" + "<path d='M0 0'/>" * MANY + "</svg>",
    "line breaks and pictures": "<br><img src=a>" * MANY,
    "anchors": "<a name=b>c" * MANY,
    "a long value": "<img src='data:" + "a b=c " * MANY + "'>",
    "text": "a < b and c > d " * MANY,
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_page_that_nobody_wrote_to_be_read_is_refused(name: str) -> None:
    """However its elements come to stand in each other."""
    with pytest.raises(DocumentError, match="nested elements|attributes"):
        check(REFUSED[name])


@pytest.mark.parametrize("name", TAKEN)
def test_a_page_that_people_write_is_taken(name: str) -> None:
    """Careless ones leave much open that a parser ends."""
    check(TAKEN[name])

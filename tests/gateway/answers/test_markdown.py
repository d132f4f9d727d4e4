"""The Markdown of an answer as a tree: what is meant is there, and nothing in it loads or leads anywhere."""

from __future__ import annotations

import time
from collections.abc import Iterator

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from serving import Served

from hocket_gateway.hocket_api.markdown import MAX_CHARS, Node, tree

TAGS = frozenset(["p", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "hr", "br", "strong"])
TAGS |= {"em", "s", "table", "thead", "tbody", "tr", "th", "td"}
MARKS = ["[", "]", "(", ")", "!", "<a href='x'>", "</a>", "`", "```\n", "*", "_", "~~", "|", "-", "\n", "\n\n", "> "]
MARKS += [
    "# ",
    "1. ",
    "    ",
    "http://x",
    "&lt;",
    "\\",
    "kala",
    "$$",
    "[a]: /u\n",
    "\t",
    "javascript:alert(1)",
    "\0",
    "é",
]
WIDE = "\n".join(["|a" * 500, "|-" * 500] + ["|b"] * 5_000)  # a table that stands for 2.5 million cells


def nodes(found: list[Node]) -> Iterator[Node]:
    for node in found:
        yield node
        if isinstance(node, list):
            assert isinstance(node[1], list)
            yield from nodes(node[1])


def text_of(found: list[Node] | None) -> str:
    assert found is not None
    return " ".join(node for node in nodes(found) if isinstance(node, str))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One line.\nAnother.", [["p", ["One line.", ["br", []], "Another."]]]),
        ("# Rent\n\n- **1,184** euros\n- `cold`", [
            ["h3", ["Rent"]],
            ["ul", [["li", [["p", [["strong", ["1,184"]], " euros"]]]], ["li", [["p", [["code", ["cold"]]]]]]]],
        ]),
        ("```python\nprint(1 < 2)\n```", [["pre", [["code", ["print(1 < 2)\n"]]]]]),
        ("|a|b|\n|-|-|\n|1|*2*|", [
            ["table", [
                ["thead", [["tr", [["th", ["a"]], ["th", ["b"]]]]]],
                ["tbody", [["tr", [["td", ["1"]], ["td", [["em", ["2"]]]]]]]],
            ]],
        ]),
        ("see [the page](https://x.example/a)", [["p", ["see ", "the page", " (https://x.example/a)"]]]),
        ("<https://x.example>", [["p", ["https://x.example"]]]),
        ("![a cat](https://x.example/c.png)", [["p", ["a cat", " (https://x.example/c.png)"]]]),
        ("<img src=x onerror=alert(1)>", [["p", ["<img src=x onerror=alert(1)>"]]]),
        ("<script>\nalert(1)\n</script>", [["p", ["<script>", ["br", []], "alert(1)", ["br", []], "</script>"]]]),
        ("", []),
    ],
)  # fmt: skip
def test_what_is_meant_is_there(text: str, found: list[Node]) -> None:
    """Links and images are text with their addresses, HTML is text."""
    assert tree(text) == found


@given(st.lists(st.sampled_from(MARKS), max_size=60))
def test_whatever_comes_is_texts_in_known_elements(pieces: list[str]) -> None:
    """No other tag, and no attribute at all."""
    found = tree("".join(pieces))
    assert found is not None
    for node in nodes(found):
        assert isinstance(node, str) or (len(node) == 2 and node[0] in TAGS)


@pytest.mark.parametrize(
    "text",
    ["[" * MAX_CHARS, "![" * (MAX_CHARS // 2), "*a_ " * (MAX_CHARS // 4), ">" * MAX_CHARS, "- " * (MAX_CHARS // 2),
     WIDE, "[a](b " * (MAX_CHARS // 6), "`" * MAX_CHARS],
)  # fmt: skip
def test_a_text_made_to_explode_is_bounded(text: str) -> None:
    """In what it costs, and in how much comes of it; one that stands for too much is none."""
    began = time.process_time()
    found = tree(text)
    assert time.process_time() - began < 10.0
    assert found is None or sum(1 for _ in nodes(found)) <= 20_000


def test_it_is_served_within_its_bounds(front: Served) -> None:
    """Return null for a text that is too long or has too many cells; the page then shows the text."""
    for text, found in (("**kala**", [["p", [["strong", ["kala"]]]]]), ("a" * (MAX_CHARS + 1), None), (WIDE, None)):
        assert httpx2.post(f"{front.url}/markdown", json={"text": text}).json() == {"tree": found}

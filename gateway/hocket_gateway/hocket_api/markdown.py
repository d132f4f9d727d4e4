"""The Markdown of an answer as a tree, from which the page makes elements; no HTML is made anywhere.

Nothing in the tree can load or lead anywhere: an image is its text, a link is its text and its address, and HTML is
text as any other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from ..gateway import Gateway
from ..http.body import read
from ..http.sending import json_response

MAX_CHARS = 40_000  # of an answer of as many tokens as one may have; what is longer is shown as it was written
MAX_NODES = 10_000  # a table of a few kilobytes can stand for many more cells than it has letters
_TAGS = {
    "paragraph": "p",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
    "blockquote": "blockquote",
    "hr": "hr",
    "strong": "strong",
    "em": "em",
    "s": "s",
    "softbreak": "br",
    "hardbreak": "br",
    "table": "table",
    "thead": "thead",
    "tbody": "tbody",
    "tr": "tr",
    "th": "th",
    "td": "td",
}
_BELOW = 2  # the page's own headings stand above those of an answer
Node = str | list["str | list[Node]"]  # a text, or a tag and its children


class MarkdownRequest(Struct, frozen=True, kw_only=True):
    """A text to lay out."""

    text: str


async def markdown(request: Request) -> Response:
    """Return the tree of a text; null where it is too large. Raises Refusal."""
    gateway: Gateway = request.app.state.gateway
    asked = await read(request, MarkdownRequest, gateway.settings.max_body_bytes)
    return json_response({"tree": await asyncio.to_thread(tree, asked.text)})


def tree(text: str) -> list[Node] | None:
    """Return the nodes of a text in CommonMark with tables; None where it has over MAX_CHARS or MAX_NODES."""
    if len(text) > MAX_CHARS:
        return None
    reader = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    tokens = reader.parse(text)
    if sum(1 + len(token.children or ()) for token in tokens) > MAX_NODES:
        return None
    return _children(SyntaxTreeNode(tokens))


def _children(node: SyntaxTreeNode) -> list[Node]:
    return [made for child in node.children for made in _made(child)]


def _made(node: SyntaxTreeNode) -> Iterator[Node]:
    """Yield what stands for a node: one or several, and for what is unknown its text."""
    if node.type in _TAGS:
        yield [_TAGS[node.type], _children(node)]
    elif node.type == "heading":
        yield [f"h{min(6, int(node.tag[1]) + _BELOW)}", _children(node)]
    elif node.type in ("fence", "code_block"):
        yield ["pre", [["code", [node.content]]]]
    elif node.type == "code_inline":
        yield ["code", [node.content]]
    elif node.type == "link":
        yield from _with_address(_children(node), node.attrs.get("href"))
    elif node.type == "image":
        yield from _with_address([node.content], node.attrs.get("src"))
    elif node.children:
        yield from _children(node)
    elif node.content:
        yield node.content


def _with_address(children: list[Node], address: object) -> Iterator[Node]:
    yield from children
    if address and children != [address]:
        yield f" ({address})"

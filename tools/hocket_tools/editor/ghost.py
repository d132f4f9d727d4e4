"""Grey text at the cursor that is not part of the text."""

from __future__ import annotations

from collections.abc import Callable

from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.formatted_text.utils import fragment_list_len
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput

from hocket_bus.visible import visible


class Ghost(Processor):
    """A processor that draws what `suggestion` returns after the cursor; the text that follows moves on."""

    def __init__(self, suggestion: Callable[[], str]) -> None:
        self._suggestion = suggestion

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        """Insert the suggestion into the line of the cursor; other lines stay as they are."""
        document, fragments = transformation_input.document, transformation_input.fragments
        text = visible(self._suggestion()) if transformation_input.lineno == document.cursor_position_row else ""
        if not text:
            return Transformation(fragments)
        at = transformation_input.source_to_display(document.cursor_position_col)
        before, behind = _split(fragments, at)
        return Transformation(
            [*before, ("class:ghost", text), *behind],
            source_to_display=lambda place: place + len(text) if place > at else place,
            display_to_source=lambda place: max(at, place - len(text)) if place > at else place,
        )


def _split(fragments: StyleAndTextTuples, at: int) -> tuple[StyleAndTextTuples, StyleAndTextTuples]:
    """Split fragments at a column into those before it and those after it."""
    before: StyleAndTextTuples = []
    behind: StyleAndTextTuples = []
    for fragment in fragments:
        style, text = fragment[0], fragment[1]
        room = max(0, at - fragment_list_len(before))
        before.append((style, text[:room]))
        behind.append((style, text[room:]))
    return before, behind

"""The prompt before the text that is typed: memory as a reference."""

from __future__ import annotations

from collections.abc import Iterable

_INSTRUCTED = "Reference: {}\nComplete the following paragraph based on the above reference.\n"  # HybridRAG, Table 2
_PLAIN = "{}\n\n"


def reference_text(takeaways: Iterable[str], behind: str, *, instructed: bool) -> str:
    """Return the reference of takeaways, and of the text behind the cursor; empty where there are none.

    An `instructed` model is told what the reference is for; one that only continues texts copies less after an
    instruction.
    """
    parts = [*takeaways, *([behind.strip()] if behind.strip() else [])]
    return (_INSTRUCTED if instructed else _PLAIN).format(" ".join(parts)) if parts else ""

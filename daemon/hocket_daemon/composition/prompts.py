"""What stands before the text that is typed: memory as a reference (HybridRAG, Table 2)."""

from __future__ import annotations

from collections.abc import Iterable

_REFERENCE = "Reference: {}\nComplete the following paragraph based on the above reference.\n"


def reference_text(takeaways: Iterable[str], behind: str) -> str:
    """The reference of takeaways, and of the text behind the cursor; empty where there are none."""
    parts = [*takeaways, *([behind.strip()] if behind.strip() else [])]
    return _REFERENCE.format(" ".join(parts)) if parts else ""

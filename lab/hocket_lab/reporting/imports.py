"""The modules that Python source names in its imports, wherever these stand."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator


def imported(nodes: Iterable[ast.AST], package: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each imported module with the names that are taken from it, which may be modules, too.

    `nodes` are those of a module in `package`, against which relative imports are resolved.
    `import a.b` takes no names.
    """
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, ()) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: package.count(".") + 2 - node.level] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            yield source, tuple(alias.name for alias in node.names)

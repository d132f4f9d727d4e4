"""Vectors that no document uses: how long a store that several daemons share keeps them."""

from __future__ import annotations

KEPT_S = 86_400.0  # another daemon may be between its vectors and their document

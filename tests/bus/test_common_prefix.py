"""The law of `alike`: as many elements are equal, and the next is not."""

from __future__ import annotations

import random

import pytest

from hocket_bus.common_prefix import common_prefix_length


@pytest.mark.parametrize("seed", range(200))
def test_it_is_the_length_of_the_longest_common_beginning(seed: int) -> None:
    chance = random.Random(seed)
    first, second = (chance.choices([1, 2], weights=[9, 1], k=chance.randrange(30)) for _ in range(2))
    for a, b in ((first, second), (first, first), ("".join(map(str, first)), "".join(map(str, second)))):
        length = common_prefix_length(a, b)
        assert a[:length] == b[:length]
        assert length == min(len(a), len(b)) or a[length] != b[length]

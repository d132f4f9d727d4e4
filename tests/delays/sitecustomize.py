"""Python runs this first in every process that finds it: where messages are to be late, they are from the beginning."""

import os
from contextlib import suppress

if seed := os.environ.get("HOCKET_TESTS_LATE"):
    with suppress(ImportError):  # a Python without hocket
        import late

        late.begin(seed)

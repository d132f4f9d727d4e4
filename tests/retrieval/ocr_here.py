"""Whether text recognition is installed: tests of it are skipped where it is not, and say why."""

from __future__ import annotations

import pytest

from hocket_retrieval.parsing.formats.pictures import recognition

needs_ocr = pytest.mark.skipif(not recognition.is_installed(), reason="pip install 'hocket[ocr]' for this test")

"""The wheel that llama.cpp comes in is the one that is known, or it is refused in one line before it computes."""

from __future__ import annotations

import ctypes

import pytest
from llama_here import needs_llama

from hocket_bus.errors import BadConfiguration
from hocket_daemon.engine.backends.llamacpp import llama, llama_interface
from hocket_daemon.engine.backends.llamacpp.llama_interface import Functions, llama_context_params


class Moved(ctypes.Structure):
    """The record of another version: a number was added before all others."""

    _fields_ = (("added", ctypes.c_uint32), *llama_context_params._fields_)


@needs_llama
def test_another_layout_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(llama_interface._FUNCTIONS, "llama_context_default_params", (Moved,))
    with pytest.raises(ImportError, match="has other struct layouts"):
        Functions()


@needs_llama
def test_a_function_that_went_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(llama_interface._FUNCTIONS, "llama_that_went", (None,))
    with pytest.raises(ImportError, match="llama_that_went"):
        Functions()


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("VERSION", "1.0", "is not the supported version, 1.0"),
        ("PACKAGE", "no-such", "no-such, which is not installed"),
    ],
)
def test_another_version_or_none_is_refused_with_what_to_do(
    name: str, value: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llama_interface, name, value)
    monkeypatch.setattr(llama, "_built_here", lambda: None)
    with pytest.raises(BadConfiguration, match=reason) as refusal:
        llama.library.__wrapped__()
    assert "pip install xllamacpp==" in str(refusal.value)

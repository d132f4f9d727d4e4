"""Reports on a daemon's decode times and on the network, in words and numbers; reads the files of profiles."""

from __future__ import annotations

from pathlib import Path

from hocket_bus.endpoints import host_of
from hocket_bus.messages import Side
from hocket_bus.sockets import Link

from ..engine.language_model import LanguageModel
from ..engine.settings import ModelSettings
from .offline import about
from .profiler import Profiler
from .profiles import DecodeProfile, Figure, NetworkProfile, decode_file, in_words, load, network_file


class Profiling:
    """The runtime stage of a daemon, started from the offline stage of its model on this machine when there is one."""

    def __init__(self, model: LanguageModel, settings: ModelSettings, side: Side) -> None:
        self.profiler = Profiler()
        self._side = side
        self._file = decode_file(about(model, settings, side))
        self._read_ns = 0
        self._date = ""
        self.refresh()

    def refresh(self) -> None:
        """Take over a profile that was written meanwhile."""
        written_ns = _written_ns(self._file)
        if written_ns == self._read_ns:
            return
        self._read_ns = written_ns
        found = load(self._file, DecodeProfile)
        self._date = found.date if found is not None else ""
        self.profiler.begin(found.fits if found is not None else {})
        self.profiler.prefill = found.prefill if found is not None else None
        self.profiler.energy = found.energy if found is not None else None

    def facts(self) -> dict[str, str]:
        """Return the decode time, predicted and measured, and where the prediction comes from."""
        seen, source = self.profiler, f"offline profile of {self._date}"
        if not self._date:
            source = f"moving average; for a fit: hocket profile --offline --side {self._side}"
        if not seen.steps:
            return {"decode time": f"nothing measured yet ({source})"}
        figures = f"predicted {_ms(seen.predicted_s)}, measured {_ms(seen.measured_s)} at {seen.context} tokens"
        return {"decode time": f"{figures}; median error {seen.error:.0%} over {seen.steps} steps ({source})"}

    def metrics(self) -> dict[str, float]:
        """Return the same facts as numbers, for programs."""
        seen = self.profiler
        return {
            "decode_predicted_s": seen.predicted_s,
            "decode_measured_s": seen.measured_s,
            "decode_error": seen.error,
            "decode_steps": float(seen.steps),
        }


def link_fact(link: Link) -> str:
    """Return a link in words."""
    if not link.up:
        return "not connected"
    trip = f"round trip {_ms(link.rtt_s)}, average {_ms(link.round_trip.average)} (echo on this connection)"
    return f"connected to {link.endpoint}, {trip}; {link.load} request(s) in work there, {link.waiting} step(s) waiting"


def network_facts(endpoint: str) -> dict[str, str]:
    """Return what `hocket profile` last found towards the host of `endpoint`; empty if it never did."""
    if not endpoint:
        return {}
    found = load(network_file(host_of(endpoint)), NetworkProfile)
    if found is None or not found.figures:
        return {}
    return {"network profile": "; ".join(_figure(figure) for figure in found.figures)}


def _figure(figure: Figure) -> str:
    now, average = in_words(figure.name, figure.now), in_words(figure.name, figure.average)
    return f"{figure.name} {now}, average {average} ({figure.source}, {figure.date})"


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def _written_ns(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0

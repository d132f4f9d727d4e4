"""Inputs of the benchmark: first tokens of real servers, lengths of real prompts, and devices; no policy."""

from __future__ import annotations

import csv
import json
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from hocket_daemon.dispatch.policies.cost import DEVICES
from hocket_daemon.dispatch.policies.device_ttft import DeviceTtft
from hocket_daemon.dispatch.policies.policy import Ints
from hocket_daemon.dispatch.policies.ttfts import Floats
from hocket_daemon.engine.opening.engines import open_model
from hocket_daemon.engine.segments import Segment
from hocket_daemon.engine.settings import ModelSettings
from hocket_lab.data_folder import require
from hocket_lab.reporting.report import Report, Row

PROVIDERS, FASTEST = "ttft_llmperf/individual", "ttft_thefastest/ttft_thefastest_2024.csv"
ALPACA, AZURE = "prompts_alpaca/alpaca_5000.json", "trace_azure_llm_2023/AzureLLMInferenceTrace_conv.csv"
NOT_MEASURED = "lepton"  # whose first tokens are nearly all 0
MANY = Path(FASTEST).stem  # hosts in one trace
PAPERS, HERE = tuple(DEVICES), "here"
_CHARACTERS = 4  # of a token
_READ, _REPEATS, _TOKEN = (16, 64, 128, 256), 3, 7


@dataclass(frozen=True)
class Trace:
    """A server: seconds to the first token of each request, and the mean seconds between two tokens."""

    name: str
    ttft_s: Floats
    between_s: float


@dataclass(frozen=True)
class Requests:
    """Draws with replacement, [n]: the server's seconds to the first token, and the prompts' tokens."""

    ttft_s: Floats
    lengths: Ints


def files(data: Path) -> list[Path]:
    """Return every file that is read, in a fixed order. Raises BadRequest for one that is not there."""
    providers = _providers(data)
    require(data, FASTEST, ALPACA, AZURE, *([] if providers else [f"{PROVIDERS}/*.json"]))
    return [data / FASTEST, data / ALPACA, data / AZURE, *providers]


def traces(data: Path) -> list[Trace]:
    """Return the providers' traces by their file stems, without unmeasured requests; then the one of many hosts."""
    return [*(_provider(path) for path in _providers(data)), _fastest(data / FASTEST)]


def lengths(data: Path) -> dict[str, Ints]:
    """Return the tokens of real prompts: Alpaca's, a token being four characters, and those of a hosted chat."""
    alpaca = json.loads((data / ALPACA).read_text(encoding="utf-8"))
    texts = (f"{each['instruction']}\n{each['input']}" for each in alpaca)
    with (data / AZURE).open(encoding="utf-8") as device_ttfts:
        azure = [int(row["ContextTokens"]) for row in csv.DictReader(device_ttfts)]
    return {"alpaca": np.array([-(-len(text) // _CHARACTERS) for text in texts]), "azure": np.array(azure)}


def drawn(trace: Trace, prompts: Ints, number: int, *seed: int | str) -> Requests:
    """Draw `number` requests; equal seeds draw the same ones."""
    source = generator(trace.name, *seed)
    return Requests(source.choice(trace.ttft_s, number), source.choice(prompts, number))


def generator(*seed: int | str) -> np.random.Generator:
    """Return a random generator; equal words and numbers give equal ones."""
    return np.random.default_rng([zlib.crc32(each.encode()) if isinstance(each, str) else each for each in seed])


def device_ttfts(report: Report, devices: Sequence[str], model: str) -> dict[str, DeviceTtft]:
    """Return each device's TTFT line: the paper's from its reading speed, this machine's measured once per report."""
    found = {name: DeviceTtft(1 / DEVICES[name].prefill_rate, 0.0) for name in devices if name in DEVICES}
    if HERE in devices:
        row = report.find(part="device", device=HERE)
        if row is None:
            row = _measured(model)
            report.add(row)
        found[HERE] = DeviceTtft(float(row["k_s"] or 0), float(row["c_s"] or 0))
    return found


def _measured(name: str) -> Row:
    """Measure this machine's line: a model reads prompts of some lengths on one thread, the median of some repeats."""
    settings = ModelSettings(name=name, threads=1, context=288, slots=1, kv_bytes=0)
    model = open_model(settings, "device")
    row = model.slots.take(1)[0]

    def seconds(length: int) -> float:
        model.slots.roll_back(row, 0)
        begun_s = time.perf_counter()
        for at in range(0, length, model.prefill_tokens):
            model.read([Segment([row], [[_TOKEN] * min(model.prefill_tokens, length - at)])])
        return time.perf_counter() - begun_s

    seconds(_READ[-1])
    device_ttft = DeviceTtft.fit([(length, median(seconds(length) for _ in range(_REPEATS))) for length in _READ])
    return {"part": "device", "device": HERE, "model": Path(name).stem, "k_s": device_ttft.k, "c_s": device_ttft.c}


def _providers(data: Path) -> list[Path]:
    found = sorted((data / PROVIDERS).glob("*.json"))
    return [path for path in found if not path.stem.startswith(NOT_MEASURED)]


def _provider(path: Path) -> Trace:
    rows = [row for row in json.loads(path.read_text(encoding="utf-8")) if row["ttft_s"] > 0]
    between_s = median(row["inter_token_latency_s"] for row in rows)
    return Trace(path.stem, np.array([row["ttft_s"] for row in rows]), between_s)


def _fastest(path: Path) -> Trace:
    with path.open(encoding="utf-8") as table:
        rows = [(float(row["ttft_s"]), float(row["tps"])) for row in csv.DictReader(table) if row["ttft_s"]]
    known = [(ttft_s, rate) for ttft_s, rate in rows if ttft_s > 0 and rate > 0]
    return Trace(path.stem, np.array([ttft_s for ttft_s, _ in known]), 1 / median(rate for _, rate in known))

"""Part `bytes`: the size of an answer as token ids and as UTF-8 text (DiSCo §4.3, with the cl100k_base tokenizer)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from hocket_daemon.engine.backends.automatic import resolved
from hocket_daemon.engine.opening.engines import open_model
from hocket_daemon.engine.settings import ModelSettings
from hocket_lab.bench.dispatch.inputs import ALPACA
from hocket_lab.reporting.report import Report, Row

PART = "bytes"
ID_BYTES = 3
PAPER = {"3 bytes an id": 0.3562, "bits": 0.5440}


def measure(report: Report, data: Path, published: str, answers: int) -> None:
    """Add the row of a model's tokenizer, of the first of Alpaca's answers."""
    name = Path(resolved(published)).name
    if report.find(part=PART, model=name) is None:
        model = open_model(ModelSettings(name=published, slots=1, context=64), "device")
        texts = [each["output"] for each in json.loads((data / ALPACA).read_text(encoding="utf-8"))[:answers]]
        encode = model.layout("complete").encode
        tokens = [len(encode("", text, "")) for text in texts]
        report.add({"part": PART, "model": name, **weights(texts, tokens, model.vocabulary)})


def weights(texts: Sequence[str], tokens: Sequence[int], vocabulary: int) -> Row:
    """Return the bytes of `texts` as UTF-8, and of as many ids as each has tokens, from a vocabulary of that size."""
    bits = (vocabulary - 1).bit_length()
    return {
        "vocabulary": vocabulary,
        "answers": len(texts),
        "tokens": sum(tokens),
        "utf8_bytes": sum(len(text.encode()) for text in texts),
        "id_bytes": ID_BYTES * sum(tokens),
        "id_bits": bits,
        "packed_bytes": sum(-(-bits * number // 8) for number in tokens),  # each answer is filled up to whole bytes
    }


def claim(report: Report) -> list[Row]:
    """Claim that ids take fewer bytes than text; return the shares saved, beside the paper's."""
    shown: list[Row] = []
    for row in report.rows:
        if row["part"] == PART:
            text = float(row["utf8_bytes"] or 1)
            saved = {
                "3 bytes an id": 1 - float(row["id_bytes"] or 0) / text,
                "bits": 1 - float(row["packed_bytes"] or 0) / text,
            }
            report.claim(
                f"ids of {row['id_bits']} bits take fewer bytes than text, {row['model']}: share saved", "> 0",
                saved["bits"], saved["bits"] > 0,
            )  # fmt: skip
            shown += [
                {"part": PART, "case": f"{row['model']}, {row['answers']} answers", "figure": f"saved, {how}",
                 "value": share, "beside": f"§4.3: {PAPER[how]:.2%}"}
                for how, share in saved.items()
            ]  # fmt: skip
    return shown

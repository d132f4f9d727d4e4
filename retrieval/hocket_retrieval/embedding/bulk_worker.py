"""The process that embeds many texts for bulk.py: `FOLDER THREADS PRECISION`.

It says by an empty frame that it has loaded the model, or else why not. A request is a list of texts, in msgpack; the
answer is the float32 of their vectors.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec

from hocket_bus.trust.unseen import close_memory

from ..parsing.frames import read_frame, write_frame


def main() -> None:
    """Answer until the other end is gone."""
    asked, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    close_memory()
    folder, threads, precision = sys.argv[1:]
    try:
        from .torch_bert import TorchBert
        from .torch_pass import Vectors, encoded, in_bfloat16, of_texts

        model = TorchBert(Path(folder))
    except Exception as error:  # noqa: BLE001 - whatever it is, the other end says it
        write_frame(answers, (" ".join(str(error).split())[:200] or type(error).__name__).encode())
        return
    bfloat16 = in_bfloat16(precision, model.device)

    def encode(batch: list[str]) -> Vectors:
        return encoded(model, model.preprocess(batch), model.device, threads=int(threads), bfloat16=bfloat16)

    write_frame(answers, b"")
    while (frame := read_frame(asked)) is not None:
        texts = msgspec.msgpack.decode(frame, type=list[str])
        write_frame(answers, of_texts(texts, model.dimension, encode).tobytes())


if __name__ == "__main__":
    main()

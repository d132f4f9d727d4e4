"""A GGUF file written again with other numbers: what a processor multiplies fastest, and nothing else changed."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType, GGUFValueType

_OWN = {"general.architecture", "general.file_type"}  # what is written of itself


def requantise(file: Path, target: Path, kind: str) -> None:
    """Write `file` as `target` with matrices of a `kind` that gguf has, as BF16, and vectors in float32."""
    read = gguf.GGUFReader(file)
    writer = gguf.GGUFWriter(str(target), read.fields["general.architecture"].contents())
    writer.add_file_type(gguf.LlamaFileType[f"MOSTLY_{kind}"])
    for field in read.fields.values():
        if not field.name.startswith("GGUF.") and field.name not in _OWN:
            inner = field.types[-1] if field.types[0] == GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, field.contents(), field.types[0], sub_type=inner)
    for tensor in read.tensors:
        shape = [int(size) for size in reversed(tensor.shape)]
        numbers = np.ascontiguousarray(gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape(shape))
        stored = GGMLQuantizationType[kind] if numbers.ndim > 1 else GGMLQuantizationType.F32
        writer.add_tensor(tensor.name, gguf.quants.quantize(numbers, stored), raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()

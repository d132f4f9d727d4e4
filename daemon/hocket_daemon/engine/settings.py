"""The settings of the model that writes: a model here and its stored KV, or a server of text elsewhere."""

from __future__ import annotations

import os
from typing import Annotated, Literal

from msgspec import Meta, Struct

from hocket_bus.config import FOR_EXPERTS, FilePath
from hocket_bus.web.server_address import KeyFile

AUTO, BUNDLED = "auto", "bundled"
TUNED = {BUNDLED: "bundled-composition", "smollm2": "smollm2-composition"}  # for composition; the latter is an adapter
PREFILL_TOKENS = 128
MAX_THINKING = 65_536  # tokens before an answer
MAX_LOGPROBS = 4096  # as many as any head names
Engine = Literal["auto", "vllm", "openai"]
Api = Literal["completions", "chat"]
ReadsTurns = Literal["auto", "always", "never"]


class ModelSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The language model. Both sides need models with the same tokenizer; sizes may differ."""

    name: Annotated[
        str,
        Meta(
            description="a model that `hocket model get` has got, `bundled`, a folder, a `.gguf` file, or a "
            "Hugging Face name; `auto` is the best one on this machine whose measured step is bearable, or `bundled`"
        ),
    ] = AUTO
    engine: Annotated[
        Engine,
        Meta(
            description="`auto` is llama.cpp for a `.gguf` file and transformers for anything else; `vllm` is for a "
            "GPU server (docs/models.md); `openai`: the server of `[server]` reads the passages and writes, and of "
            "`name` only the tokenizer is loaded"
        ),
    ] = "auto"
    vllm: Annotated[
        dict[str, bool | int | float | str],
        Meta(description="handed on to vLLM's engine under its own names, such as `tensor_parallel_size`"),
    ] = {}
    context: Annotated[int, Meta(ge=1, description="tokens that a row can hold: prompt and answer together")] = 1024
    slots: Annotated[int, Meta(ge=1, description="rows kept at once; a request takes one for each passage")] = 16
    kv_bytes: Annotated[
        int,
        Meta(ge=0, description="what the slots may take in memory; more is refused at the start; 0: any"),
        FOR_EXPERTS,
    ] = 4_000_000_000
    prefill_tokens: Annotated[
        int,
        Meta(
            ge=0,
            description="tokens of a prompt in one forward pass, in which other sessions decode, too; 0: 128, or on a "
            "GPU as many as a pass reads in the time of two decode steps, measured at the start",
        ),
        FOR_EXPERTS,
    ] = 0
    threads: Annotated[
        int,
        Meta(
            ge=0,
            le=256,
            description="CPU threads of a forward pass; more than are idle make it slower; 0: half of the cores, "
            "as the other half is the other side's where both run on one machine",
        ),
    ] = 0
    dtype: Annotated[
        str,
        Meta(
            description="`float32`, `bfloat16`, `float16`; `auto` is bfloat16 on a GPU, and on a CPU float32 or the "
            "fastest format of a model; of a `.gguf` file it is that of keys and values, `auto` being float16"
        ),
    ] = "auto"

    turns: Annotated[
        ReadsTurns,
        Meta(
            description="whether earlier turns of a conversation are read where passages are; `auto`: by a model of "
            "400 million weights or more, as a smaller one repeats its earlier answers; they are searched with anyway"
        ),
    ] = "auto"
    rewrites: Annotated[
        bool,
        Meta(
            description="a question that refers to those before it is written again by this model, and so searched; "
            "it takes a short text of the model's, and a small model does it badly"
        ),
    ] = False

    @property
    def compute_threads(self) -> int:
        """CPU threads of a forward pass on this machine."""
        return self.threads or max(1, (os.cpu_count() or 1) // 2)


class KVSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Storage of what the model computed of passages: docs/kv.md."""

    folder: Annotated[FilePath, Meta(description="where it is kept, readable by this user only; empty: nowhere")] = ""
    budget_bytes: Annotated[int, Meta(ge=0, description="the least recently used passages go when this is reached")] = (
        2_000_000_000
    )


class ServerSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A server with OpenAI's API, such as vLLM or llama.cpp, that writes text; what it is told: docs/privacy.md."""

    url: Annotated[
        str,
        Meta(
            description="where it listens: `https://host`, or `http://localhost:port` on this machine alone; "
            "a path takes the place of `/v1`; empty: there is none"
        ),
    ] = ""
    model: Annotated[str, Meta(description="the model's name there; must be set where `url` is")] = ""
    api: Annotated[
        Api,
        Meta(
            description="`completions` (/v1/completions), or `chat` (/v1/chat/completions), "
            "which cannot go on from a text that is begun"
        ),
    ] = "completions"
    key_file: KeyFile = ""
    logprobs: Annotated[
        int,
        Meta(
            ge=0,
            le=MAX_LOGPROBS,
            description="where it is this side's model: of how many of the likeliest next tokens it tells the "
            "log-probabilities, so that the side aggregates (docs/dispatch.md); 0: it is asked for text alone",
        ),
    ] = 0
    thinking: Annotated[
        int,
        Meta(
            ge=0,
            le=MAX_THINKING,
            description="tokens that the model there may think before each answer, beyond the answer's own; "
            "0: it is asked not to think (docs/dispatch.md)",
        ),
    ] = 0
    connect_wait_s: Annotated[float, Meta(gt=0, description="how long connecting may take"), FOR_EXPERTS] = 5.0
    first_wait_s: Annotated[
        float, Meta(gt=0, description="how long the first piece of a text may take"), FOR_EXPERTS
    ] = 60.0
    piece_wait_s: Annotated[float, Meta(gt=0, description="how long each further piece may take"), FOR_EXPERTS] = 20.0

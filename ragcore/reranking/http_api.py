"""Reranking by a server: Text Embeddings Inference, or what speaks Jina's and Cohere's protocol."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ragcore.client_registry import ClientKind, ClientSettings, is_retryable, tls_context
from ragcore.errors import ModelUnavailableError, RerankerRefusedError
from ragcore.server_words import server_words

WAITS_SECONDS = (0.2, 0.6)  # before each repetition: somebody is waiting for the answer
MAX_BYTES = 4 * 1024 * 1024  # of an answer
TINY = 1e-9  # probabilities nearer to 0 or 1 count as this far away


class HttpPairScorer:
    """Implements PairScorer. Scores are logits, higher is better.

    Without `model`: `POST /rerank {"query", "texts", "raw_scores": true}`. With one: `{"model", "query", "documents"}`.
    Either answer is understood: `[{"index", "score"}]` (logits) and `{"results": [{"index", "relevance_score"}]}`
    (probabilities, which become logits). 408, 409, 425, 429, 5xx, timeouts and lost connections are tried again, twice
    at most and never beyond `budget_seconds` for all passages of a question; then ModelUnavailableError. Any other
    answer raises RerankerRefusedError.
    """

    client = ClientKind(kind="http", argument="MODEL", is_argument_optional=True, needs_url=True)
    cliff = 0.8
    low = 0.0

    def __init__(
        self,
        url: str,
        api_key: str = "",
        *,
        model: str = "",
        batch: int = 0,
        budget_seconds: float = 5.0,
        permitted: Callable[[str, int], Sequence[str]] | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:

        from ragcore.checked_hosts import CheckedTransport
        from ragcore.reconnecting import ReconnectingClient

        self.name = f"http:{model}" if model else "http"
        self._url = url if url.rstrip("/").endswith("/rerank") else f"{url.rstrip('/')}/rerank"
        self.scores_name = f"http:{hashlib.sha256(f'{self._url} {model}'.encode()).hexdigest()[:32]}"
        self._model, self._key = model, api_key
        self._batch = batch or 32  # what TEI accepts without being configured
        self._budget_seconds = budget_seconds
        self._clock, self._sleep = clock, sleep
        self._client = ReconnectingClient(
            headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
            verify=tls_context(),
            transport=CheckedTransport(permitted) if permitted else None,
        )

    @classmethod
    def from_settings(cls, argument: str, settings: ClientSettings) -> HttpPairScorer:
        """The configured server; with a name, this model of it."""
        return cls(
            settings.base_url,
            settings.api_key,
            model=argument,
            batch=settings.batch,
            budget_seconds=settings.budget_seconds,
            permitted=settings.permitted,
        )

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """See PairScorer."""
        deadline = self._clock() + self._budget_seconds
        batches = (texts[at : at + self._batch] for at in range(0, len(texts), self._batch))
        return [score for batch in batches for score in self._scored(question, batch, deadline)]

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _scored(self, question: str, texts: Sequence[str], deadline: float) -> list[float]:
        waits = iter(WAITS_SECONDS)
        while True:
            status, content = self._post(self._body(question, texts), deadline)
            if status == 200:
                return scores_of(content, len(texts))
            server_text = server_words(content.decode("utf-8", "replace"), key=self._key)
            if isinstance(status, int) and not is_retryable(status):
                raise RerankerRefusedError("request_refused", status=status, detail=server_text)
            wait = next(waits, None)
            if wait is None or self._clock() + wait >= deadline:
                raise ModelUnavailableError("reranker_silent", model=self.name, status=status, detail=server_text)
            self._sleep(wait)

    def _body(self, question: str, texts: Sequence[str]) -> Mapping[str, Any]:
        if self._model:
            return {
                "model": self._model,
                "query": question,
                "documents": list(texts),
                "top_n": len(texts),
                "return_documents": False,
            }
        return {"query": question, "texts": list(texts), "raw_scores": True, "truncate": True}

    def _post(self, body: Mapping[str, Any], deadline: float) -> tuple[int | str, bytes]:
        """The status and the body of an answer; the name of the problem where there is none before the deadline."""
        import httpx

        content = bytearray()
        seconds = max(deadline - self._clock(), 0.01)
        try:
            with self._client.stream("POST", self._url, json=body, timeout=seconds) as response:
                for part in response.iter_bytes():
                    content += part
                    if len(content) > MAX_BYTES:
                        raise RerankerRefusedError("answer_endless")
                    if self._clock() >= deadline:
                        return "it took too long", b""
                return response.status_code, bytes(content)
        except httpx.TransportError as error:
            return type(error).__name__, b""
        except httpx.HTTPError as error:  # an encoding that does not decode, too many redirects
            raise RerankerRefusedError("answer_unreadable", problem=str(error)) from error


def scores_of(content: bytes, expected: int) -> list[float]:
    """Logits of an answer in the order of the texts. Raises RerankerRefusedError if they are not all there, once."""
    try:
        answer = json.loads(content)
        key, rows = ("relevance_score", answer["results"]) if isinstance(answer, dict) else ("score", answer)
        values = {_index(row["index"]): _number(row[key]) for row in rows}
    except (ValueError, KeyError, TypeError) as error:
        raise RerankerRefusedError("answer_format") from error
    if len(rows) != expected or set(values) != set(range(expected)):
        raise RerankerRefusedError("wrong_count", given=len(rows), expected=expected)
    logits = {index: logit(value) for index, value in values.items()} if key == "relevance_score" else values
    return [logits[index] for index in range(expected)]


def logit(probability: float) -> float:
    """log(p / (1 - p)); what lies outside 0 to 1 goes on in a straight line, so that the order stays."""
    inside = min(max(probability, TINY), 1 - TINY)
    return math.log(inside / (1 - inside)) + (probability - inside)


def _index(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("an index is a whole number")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError("a score is a finite number")
    return float(value)

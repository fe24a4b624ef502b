"""Embeddings from an OpenAI-compatible endpoint, such as TEI, vLLM or a hosted service."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ragcore.client_registry import ClientKind, ClientSettings, delays, is_retryable, tls_context
from ragcore.embedding.script_trust import trust_told
from ragcore.embedding.vectors import DIMENSIONS, as_given, model_label
from ragcore.errors import EmbedderRefusedError, ModelUnavailableError
from ragcore.server_words import server_words

FloatArray = npt.NDArray[np.float32]

TIMEOUT_SECONDS = 30.0


class OpenAIEmbedder:
    """Implements ports.Embedder over HTTP.

    Where it is patient, it retries three times, after 1, 2 and 4 s, on 429, 5xx, timeouts and lost connections, then it
    raises ModelUnavailableError. Raises EmbedderRefusedError for other answers and for vectors below 64 dimensions;
    those of more than 768, such as those of bge-m3, need `shorten`.
    """

    client = ClientKind(kind="openai", argument="MODEL", needs_url=True)
    dimensions = DIMENSIONS

    def __init__(
        self,
        base_url: str,
        api_key: str,
        model: str,
        *,
        batch: int = 32,
        timeout_seconds: float = TIMEOUT_SECONDS,
        is_patient: bool = True,
        query_prefix: str = "",
        document_prefix: str = "",
        shorten: Callable[..., FloatArray] | None = None,
        permitted: Callable[[str, int], Sequence[str]] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:

        from ragcore.checked_hosts import CheckedTransport
        from ragcore.reconnecting import ReconnectingClient

        self.model = model_label(model, query_prefix, document_prefix)
        self._name, self._key = model, api_key
        self._batch = batch
        self._prefixes = {"query": query_prefix, "document": document_prefix}
        self._sleep, self._is_patient = sleep, is_patient
        self._shorten = shorten or as_given
        self._client = ReconnectingClient(
            base_url=base_url.rstrip("/") + "/",
            headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
            timeout=timeout_seconds,
            verify=tls_context(),
            transport=CheckedTransport(permitted) if permitted else None,
        )

    @classmethod
    def from_settings(cls, argument: str, settings: ClientSettings) -> OpenAIEmbedder:
        """The model of this name at the configured server."""
        return cls(
            base_url=settings.base_url,
            api_key=settings.api_key,
            model=argument,
            timeout_seconds=TIMEOUT_SECONDS if settings.is_patient else settings.budget_seconds,
            is_patient=settings.is_patient,
            query_prefix=settings.query_prefix,
            document_prefix=settings.document_prefix,
            shorten=settings.shorten,
            permitted=settings.permitted,
        )

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        """See ports.Embedder."""
        return self._embed([self._prefixes["document"] + text for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        """See ports.Embedder."""
        return self._embed([self._prefixes["query"] + text for text in texts])

    def trust(self, cjk_share: float) -> float:
        """As measured with `shorten`; 1 where it was not."""
        return trust_told(self._shorten, cjk_share)

    def warm(self) -> None:
        """Ask for one vector; raises if the endpoint is away or its vectors do not fit."""
        self.embed_queries(["ready"])

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def whole_vectors(self, texts: Sequence[str]) -> FloatArray:
        """float32[n, d] of documents, as the model gives them."""
        prefixed = [self._prefixes["document"] + text for text in texts]
        rows = [self._request(prefixed[at : at + self._batch]) for at in range(0, len(prefixed), self._batch)]
        if len({row.shape[1] for row in rows}) > 1:
            raise EmbedderRefusedError("answer_format")
        return np.vstack(rows or [np.zeros((0, DIMENSIONS), np.float32)])

    def _embed(self, texts: list[str]) -> FloatArray:
        batches = [texts[at : at + self._batch] for at in range(0, len(texts), self._batch)]
        rows = [self._shorten(self._request(batch), model=self.model) for batch in batches]
        return np.vstack([np.zeros((0, DIMENSIONS), np.float32), *rows])

    def _request(self, texts: list[str]) -> FloatArray:
        """float32[n, d] of one batch."""
        import httpx

        waits = delays() if self._is_patient else iter(())
        while True:
            try:
                response = self._client.post("embeddings", json={"model": self._name, "input": texts})
                problem = f"status {response.status_code}"
            except httpx.TransportError as error:
                response, problem = None, type(error).__name__
            except httpx.HTTPError as error:  # an encoding that does not decode, too many redirects
                raise EmbedderRefusedError("answer_format", detail=str(error)) from error
            if response is not None and response.is_success:
                return self._vectors(response, len(texts))
            server_text = server_words(response.text, key=self._key) if response is not None else ""
            if response is not None and not is_retryable(response.status_code):
                raise EmbedderRefusedError(
                    "request_refused", status=response.status_code, detail=server_text, problem=problem
                )
            wait = next(waits, None)
            if wait is None:
                raise ModelUnavailableError("embedder_silent", model=self.model, problem=problem, detail=server_text)
            self._sleep(wait)

    def _vectors(self, response: Any, expected: int) -> FloatArray:
        """float32[n, d] of a response in the order of the texts.

        Raises EmbedderRefusedError if they are not all there, or are not numbers of one length.
        """
        try:
            return vectors_of(response.json(), expected)
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            server_text = server_words(response.text, key=self._key)
            raise EmbedderRefusedError("answer_format", detail=server_text) from error


def vectors_of(answer: Any, expected: int) -> FloatArray:
    """float32[n, d] of an answer in the order of the texts.

    Raises EmbedderRefusedError if they are not all there, and ValueError, KeyError, TypeError or OverflowError for
    what are not numbers of one length, base64 among it.
    """
    rows = sorted(answer["data"], key=lambda row: row["index"])
    if len(rows) != expected:
        raise EmbedderRefusedError("wrong_count", given=len(rows), expected=expected)
    vectors = np.array([row["embedding"] for row in rows], dtype=np.float32)
    if vectors.ndim != 2:
        raise ValueError("a vector is a list of numbers")
    return vectors

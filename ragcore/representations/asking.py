"""Asking a chat model for a JSON object, and giving up on one that does not answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ragcore.errors import ModelUnavailableError
from ragcore.llm.client import fenced, json_values
from ragcore.llm.generators import collect
from ragcore.ports import ChatMessage, ChatModel
from ragcore.prompts import load

GIVE_UP_AFTER = 3  # requests in a row that failed after all retries; the rest of the document does not wait for more
MAX_TOKENS = 800  # of a reply


class Asker:
    """Puts prompts to a model and counts why there was no usable reply.

    Counts: "model.unavailable", "model.interrupted", "model.invalid" (not the object that was asked for),
    "model.skipped" (not asked any more) and, by the caller, "model.refused" (a reply that failed the checks).
    """

    def __init__(self, model: ChatModel | None, counts: Counter[str]) -> None:
        self._model = model
        self._counts = counts
        self._failures = 0  # in a row

    @property
    def has_model(self) -> bool:
        """Whether there is anyone to ask."""
        return self._model is not None

    async def ask(
        self, prompt: str, *, temperature: float, keys: tuple[str, ...], **values: str
    ) -> dict[str, str] | None:
        """The strings under `keys` of the model's JSON reply; None if there is none. Never raises for the model."""
        if self._model is None:
            return None
        if self._failures >= GIVE_UP_AFTER:
            self._counts["model.skipped"] += 1
            return None
        text = load(prompt).render(**{name: fenced(value) for name, value in values.items()})
        reply = await self._complete(self._model, text, temperature)
        if reply is None:
            return None
        found = strings(reply, keys)
        if found is None:
            self._counts["model.invalid"] += 1
        return found

    def refuse(self) -> None:
        """Count a reply that the caller's checks refused."""
        self._counts["model.refused"] += 1

    async def _complete(self, model: ChatModel, text: str, temperature: float) -> str | None:
        messages = [ChatMessage(role="user", content=text)]
        try:
            read = await collect(model.stream(messages, temperature=temperature, max_tokens=MAX_TOKENS))
        except ModelUnavailableError:
            self._failures += 1
            self._counts["model.unavailable"] += 1
            return None
        if read.interrupted:
            self._counts["model.interrupted"] += 1
            return None
        self._failures = 0
        return read.text


def strings(reply: str, keys: tuple[str, ...]) -> dict[str, str] | None:
    """The non-empty strings under these keys of the first JSON object in a reply; None if one is missing."""
    data = next((value for value in json_values(reply) if isinstance(value, Mapping)), {})
    found = {key: data[key].strip() for key in keys if isinstance(data.get(key), str) and data[key].strip()}
    return found if len(found) == len(keys) else None

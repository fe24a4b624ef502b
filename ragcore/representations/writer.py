"""Summaries and questions of chunks, by a model where it does well and by rules where not.

What rules wrote because the model gave nothing usable is told by chunk and kind (`WrittenTexts.missed`), so that the
model can be asked again for exactly that.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from ragcore.chunking.sections import PATH_SEPARATOR
from ragcore.errors import ModelUnavailableError
from ragcore.llm.client import fenced, json_values, wish_again
from ragcore.llm.generators import collect
from ragcore.llm.model_profile import profile_of
from ragcore.llm.request_fields import reply_format, with_fields, without_thinking
from ragcore.options import RepresentationOptions
from ragcore.ports import ChatMessage, ChatModel, TokenCounter, Tokenizer
from ragcore.prompts import load
from ragcore.representations.questions import rule_questions, select_questions
from ragcore.representations.summaries import extractive_summary, is_acceptable, is_short
from ragcore.text.scripts import language_of
from ragcore.types import ChunkDraft

EntryKind = Literal["body", "window", "summary", "question", "caption", "table"]
# Why a model wrote nothing usable: no answer; one that broke off; not the object that was asked for; a prompt that it
# does not take; a text that the checks refused. Only the first says nothing about the chunk.
Failure = Literal["unavailable", "interrupted", "invalid", "rejected", "refused"]
Missed = Mapping[EntryKind, Failure]  # what rules wrote, or nobody, although a model was asked

SUMMARY_TEMPERATURE = 0.3
QUESTION_TEMPERATURE = 0.6
INPUT_TOKENS = 4000  # of a text that a model is shown
PART_TOKENS = 60  # of the beginning of each part of a section
_LANGUAGES = {"zh": "Chinese", "en": "English", "other": "the language of the text"}
_KINDS = ("factual", "explanatory", "comparative")
GIVE_UP_AFTER = 3  # requests in a row that failed after all retries; the rest of the document does not wait for more
MAX_TOKENS = 800  # of a reply


@dataclass(frozen=True, slots=True)
class WrittenTexts:
    """Entries for one chunk, and the chunk itself where its stored text changes."""

    entries: tuple[tuple[EntryKind, str], ...] = ()
    draft: ChunkDraft | None = None
    missed: Missed = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PromptReply:
    """The strings of a model's reply, or why there are none; neither where there is no model."""

    values: Mapping[str, str] = field(default_factory=dict)
    failure: Failure | None = None


NOTHING_WRITTEN = WrittenTexts()


@dataclass(frozen=True, kw_only=True)
class Writer:
    """Writes for one document; `counts` gets one more under what was done for each chunk."""

    prompter: JsonPrompter
    drafts: Sequence[ChunkDraft]
    options: RepresentationOptions
    tokenizer: Tokenizer
    counter: TokenCounter
    counts: Counter[str] = field(default_factory=Counter)

    def wants(self, draft: ChunkDraft) -> bool:
        """Whether there is anything to write about a chunk."""
        if draft.kind == "section":
            return self.prompter.has_model or self.options.summaries
        return self.options.summaries or self.options.questions

    async def write(self, draft: ChunkDraft) -> WrittenTexts:
        """What the options ask for, for a chunk that is wanted; nothing where nothing could be made of its text."""
        if draft.kind == "section":
            return await self._section(draft)
        entries: list[tuple[EntryKind, str]] = []
        missed: dict[EntryKind, Failure] = {}
        if self.options.summaries:
            texts, failure = await self._summary(draft)
            entries += [("summary", text) for text in texts]
            missed |= {"summary": failure} if failure else {}
        if self.options.questions:
            texts, failure = await self._questions(draft)
            entries += [("question", text) for text in texts]
            missed |= {"question": failure} if failure else {}
        return WrittenTexts(tuple(entries), missed=missed)

    async def _summary(self, draft: ChunkDraft) -> tuple[Sequence[str], Failure | None]:
        """One text; none for a short chunk, which is its own summary and indexed as such already."""
        if is_short(draft.text, self.tokenizer):
            self.counts["summary.short"] += 1
            return (), None
        summary, failure = await self._asked_summary("chunk_summary", draft.text)
        self.counts["summary.model" if summary else "summary.extractive"] += 1
        text = summary or extractive_summary(draft.text, tokenizer=self.tokenizer, counter=self.counter)
        return ([text] if text else []), failure

    async def _section(self, draft: ChunkDraft) -> WrittenTexts:
        """A written summary in front of the outline. Without one the outline stays, indexed where summaries are wanted.

        By default it stays out of the index. It only repeats its parts, which are found themselves: indexed, it
        answered none of 300 questions on 3GPP specifications better, took one place in thirty among the first ten, and
        questions about a whole section were met by its parts anyway.
        """
        heading = PATH_SEPARATOR.join(draft.heading_path)
        summary, failure = await self._asked_summary("section_summary", self._material(draft), heading=heading)
        self.counts["section.model" if summary else "section.outline"] += 1
        if not summary:
            outline: tuple[tuple[EntryKind, str], ...] = (("summary", draft.text),) if self.options.summaries else ()
            return WrittenTexts(outline, missed={"summary": failure} if failure else {})
        text = f"{summary}\n\n{draft.text}"
        return WrittenTexts((("summary", summary),), replace(draft, text=text, tokens=self.counter.count(text)))

    async def _asked_summary(self, prompt: str, text: str, **values: str) -> tuple[str, Failure | None]:
        """A model's summary that passes the checks; or nothing, and why a model that was asked gave none."""
        excerpt = self.counter.truncate(text, INPUT_TOKENS)
        language = _LANGUAGES[language_of(text)]
        reply = await self.prompter.ask(
            prompt, temperature=SUMMARY_TEMPERATURE, keys=("summary",), language=language, text=excerpt, **values
        )
        if reply.values and is_acceptable(reply.values["summary"], excerpt, self.tokenizer):
            return reply.values["summary"], None
        return "", self.prompter.refuse() if reply.values else reply.failure

    async def _questions(self, draft: ChunkDraft) -> tuple[Sequence[str], Failure | None]:
        reply = await self.prompter.ask(
            "chunk_questions",
            temperature=QUESTION_TEMPERATURE,
            keys=_KINDS,
            language=_LANGUAGES[language_of(draft.text)],
            heading=PATH_SEPARATOR.join(draft.heading_path),
            text=self.counter.truncate(draft.text, INPUT_TOKENS),
        )
        questions = [reply.values[kind] for kind in _KINDS] if reply.values else []
        selected = select_questions(questions, draft.text, self.tokenizer)
        self.counts["question.model" if selected else "question.rules"] += 1
        if selected:
            return selected, None
        failure = self.prompter.refuse() if questions else reply.failure
        return rule_questions(draft.text, draft.heading_path, self.tokenizer), failure

    def _material(self, section: ChunkDraft) -> str:
        """A section's outline and the beginnings of all chunks below it."""
        beginnings: list[str] = []
        pending = list(reversed(self._children[section.ordinal]))
        while pending:
            child = pending.pop()
            pending.extend(reversed(self._children[child.ordinal]))
            if child.kind != "section":
                beginnings.append(self.counter.truncate(child.text, PART_TOKENS))
        return "\n\n".join([section.text, *beginnings])

    @cached_property
    def _children(self) -> dict[int, list[ChunkDraft]]:
        children: dict[int, list[ChunkDraft]] = defaultdict(list)
        for draft in self.drafts:
            if draft.parent is not None:
                children[draft.parent].append(draft)
        return children


class JsonPrompter:
    """Puts prompts to a model and counts why there was no usable reply.

    Counts: "model.unavailable", "model.interrupted", "model.invalid" (not the object that was asked for),
    "model.skipped" (not asked any more) and, by the caller, "model.refused" (a reply that failed the checks).
    It is not asked any more after GIVE_UP_AFTER requests in a row that failed, or after `silences` without an answer.
    JSON is asked for in the way of the model's profile, once more where it is another one ("model.repeated"); a model
    that writes none is not asked.
    """

    def __init__(self, model: ChatModel | None, counts: Counter[str], *, silences: int = GIVE_UP_AFTER) -> None:
        profile = profile_of(model)
        self._model = None if profile.json == "none" else model
        self._way, self._thinking = profile.json, without_thinking(profile)
        self._counts = counts
        self._most_silences = silences
        self._failures = 0  # in a row
        self._silences = 0  # of them, those that say nothing about the prompt

    @property
    def has_model(self) -> bool:
        """Whether a model is configured."""
        return self._model is not None

    async def ask(self, prompt: str, *, temperature: float, keys: tuple[str, ...], **values: str) -> PromptReply:
        """The strings under `keys` of the model's JSON reply, or why there are none. Never raises for the model."""
        if self._model is None:
            return PromptReply()
        if self._failures >= GIVE_UP_AFTER or self._silences >= self._most_silences:
            self._counts["model.skipped"] += 1
            return PromptReply(failure="unavailable")
        text = load(prompt).render(**{name: fenced(value) for name, value in values.items()})
        messages = [ChatMessage(role="user", content=text)]
        fields = {**self._thinking, **reply_format(self._way, _schema(keys), name=prompt)}
        reply, failure = await self._complete(self._model, messages, temperature, fields)
        strings = read_strings(reply, keys)
        if failure is None and strings is None and reply.strip():
            self._counts["model.repeated"] += 1
            messages += wish_again(reply, f"It needs texts under: {', '.join(keys)}.")
            reply, failure = await self._complete(self._model, messages, temperature, fields)
            strings = read_strings(reply, keys)
        if failure is not None:
            return PromptReply(failure=failure)
        if strings is None:
            self._counts["model.invalid"] += 1
            return PromptReply(failure="invalid")
        return PromptReply(strings)

    def refuse(self) -> Failure:
        """Count a reply that the caller's checks refused."""
        self._counts["model.refused"] += 1
        return "refused"

    async def _complete(
        self, model: ChatModel, messages: Sequence[ChatMessage], temperature: float, fields: Mapping[str, Any]
    ) -> tuple[str, Failure | None]:
        events = with_fields(model, fields).stream(messages, temperature=temperature, max_tokens=MAX_TOKENS)
        try:
            read = await collect(events)
        except ModelUnavailableError as error:
            self._failures += 1
            self._silences += not error.is_about_prompt
            self._counts["model.unavailable"] += 1
            return "", "rejected" if error.is_about_prompt else "unavailable"
        if read.interrupted:
            self._counts["model.interrupted"] += 1
            return "", "interrupted"
        self._failures = self._silences = 0
        return read.text, None


def _schema(keys: Sequence[str]) -> dict[str, Any]:
    """Of an object with texts under these keys."""
    return {"type": "object", "properties": {key: {"type": "string"} for key in keys}}


def read_strings(reply: str, keys: tuple[str, ...]) -> dict[str, str] | None:
    """The non-empty strings under these keys of the first JSON object in a reply; None if one is missing."""
    data = next((value for value in json_values(reply) if isinstance(value, Mapping)), {})
    strings = {key: data[key].strip() for key in keys if isinstance(data.get(key), str) and data[key].strip()}
    return strings if len(strings) == len(keys) else None

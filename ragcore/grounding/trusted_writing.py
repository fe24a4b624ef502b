"""A language model writes as far as it can be trusted: its profile says the way, and what fails goes the next one.

Whatever the model does, the reader gets an answer that is no worse than the quoted one: text that no source says is
left out, and where nothing is left the sources are quoted.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from ragcore.extractive.formatting import Wording, is_language_line, is_remark, wording_for
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.extractive.single_fact import asks_single_fact
from ragcore.grounding.attribution import Attributor
from ragcore.grounding.context import render_context
from ragcore.grounding.figure_marks import FigureMarks
from ragcore.grounding.markers import MarkerStream
from ragcore.grounding.quoted_sentences import QuotedSentences
from ragcore.grounding.sentence_guard import SentenceGuard, may_become_refusal, says_no_answer
from ragcore.grounding.source_texts import MARKER
from ragcore.llm.client import fenced
from ragcore.llm.generators import EndEvent
from ragcore.llm.model_profile import ModelProfile, WritingWay
from ragcore.ports import ChatMessage, Embedder, GenerationEvent, GenerationRequest, TokenCounter, Tokenizer
from ragcore.prompts import load
from ragcore.prompts.languages import language_name
from ragcore.prompts.refusals import is_refusal
from ragcore.text.markdown import is_row
from ragcore.text.scripts import language_of
from ragcore.text.sentences import split_sentences
from ragcore.types import Source

logger = logging.getLogger(__name__)

READ_SECONDS = 8.0  # of a prompt of plain sentences, at most
PLAIN_TOKENS = 2_000  # of sources for a model that cannot cite
HELD_CHARACTERS = 240  # of the beginning of a text that may become a refusal
SHORT_CHARACTERS = 20  # of a sentence that may come again and again
MOST_REPEATS = 3  # of one sentence, after which a model goes round in a circle
MOST_EQUAL_LINES = 20  # of a table, or of code
SENTENCE_ENDS = (".", "!", "?", "。", "！", "？")
NEXT_WAYS: dict[WritingWay, tuple[WritingWay, ...]] = {
    "marks": ("marks", "fill"),
    "plain": ("plain", "fill"),
    "fill": ("fill",),
    "quote": (),
}
_LIST = re.compile(r"^[ \t]*+(?:[-*+]|\d{1,3}[.)])[ \t]", re.MULTILINE)
_SIGN = re.compile(r"^[ \t]*+(?:>[ \t]?|[-*+][ \t])", re.MULTILINE)
_END = re.compile(r"[.!?。！？\n]")
_LETTER = re.compile(r"[^\W\d_]")

Read = Callable[[GenerationRequest], AsyncGenerator[GenerationEvent, None]]


Check = Callable[[str], Awaitable[bool | None]]


async def _never() -> bool:
    return False


class GivenUpError(Exception):
    """The model's text is of no use; nothing of it was shown. `event`: its last one, with the text of a refusal."""

    def __init__(self, reason: str, event: GenerationEvent | None = None) -> None:
        super().__init__(reason)
        self.reason, self.event = reason, event


@dataclass(slots=True, kw_only=True)
class TrustedWriting:
    """Writes one answer. `extract` quotes where the model is of no use.

    `is_answerable`: whether the sources answer by all that is known; looked at where the model refuses. `states`:
    whether a quoted text states the answer, None where that is not known; without it nobody asks. `is_doubted`: it does
    not, so that the answer is headed as the passage that fits best. `counts`: sentences that were left out, and ways
    that were given up, by reason.
    """

    profile: ModelProfile
    extract: ExtractiveGenerator
    tokenizer: Tokenizer
    counter: TokenCounter
    embedder: Embedder | None = None
    is_answerable: Callable[[], Awaitable[bool]] = _never
    states: Check | None = None
    is_doubted: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    way: WritingWay = "marks"  # in which the text was written that is shown
    _notes: FigureMarks | None = None
    _blocks: list[str] | None = None  # of the quoted answer

    async def stream(self, request: GenerationRequest, read: Read) -> AsyncIterator[GenerationEvent]:
        """The events of the answer; `read` asks the model. Raises what it raises. Without a word of it no text comes.

        A refusal is believed where the sources do not answer; else the next way is tried, and at last they are quoted.
        """
        lead = await self._lead(request)
        async with aclosing(self._by_ways(request, read)) as events:
            async for event in events:
                if lead and event.text.strip():
                    self.is_doubted = not is_refusal(event.text)
                    is_headed = self.is_doubted and not event.text.startswith(lead)
                    event, lead = replace(event, text=f"{lead}{event.text}") if is_headed else event, ""
                yield event

    async def _lead(self, request: GenerationRequest) -> str:
        """The heading of an answer that may not be what was asked for; "" for others, and for tables and lists."""
        if request.parts or (self.states is None and self.profile.way != "fill"):
            return ""
        words = wording_for(request.question, request.language)
        extract = "".join(await asyncio.to_thread(self._extracted, request)).strip()
        core = _without_headings(extract.partition(f"**{words.supplement}**")[0], words)
        if not core.strip() or is_structured(core):
            return ""
        lead = f"**{words.closest}**\n\n"
        is_doubtful = extract.startswith(lead) or (self.states is not None and await self.states(_plain(core)) is False)
        return lead if is_doubtful else ""

    async def _by_ways(self, request: GenerationRequest, read: Read) -> AsyncGenerator[GenerationEvent, None]:
        """The events of the first way that is of use."""
        ways = NEXT_WAYS[self.profile.way] if not request.parts else NEXT_WAYS["marks"][:1]
        for way in ways:
            self.way = way
            try:
                async for event in self._written(way, request, read):
                    yield event
                return
            except GivenUpError as problem:
                if problem.event is not None and not await self.is_answerable():
                    yield problem.event
                    return
                self.counts[problem.reason] += 1
                logger.info("the model's text is left out: %s, %s", way, problem.reason)
        self.way = "quote"
        async for event in self._quoted(request):
            yield event

    def _written(self, way: WritingWay, request: GenerationRequest, read: Read) -> AsyncIterator[GenerationEvent]:
        if way == "marks":
            return self._marked(request, read)
        return self._guarded(request, read) if way == "plain" else self._filled(request, read)

    # ── the ways ──────────────────────────────────────────────────────────────────────────────────

    async def _marked(self, request: GenerationRequest, read: Read) -> AsyncIterator[GenerationEvent]:
        """Text with the model's own marks; its beginning is held back until it is no refusal of what is there.

        Figures that no source has get a note in their sentence.
        """
        watch, marks = _OpeningWatch(), MarkerStream.of(request.sources)
        words = wording_for(request.question, request.language)
        notes = self._notes = FigureMarks(request.sources, self.tokenizer, request.question, words)
        async with aclosing(read(request)) as events:
            async for event in events:
                text = notes.feed(marks.feed(watch.feed(event)))
                if event.final:
                    is_cut = event.interrupted or (isinstance(event, EndEvent) and event.is_cut)
                    text += notes.feed(marks.flush()) + notes.flush(is_whole=not is_cut)
                yield replace(event, text=text)
                if watch.is_looping and not event.final:
                    text = notes.feed(marks.flush()) + notes.flush(is_whole=False)
                    yield EndEvent(text=text, final=True, is_cut=True)
                    return

    def pending(self) -> str:
        """What is held back of a text that is stopped: the end of its last sentence."""
        return self._notes.flush(is_whole=False) if self._notes is not None else ""

    async def _guarded(self, request: GenerationRequest, read: Read) -> AsyncIterator[GenerationEvent]:
        """Plain sentences from the sources; those that a source says are shown, with its mark."""
        tokens = self.profile.source_tokens(PLAIN_TOKENS, seconds=READ_SECONDS)
        context = await asyncio.to_thread(self._shortened, request.sources, tokens)
        prompt = load("answer_plain").render(
            language=_language(request), context=context, question=fenced(request.question)
        )
        async for event in self._checked(request, request.sources, prompt, read):
            yield event

    async def _filled(self, request: GenerationRequest, read: Read) -> AsyncIterator[GenerationEvent]:
        """The sentence of the quoted answer that the model chooses, to a question for one thing in the same language.

        A table, list or several parts stay as they are.
        """
        blocks = await asyncio.to_thread(self._extracted, request)
        extract = "".join(blocks).strip()
        if not extract:
            raise GivenUpError("nothing_quoted")
        words = wording_for(request.question, request.language)
        core, _, further = extract.partition(f"**{words.supplement}**")
        is_foreign = is_language_line(extract.partition("\n")[0], words)
        if is_structured(_without_headings(core, words)) or is_foreign or not asks_single_fact(request.question):
            self.way = "quote"
            async for event in _shown(blocks):
                yield event
            return
        facts = fenced(_plain(_without_headings(core, words) + further))
        prompt = load("answer_facts").render(
            language=_language(request), facts=facts, question=fenced(request.question)
        )
        quoted = QuotedSentences(_without_headings(extract, words), request.question, self.tokenizer)
        sources = (*request.sources, *request.further_sources)
        async for event in self._checked(request, sources, prompt, read, quoted.instead_of):
            yield event

    async def _quoted(self, request: GenerationRequest) -> AsyncIterator[GenerationEvent]:
        async for event in _shown(await asyncio.to_thread(self._extracted, request)):
            yield event

    def _extracted(self, request: GenerationRequest) -> list[str]:
        """The blocks of the quoted answer."""
        if self._blocks is None:
            self._blocks = self.extract.blocks(request)
        return self._blocks

    async def _checked(
        self,
        request: GenerationRequest,
        sources: Sequence[Source],
        prompt: str,
        read: Read,
        instead: Callable[[str], str | None] | None = None,
    ) -> AsyncIterator[GenerationEvent]:
        """What the model writes to a prompt, sentence by sentence, or what is shown instead of a sentence.

        `sources`: those that a sentence may rest on.

        Raises GivenUpError where nothing can be shown.
        """
        attributor = Attributor(sources, self.tokenizer, self.embedder)
        guard = SentenceGuard(attributor.attribute, request.question, instead)
        plain_request = replace(request, messages=(ChatMessage(role="user", content=prompt),))
        reply, end = "", GenerationEvent(final=True)
        async with aclosing(read(plain_request)) as events:
            async for event in events:
                reply += event.text
                if event.final:
                    end = event
                    break
                if guard.is_looping:
                    break
                text = await asyncio.to_thread(guard.feed, event.text) if event.text else ""
                yield replace(event, text=text)
        rest = await asyncio.to_thread(guard.flush)
        self.counts.update({str(reason): count for reason, count in guard.counts.items()})
        if reply.strip() and not guard.accepted:
            raise GivenUpError("refused" if guard.counts["refusal"] else "unusable")
        yield replace(end, text=rest, interrupted=end.interrupted and not reply.strip())

    def _shortened(self, sources: Sequence[Source], tokens: int) -> str:
        """The first sources that fit, rendered without their numbers counting for anything."""
        blocks: list[Source] = []
        for source in sources:
            if blocks and self.counter.count(render_context([*blocks, source])) > tokens:
                break
            blocks.append(source)
        return render_context(blocks)


@dataclass(slots=True, kw_only=True)
class _OpeningWatch:
    """Holds back the beginning of a text that the model marks itself.

    Raises GivenUpError from `feed` for a text that is a refusal, or of marks alone.
    """

    is_looping: bool = False
    _pending: str = ""
    _is_open: bool = False
    _rest: str = ""
    _seen: Counter[str] = field(default_factory=Counter)

    def feed(self, event: GenerationEvent) -> str:
        """What may be shown after this event."""
        if self._is_open:
            self._count(event.text)
            return event.text
        self._pending += event.text
        is_short = len(self._pending) < HELD_CHARACTERS and len(split_sentences(self._pending)) < 3
        if not event.final and is_short and may_become_refusal(self._pending):
            return ""
        self._is_open = True
        opening, self._pending = self._pending, ""
        if event.final:
            _check_whole(replace(event, text=opening))
        self._count(opening)
        return opening

    def _count(self, text: str) -> None:
        """Count sentences as they end; most pieces end none."""
        self._rest += text
        if _END.search(text) is None:
            return
        *sentences, self._rest = split_sentences(self._rest) or [""]
        for sentence in filter(_is_long, map(str.strip, sentences)):
            self._seen[sentence] += 1
            most = MOST_REPEATS if sentence.endswith(SENTENCE_ENDS) else MOST_EQUAL_LINES
            self.is_looping = self.is_looping or self._seen[sentence] > most


def _is_long(sentence: str) -> bool:
    return len(sentence) > SHORT_CHARACTERS


def _check_whole(event: GenerationEvent) -> None:
    """Raises GivenUpError for a short text that is no answer; without any text it is not for us to say."""
    if event.text.strip() and not _LETTER.search(MARKER.sub("", event.text)):
        raise GivenUpError("marks_only")
    if is_refusal(event.text) or says_no_answer(event.text):
        raise GivenUpError("refused", event)


async def _shown(blocks: Sequence[str]) -> AsyncIterator[GenerationEvent]:
    """The events of a quoted answer."""
    for block in blocks:
        yield GenerationEvent(text=block)
    yield EndEvent(final=True, is_quoted=True)


def _language(request: GenerationRequest) -> str:
    return language_name(language_of(request.question))


def _without_headings(text: str, words: Wording) -> str:
    """Without the lines that say how sure a quotation is, or in which language."""
    return "\n".join(line for line in text.splitlines() if not is_remark(line, words))


def _plain(text: str) -> str:
    """Quoted sentences without marks and signs of Markdown."""
    return _SIGN.sub("", MARKER.sub("", text).replace("**", "")).strip()


def is_structured(text: str) -> bool:
    """Whether an answer is more than sentences: a table, a list of three points, or parts with headings."""
    lines = text.splitlines()
    has_heading = any(line.startswith(("#", "**")) for line in lines)
    return has_heading or any(map(is_row, lines)) or len(_LIST.findall(text)) > 2

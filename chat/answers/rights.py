"""Which parts of a stored answer another person may see: the one rule for pages, exports and messages.

An answer may repeat each source that its writer was given, cited or not, and, where a language model wrote it, the
turns before it. So it is shown as a whole only to somebody who may read all of these at this moment. To others single
sentences may be shown, by `sentence_shown`: those whose words stand in sources that the person may read. What else the
writer had in front of it (closed or purged sources, attached files, earlier turns) does not matter then: none of its
words pass that do not stand in a readable source, too.

Who takes stored answers to other people is listed in tests/chat/answers/test_rights.py, which finds new places.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import UUID

import regex

from accounts.scope import Scope
from chat.answers.earlier_turns import earlier_hidden, hidden_before, is_unaccounted, is_written
from chat.answers.fact_sources import facts_shown
from chat.models import FactCitation, Message, MessageCitation
from chat.selectors import chunks_shown, sources_lost
from knowledge.selectors.passages import chunks_readable
from ragcore.text.normalise import nfkc, remove_unseen
from ragcore.text.tokenise import stop_words

ROUND_STEPS = frozenset({"refine", "hop"})  # steps in which a query is written from what was found
RUN = 3  # words in a row that a closed source has and no readable one: they are taken from there
_WORD = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]|[\p{L}\p{N}\p{M}]+")
_MARKER = re.compile(r"\[\d{1,3}\]")
_CJK = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")
# they turn a statement into its opposite, so they count as words
_NEGATIONS = frozenset(
    (
        *("not", "no", "never", "without", "neither", "nor", "cannot", "don", "didn", "doesn", "isn", "aren"),
        *("couldn", "wouldn", "不", "没", "沒", "未", "无", "無"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRights:
    """An answer under the rights of one person. Its citations are in the order of their numbers."""

    message: Message
    citations: Sequence[MessageCitation]
    readable: frozenset[int]  # numbers of the sources that the person may read
    hidden: int  # things that the text may repeat and the person may not read; 0: it may be shown as a whole
    facts: Sequence[FactCitation]  # imported ones among its sources
    readable_facts: frozenset[int]  # ids of those that the person may see
    hidden_earlier: int  # of these, sources of earlier turns; the understood question may repeat them in any case

    @property
    def is_whole(self) -> bool:
        """Whether the text may be shown as it is."""
        return not self.hidden

    def sentences(self) -> list[str | None]:
        """The checked sentences in order; None in the place of one that is withheld. Headings, and code that is not
        quoted, are no claims and are not among them.
        """
        texts = {citation.number: source_words(citation) for citation in self.citations}
        texts |= {row.number: words_of(f"{row.file}\n{row.excerpt}") for row in self.facts}
        readable = self.readable | {row.number for row in self.facts if row.triple_id in self.readable_facts}
        closed = [words for number, words in texts.items() if number not in readable]
        readable_words = {number: words for number, words in texts.items() if number in readable}
        return [
            str(sentence.get("text", "")) if sentence_shown(sentence, readable=readable_words, closed=closed) else None
            for sentence in self.message.sentences
        ]


def answer_rights(*, scope: Scope, message: Message) -> AnswerRights:
    """One answer under the rights of a person. The caller has checked that the person may know of the question."""
    earlier = hidden_before(scope=scope, message=message)
    citations = list(message.citations.select_related("document", "version", "chunk"))
    facts = list(message.fact_citations.all())
    visible_facts = facts_shown(scope=scope, citations=facts)
    return _rights(message, citations, chunks_shown(scope=scope, citations=citations), earlier, facts, visible_facts)


def answers_rights(*, scope: Scope, messages: Sequence[Message], path: Sequence[UUID]) -> list[AnswerRights]:
    """The same of several turns of one branch, `path`. As few statements for many as for one, where the citations with
    chunks and documents, those of attached files and those of facts are fetched already.
    """
    citations_of = {message.pk: list(message.citations.all()) for message in messages}
    readable = chunks_shown(scope=scope, citations=[citation for some in citations_of.values() for citation in some])
    earlier = earlier_hidden(scope=scope, path=path)
    facts_of = {message.pk: list(message.fact_citations.all()) for message in messages}
    visible_facts = facts_shown(scope=scope, citations=[row for rows in facts_of.values() for row in rows])
    return [
        _rights(message, citations_of[message.pk], readable, earlier[message.pk], facts_of[message.pk], visible_facts)
        for message in messages
    ]


def question_shown(*, scope: Scope, message: Message) -> str:
    """The question as it was understood. To somebody who may not read what its conversation rests on: as it was asked,
    because what a model adds to a question it may take from earlier answers.
    """
    understood = message.metadata.get("understood")
    if not isinstance(understood, str) or not understood or hidden_before(scope=scope, message=message):
        return message.question
    return understood


def rounds_shown(*, scope: Scope, message: Message) -> bool:
    """Whether the person may read all that was found between the searches of an answer in several rounds.

    A model has read it, and the queries that it wrote then may repeat it, whatever the answer rests on in the end.
    """
    reasoning = message.trace.get("reasoning") or {}
    step_names = {step.get("name") for step in reasoning.get("agentic_steps") or ()} & ROUND_STEPS
    if not step_names:
        return True
    chunks = {chunk for search in reasoning.get("retrieval_history") or () for chunk in search.get("chunks") or ()}
    if "hop" in step_names:  # each hop searches for all queries so far: its candidates hold those of the hops before
        chunks |= {candidate.get("chunk_id") for candidate in message.trace.get("candidates") or ()}
    return chunks_readable(scope=scope).filter(pk__in=chunks).count() == len(chunks)


def _rights(
    message: Message,
    citations: Iterable[MessageCitation],
    readable: Collection[int],
    earlier: int,
    facts: Sequence[FactCitation],
    visible_facts: Collection[int],
) -> AnswerRights:
    ordered = sorted(citations, key=lambda citation: citation.number)
    readable_numbers = frozenset(citation.number for citation in ordered if citation.chunk_id in readable)
    hidden = len(ordered) - len(readable_numbers) + sources_lost(message=message, documents=len(ordered))
    hidden += sum(row.triple_id not in visible_facts for row in facts)
    if is_written(message):
        hidden += earlier + is_unaccounted(message.status, message.answer)
    return AnswerRights(
        message=message,
        citations=ordered,
        readable=readable_numbers,
        hidden=hidden,
        facts=facts,
        readable_facts=frozenset(row.triple_id for row in facts if row.triple_id in visible_facts),
        hidden_earlier=earlier,
    )


# ── single sentences ────────────────────────────────────────────────────────────────────────────


def source_words(citation: MessageCitation) -> tuple[str, ...]:
    """The words of a source as its writer had it: the passage with its headings and the title."""
    chunk = citation.chunk
    return words_of("\n".join((citation.document.title, *chunk.heading_path, chunk.text)))


def sentence_shown(
    sentence: Mapping[str, Any], *, readable: Mapping[int, Sequence[str]], closed: Iterable[Sequence[str]]
) -> bool:
    """Whether a sentence of an answer may be seen by somebody who may not read all that its writer was given.

    It is supported, it cites readable sources only, every word of it stands in these (of Chinese every two characters
    in a row; function words do not count), and no RUN words in a row are those of a closed source alone.
    `readable`: words of the readable sources by number, `closed`: those of the others, as far as they are known.
    """
    numbers = set(sentence.get("citations") or ())
    if sentence.get("support") != "supported" or not numbers or not numbers <= readable.keys():
        return False
    words = words_of(_MARKER.sub(" ", str(sentence.get("text", ""))))
    if not _pieces(words) <= set[str]().union(*(_pieces(readable[number]) for number in numbers)):
        return False
    runs = _runs(words)
    return not runs & set().union(*map(_runs, closed)) - set().union(*map(_runs, readable.values()))


def words_of(text: str) -> tuple[str, ...]:
    """Words and single CJK characters in lower case, whatever stands between them."""
    return tuple(_WORD.findall(remove_unseen(nfkc(text)).casefold()))


def _pieces(words: Sequence[str]) -> set[str]:
    """What has to stand in a source: words, and each two CJK characters in a row (a single one where it is alone)."""
    counting = [word for word in words if word not in _function_words()]
    pieces: set[str] = set()
    for word, following in zip(counting, [*counting[1:], ""], strict=True):
        pieces.add(word)
        if _CJK.fullmatch(word) and _CJK.fullmatch(following):
            pieces.add(word + following)
    return pieces


def _runs(words: Sequence[str]) -> set[tuple[str, ...]]:
    return {tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1)}


@cache
def _function_words() -> frozenset[str]:
    return stop_words() - _NEGATIONS

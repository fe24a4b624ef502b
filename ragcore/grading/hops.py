"""The second query of a question that needs several steps, from what the first search revealed (V9)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from ragcore.grading.passages import shown
from ragcore.llm.client import LlmClient
from ragcore.ports import Tokenizer
from ragcore.stage_ports import StagePorts
from ragcore.text.matching import keywords
from ragcore.text.normalise import normalise_query
from ragcore.text.scripts import CJK, cjk_share
from ragcore.text.sentences import split_sentences
from ragcore.types.answering import Ranked

_READ = 3  # passages that are read, the best ones
_ENTITIES = 3  # that one query may name
_WORDS = 8  # of the question that go on with them
_LATIN_NAME = re.compile(r"[A-Z][\w'’.&-]*(?:\s+(?:(?:of|the|de|von|van|and|la|le|du|for)\s+)*[A-Z0-9][\w'’.&-]*)*")
_CJK_NAME = re.compile(rf"[《「『“]([^》」』”]{{2,30}})[》」』”]|([{CJK}]{{2,6}}·[{CJK}·]{{1,12}})")
_BRACKET = re.compile(r"\s*[(（].*?[)）]\s*$")  # of a title: "Fargo (film)"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    query: Annotated[str, Field(max_length=300)]


async def next_hop(
    question: str, ranked: Sequence[Ranked], ports: StagePorts, llm: LlmClient | None
) -> tuple[str, str]:
    """The next query and who wrote it ("model" or "rules"); "" if there is nothing to go on with."""
    if llm is not None and ranked:
        said = await llm.json("refine_hop", _Said, max_tokens=100, question=question, context=shown(ranked))
        if said is not None:
            return normalise_query(said.query), "model"
    return hop_by_rules(question, ranked, ports.tokenizer), "rules"


def hop_by_rules(question: str, ranked: Sequence[Ranked], tokenizer: Tokenizer) -> str:
    """Names of the sentence nearest to the question that it does not have, with what the sentence left open of it.

    "" where no passage shares a word with the question or no new name is in them.
    """
    best = best_sentence(question, ranked, tokenizer)
    if best is None:
        return ""
    sentence, title = best
    names = list(new_names(question, title, sentence, tokenizer))[:_ENTITIES]
    if not names:
        return ""
    said = set(tokenizer.words(sentence)) | set(tokenizer.words(title))
    words = keywords(question, tokenizer)
    left = [word for word in words if word not in said] or words
    return normalise_query(" ".join((*names, *left[:_WORDS])))


def best_sentence(question: str, ranked: Sequence[Ranked], tokenizer: Tokenizer) -> tuple[str, str] | None:
    """The sentence of the best passages with most keywords of the question, and the title above it."""
    words = set(keywords(question, tokenizer))
    best: tuple[int, str, str] | None = None
    for r in ranked[:_READ]:
        title = _BRACKET.sub("", r.passage.title)
        of_title = set(tokenizer.words(title))
        for sentence in split_sentences(r.passage.text):
            count = len(words & (set(tokenizer.words(sentence)) | of_title))
            if count and (best is None or count > best[0]):
                best = (count, sentence.strip(), title)
    return None if best is None else best[1:]


def new_names(question: str, title: str, sentence: str, tokenizer: Tokenizer) -> Iterator[str]:
    """The title and the names of a sentence, each once, that have a word which the question lacks."""
    asked = set(tokenizer.words(question))
    seen: set[str] = set()
    for name in (title, *_names(sentence, tokenizer)):
        words = [word for word in keywords(name, tokenizer) if word not in asked]
        if words and name.lower() not in seen and not set(words) <= seen:
            seen |= {name.lower(), *words}
            yield name


def _names(sentence: str, tokenizer: Tokenizer) -> Iterator[str]:
    yield from (next(part for part in match.groups() if part) for match in _CJK_NAME.finditer(sentence))
    yield from (match.group() for match in _LATIN_NAME.finditer(sentence) if match.start() > 0 or " " in match.group())
    if cjk_share(sentence) > 0.5:  # no capitals: longer words are the nearest thing to names
        yield from (word for word in keywords(sentence, tokenizer) if len(word) > 2)

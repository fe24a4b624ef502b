"""The next search query, by what the last search lacked or revealed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass as validated

from ragcore.grading.passages import LOW, Coverage, Dimension, PassageScores, shown, text_of
from ragcore.llm.client import LlmClient
from ragcore.ports import Tokenizer
from ragcore.stage_ports import StagePorts
from ragcore.text.matching import keywords, written_keywords
from ragcore.text.normalise import normalise_query
from ragcore.text.scripts import CJK, cjk_share, language_of
from ragcore.text.sentences import split_sentences
from ragcore.text.spelling import topic_text
from ragcore.text.word_lists import read_cues
from ragcore.types import Query
from ragcore.types.answering import Ranked

_READ = 3  # passages that are read, the best ones
_ENTITIES = 3  # that one query may name
_WORDS = 8  # of the question that go on with them
_LATIN_NAME = re.compile(r"[A-Z][\w'’.&-]*(?:\s+(?:(?:of|the|de|von|van|and|la|le|du|for)\s+)*[A-Z0-9][\w'’.&-]*)*")
_CJK_NAME = re.compile(rf"[《「『“]([^》」』”]{{2,30}})[》」』”]|([{CJK}]{{2,6}}·[{CJK}·]{{1,12}})")
_BRACKET = re.compile(r"\s*[(（].*?[)）]\s*$")  # of a title: "Fargo (film)"

RefineStrategy = Literal[
    "add_specificity", "broaden_scope", "add_constraints", "restructure_query", "add_terms", "add_details"
]
STRATEGIES: dict[Dimension, RefineStrategy] = {
    "relevance": "add_specificity",
    "completeness": "broaden_scope",
    "accuracy": "add_constraints",
    "coherence": "restructure_query",
}
_TOLD: dict[RefineStrategy, str] = {
    "add_specificity": "name the subject and what is asked of it more precisely, with technical terms of the topic",
    "broaden_scope": "widen it: leave out restrictions that are not essential, add synonyms and what is missing",
    "add_constraints": "add what makes the right passage unmistakable: versions, standards, places, times, units",
    "restructure_query": "restructure it: the topic first, then the aspects that are asked for, one after the other",
    "add_terms": "add technical terms of the topic",
    "add_details": "ask for the details that are missing",
}
MAX_CHARACTERS = 500
_TERMS = 4  # words that one strategy adds
_TECHNICAL = re.compile(r"\b(?:[A-Za-z]*[A-Z][A-Za-z]*[A-Z0-9][\w-]*|[A-Za-z]+[-_]?\d[\w.-]*)\b", re.ASCII)
_CJK = re.compile(f"[{CJK}]")


@validated(frozen=True, slots=True, kw_only=True)
class _NextHop:
    query: Annotated[str, Field(max_length=300)]


async def next_hop(
    question: str, ranked: Sequence[Ranked], ports: StagePorts, llm: LlmClient | None
) -> tuple[str, str]:
    """The next query and who wrote it ("model" or "rules"); "" if there is nothing to go on with."""
    if llm is not None and ranked:
        reply = await llm.json("refine_hop", _NextHop, max_tokens=100, question=question, context=shown(ranked))
        if reply is not None:
            return normalise_query(reply.query), "model"
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
    words_of_passage = set(tokenizer.words(sentence)) | set(tokenizer.words(title))
    words = keywords(question, tokenizer)
    missing = [word for word in words if word not in words_of_passage] or words
    spellings = written_keywords(question, tokenizer)
    return normalise_query(" ".join((*names, *dict.fromkeys(spellings.get(word, word) for word in missing[:_WORDS]))))


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
    question_words = set(tokenizer.words(question))
    used: set[str] = set()
    for name in (title, *_names(sentence, tokenizer)):
        words = [word for word in keywords(name, tokenizer) if word not in question_words]
        if words and name.lower() not in used and not set(words) <= used:
            used |= {name.lower(), *words}
            yield name


def _names(sentence: str, tokenizer: Tokenizer) -> Iterator[str]:
    yield from (next(part for part in match.groups() if part) for match in _CJK_NAME.finditer(sentence))
    yield from (match.group() for match in _LATIN_NAME.finditer(sentence) if match.start() > 0 or " " in match.group())
    if cjk_share(sentence) > 0.5:  # no capitals: longer words are the nearest thing to names
        yield from (word for word in keywords(sentence, tokenizer) if len(word) > 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefinedQuery:
    """The next query, which of the strategies made it, and who wrote it."""

    query: str
    strategies: tuple[RefineStrategy, ...]
    by: Literal["rules", "model"] = "rules"


@validated(frozen=True, slots=True, kw_only=True)
class _Said:
    query: Annotated[str, Field(min_length=2, max_length=MAX_CHARACTERS)]


def strategies_for(scores: PassageScores, evidence: Coverage) -> tuple[RefineStrategy, ...]:
    """Those of all weak dimensions, and by the evidence: terms of the topic below 0.5, else details.

    The evidence decides where rules grade, and where a model finds no dimension weak.
    """
    fired = tuple(STRATEGIES[name] for name in scores.weak)
    by_evidence: RefineStrategy = "add_terms" if evidence.confidence < LOW else "add_details"
    return (*fired, by_evidence) if scores.by == "rules" or not fired else fired


async def refine_query(
    question: str,
    query: str,
    *,
    strategies: Sequence[RefineStrategy],
    ranked: Sequence[Ranked],
    missing: Sequence[str],
    evidence: Coverage,
    used: Collection[str],
    ports: StagePorts,
    llm: LlmClient | None,
) -> RefinedQuery | None:
    """A query that is not among `used`, by a model or by rules; None if there is nothing new to ask."""
    if llm is not None:
        reply = await llm.json(
            "refine_query",
            _Said,
            max_tokens=150,
            question=question,
            query=query,
            strategies="; ".join(_TOLD[strategy] for strategy in strategies),
            missing=", ".join(missing) or "-",
            context=shown(ranked),
        )
        if reply is not None and _is_usable(reply.query, question, query, used, ports.tokenizer):
            return RefinedQuery(query=normalise_query(reply.query), strategies=tuple(strategies), by="model")
    by_rules = refine_by_rules(
        question, strategies=strategies, ranked=ranked, missing=missing, evidence=evidence, ports=ports, used=used
    )
    return None if by_rules is None else RefinedQuery(query=by_rules, strategies=tuple(strategies))


def refine_by_rules(
    question: str,
    *,
    strategies: Sequence[RefineStrategy],
    ranked: Sequence[Ranked],
    evidence: Coverage,
    ports: StagePorts,
    missing: Sequence[str] = (),
    used: Collection[str] = (),
) -> str | None:
    """The question with what the strategies leave out, add and turn round; None if that has been asked already.

    All start from the question, so that the rounds do not drift away from it.
    """
    base = _restructured(question, ports.tokenizer) if "restructure_query" in strategies else question
    base = _without_narrowing(base) if "broaden_scope" in strategies else base
    added = [
        word for strategy in strategies for word in _additions(strategy, question, ranked, evidence, missing, ports)
    ]
    have = base.lower()
    new = {word.lower(): word for word in reversed(added) if word.lower() not in have}
    query = normalise_query(" ".join((base, *reversed(new.values()))))[:MAX_CHARACTERS]
    return None if query in {normalise_query(text) for text in used} or not query else query


def _additions(
    strategy: RefineStrategy,
    question: str,
    ranked: Sequence[Ranked],
    evidence: Coverage,
    missing: Sequence[str],
    ports: StagePorts,
) -> list[str]:
    """Words that a strategy adds, best first; `missing`: phrases from a model's judgement."""
    chinese = language_of(question) == "zh"
    if strategy in ("add_specificity", "add_terms"):
        return technical_terms(question, ranked, ports.tokenizer)
    if strategy == "broaden_scope":
        return [*missing[:2], *_synonyms(question, ports), *_words(*evidence.missing[:2], chinese=chinese)][:_TERMS]
    if strategy == "add_constraints":
        headings = [part for r in ranked[:1] for part in (r.passage.title, *r.passage.heading_path[-1:]) if part]
        return [*headings[:2], *_words("binding", chinese=chinese)[:1]]
    if strategy == "add_details":
        synonyms = _synonyms(" ".join(evidence.missing_words), ports)
        return [*missing[:2], *synonyms[:2], *_words(*evidence.missing[:1], "details", chinese=chinese)]
    return []


def technical_terms(question: str, ranked: Sequence[Ranked], tokenizer: Tokenizer, *, limit: int = _TERMS) -> list[str]:
    """Terms of the passages about the topic of the question that it lacks, those of most passages first.

    About it is a passage with half of the question's keywords, or with as many as any has: one word that is shared
    brings the terms of another subject. Identifiers and abbreviations (gNB, TS38.331) first; without any, keywords that
    several passages have.
    """
    words = set(keywords(question, tokenizer))
    shares = [len(words & set(tokenizer.words(text_of(r)))) for r in ranked]
    least = min(max(shares, default=0), len(words) / 2)
    near = [r for r, share in zip(ranked, shares, strict=True) if 0 < share >= least]
    question_text = question.lower()
    counts = Counter(
        term
        for r in near
        for term in dict.fromkeys(_TECHNICAL.findall(text_of(r)))
        if term.lower() not in question_text
    )
    terms = [term for term, _ in counts.most_common(limit)]
    if terms:
        return terms
    by_passage = [written_keywords(text_of(r), tokenizer) for r in near]
    common = Counter(word for spellings in by_passage for word in spellings if len(word) > 1 and word not in words)
    spelling = {word: text for spellings in reversed(by_passage) for word, text in spellings.items()}
    return [spelling[word] for word, count in common.most_common(limit) if count > 1]


def _synonyms(question: str, ports: StagePorts) -> list[str]:
    if ports.lexicon is None:
        return []
    words = written_keywords(question, ports.tokenizer).items()
    lexicon = ports.lexicon
    return [name for stem, word in words for name in (lexicon.alternatives(word) or lexicon.alternatives(stem))[:1]]


def _words(*sections: str, chinese: bool) -> list[str]:
    """Entries of the data file in the language of the question."""
    cues = read_cues("ragcore.grading", "refine_words.txt")
    return [entry for name in sections for entry in cues[name].entries if bool(_CJK.search(entry)) == chinese]


def _without_narrowing(text: str) -> str:
    pattern = read_cues("ragcore.grading", "refine_words.txt")["narrowing"].pattern
    return normalise_query(re.sub(pattern.pattern, " ", text, flags=re.IGNORECASE)) or text


def _restructured(question: str, tokenizer: Tokenizer) -> str:
    """The topic words of the question in their order, without the words that only ask."""
    query = Query(text=question, terms=tuple(tokenizer.terms(question)), words=tuple(tokenizer.words(question)))
    return topic_text(query, tokenizer) or question


def _is_usable(text: str, question: str, query: str, used: Collection[str], tokenizer: Tokenizer) -> bool:
    """In the language of the question, about it, and not asked before."""
    text = normalise_query(text)
    if (
        not text
        or text in {normalise_query(old) for old in (*used, query)}
        or language_of(text) != language_of(question)
    ):
        return False
    return bool(set(keywords(question, tokenizer)) & set(tokenizer.words(text)))

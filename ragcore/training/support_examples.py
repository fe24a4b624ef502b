"""Sentences with sources that do or do not support them, made from public sets whose licences allow it.

Read are: retrieval sets (`corpus.jsonl`, `queries.jsonl` with answers, `qrels.tsv`, perhaps `unanswerable.jsonl`) and
CLAP NQ (`answerable.jsonl`: questions, passages and answers that people wrote from them).
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragcore.text.scripts import language_of
from ragcore.text.sentences import split_sentences
from ragcore.training.support_edits import Corpus, faithful, unfaithful
from ragcore.training.support_summaries import condensed, invented

Row = Mapping[str, Any]
SUMMARIES = 3  # condensed sentences of each class a passage
SHORTEST, LONGEST = 25, 400  # characters of a sentence; a CJK character counts as two
QUESTION_WORDS = re.compile(
    r"^(?:(?:in|at|on|by|for|from|to|of) )?(?:what|which|who|whom|whose|when|where|how (?:many|much|long)|how|why)\b"
    r"(?: (?:is|are|was|were|did|do|does|has|have|had|can|could))?",
    re.IGNORECASE,
)
CHINESE_QUESTION_WORDS = re.compile(
    r"是?什[么麼][样樣]?的?|是?[谁誰]|哪[一]?[个個些位年月日天种種里裡儿]?|何[时時处處]|多少|几[个個年位名]?|幾[个個年位名]?|[为為]何"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A sentence, the texts of its sources (numbered from 1), which of them it cites, and whether they support it."""

    sentence: str
    sources: tuple[str, ...]
    cited: tuple[int, ...]  # () for none
    supported: bool
    group: str  # document or article: examples of one group are never on both sides of a split
    kind: str


def examples(folders: Sequence[Path], *, limit: int, seed: int = 7) -> list[Example]:
    """Of every folder at most `limit` passages, in an order that depends on the seed only."""
    collected: list[Example] = []
    for folder in folders:
        chance = random.Random(f"{seed} {folder.resolve().parent.name}")
        if (folder / "answerable.jsonl").is_file():
            collected += _written(folder, limit, chance)
        else:
            collected += _retrieval(folder, limit, chance)
    return collected


def rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


# ── retrieval sets ──────────────────────────────────────────────────────────────────────────────


def _retrieval(folder: Path, limit: int, chance: random.Random) -> list[Example]:
    passages = {row["id"]: row for row in rows(folder / "corpus.jsonl")}
    questions_of: dict[str, list[Row]] = {}
    queries = {row["id"]: row for row in rows(folder / "queries.jsonl")}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, passage = line.split("\t")[:2]
        if query in queries and passage in passages:
            questions_of.setdefault(passage, []).append(queries[query])
    chosen = sorted(passages)
    chance.shuffle(chosen)
    corpus = Corpus.of([_sentences(passages[key]["text"]) for key in chosen], chance)
    collected: list[Example] = []
    for key in chosen[:limit]:
        collected += _of_passage(passages[key], passages, chosen, questions_of.get(key, []), corpus, chance)
    for key in chosen[:limit]:
        same = [row["text"] for row in passages.values() if row["title"] == passages[key]["title"]]
        collected += _summaries(passages[key], same, corpus, chance)
    return collected + list(_unanswerable(folder, passages, questions_of, limit, chance))


def _of_passage(
    passage: Row, passages: Mapping[str, Row], order: Sequence[str], questions: Sequence[Row], corpus: Corpus,
    chance: random.Random,
) -> Iterator[Example]:  # fmt: skip
    sentences = _sentences(passage["text"])
    same = [key for key in order if passages[key]["title"] == passage["title"] and key != passage["id"]]
    for sentence in chance.sample(sentences, min(2, len(sentences))):
        beside = [passages[key]["text"] for key in chance.sample(order, 3) if key != passage["id"]]
        yield _example(faithful(sentence, sentences, corpus), passage, beside, True, "edited", chance)
        text, kind = unfaithful(sentence, sentences, corpus)
        yield _example(text, passage, beside, False, kind, chance)
    if same and (other := _sentences(passages[chance.choice(same)]["text"])):
        yield _example(chance.choice(other), passage, [], False, "elsewhere", chance)
    yield from _stated(passage, questions, chance)


def _stated(passage: Row, questions: Sequence[Row], chance: random.Random) -> Iterator[Example]:
    """Questions with their answers as statements: true paraphrases; with another question's answer they are wrong."""
    questions = [row for row in questions if language_of(row["text"]) == language_of(passage["text"])]
    for row in chance.sample(questions, min(2, len(questions))):
        other_answers = [
            a for other in questions if other is not row for a in other["answers"] if a not in row["answers"]
        ]
        yield _example(statement(row["text"], row["answers"][0]), passage, [], True, "answered", chance)
        if other_answers:
            wrong = statement(row["text"], chance.choice(other_answers))
            yield _example(wrong, passage, [], False, "answered wrongly", chance)


def _unanswerable(
    folder: Path,
    passages: Mapping[str, Row],
    questions_of: Mapping[str, Sequence[Row]],
    limit: int,
    chance: random.Random,
) -> Iterator[Example]:
    """Questions as people wrote them to look answerable, beside as many that are; both without an answer."""
    path = folder / "unanswerable.jsonl"
    for row in rows(path)[:limit] if path.is_file() else []:
        passage = passages.get(_passage_of(row))
        if passage is None or not questions_of.get(passage["id"]):
            continue
        yield _example(statement(row["text"], ""), passage, [], False, "unanswerable", chance)
        answerable = chance.choice(list(questions_of[passage["id"]]))["text"]
        yield _example(statement(answerable, ""), passage, [], True, "answerable", chance)


def _passage_of(row: Row) -> str:
    return str(row.get("doc_id", ""))


def statement(question: str, answer: str) -> str:
    """A question as a statement, without caring for grammar: the answer stands where the question word was."""
    plain = question.strip().rstrip("?？").strip()
    if CHINESE_QUESTION_WORDS.search(plain) and not plain.isascii():
        return CHINESE_QUESTION_WORDS.sub(lambda _: answer, plain, count=1) + "。"
    return f"{answer} {QUESTION_WORDS.sub('', plain).strip()}.".strip()


# ── CLAP NQ ─────────────────────────────────────────────────────────────────────────────────────


def _written(folder: Path, limit: int, chance: random.Random) -> list[Example]:
    """Answers that people wrote from one passage, and the same with something changed or of another passage."""
    answered = rows(folder / "answerable.jsonl")
    chance.shuffle(answered)
    corpus = Corpus.of([_sentences(row["passage"]) for row in answered], chance)
    collected = []
    for row in answered[:limit]:
        passage = {"id": row["title"], "title": row["title"], "text": row["passage"]}
        sentences = _sentences(row["passage"])
        for sentence in [s for output in row["outputs"] for s in _sentences(output)]:
            collected.append(_example(sentence, passage, [], True, "written", chance))
            text, kind = unfaithful(sentence, sentences, corpus)
            collected.append(_example(text, passage, [], False, f"written, {kind}", chance))
        collected += _summaries(passage, [row["passage"]], corpus, chance)
    return collected


# ── both ────────────────────────────────────────────────────────────────────────────────────────


def _summaries(passage: Row, same: Sequence[str], corpus: Corpus, chance: random.Random) -> Iterator[Example]:
    """Condensed sentences of a passage, which in half of the cases stands among others of its article."""
    sentences = _sentences(passage["text"])
    if not sentences:
        return
    longer = [passage["text"]]
    if chance.random() < 0.5:
        longer += [text for text in same if text != passage["text"]][:2]
    chance.shuffle(longer)
    source = {**passage, "text": "\n\n".join(longer)}
    for _ in range(SUMMARIES):
        yield _example(condensed(sentences, corpus), source, [], True, "summary", chance)
        text, kind = invented(sentences, corpus)
        yield _example(text, source, [], False, f"summary, {kind}", chance)


def _sentences(text: str) -> list[str]:
    sentences = (" ".join(sentence.split()) for sentence in split_sentences(text))
    return [s for s in sentences if SHORTEST <= sum(2 if c > "\u2e7f" else 1 for c in s) <= LONGEST]


def _example(
    sentence: str, passage: Row, beside: Sequence[str], supported: bool, kind: str, chance: random.Random
) -> Example:
    """The passage among others, cited in two of three cases."""
    sources = [*beside]
    place = chance.randint(0, len(sources))
    sources.insert(place, passage["text"])
    cited = (place + 1,) if chance.random() < 2 / 3 else ()
    group = passage["title"] or passage["id"]
    return Example(sentence=sentence, sources=tuple(sources), cited=cited, supported=supported, group=group, kind=kind)

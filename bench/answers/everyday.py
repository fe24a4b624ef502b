"""Everyday questions over the sample documents, answered without a database (A2, A4, D21).

The questions are in tests/everyday_questions.jsonl: {language, question, holds} with words that a useful answer has, or
{language, question, refused}. The ranking stands in for the product's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from knowledge.demo import demo_documents
from ragcore.answerability import score_answerability, threshold_for
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.options import AnswerOptions
from ragcore.parsing import parse
from ragcore.ports import GenerationRequest
from ragcore.text.scripts import language_of
from ragcore.text.token_count import counter
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.training.answer_sets import Ranking, passages_of_parsed

QUESTIONS = Path(__file__).parents[2] / "tests" / "everyday_questions.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class EverydayAnswer:
    """What was answered; "" for a refusal."""

    question: str
    text: str
    is_right: bool  # it holds the words of a useful answer, or refuses what nothing answers


def sample_ranking() -> Ranking:
    """The sample documents in passages, ranked by words."""
    parsed = (
        (number, parse(one.path.read_bytes(), name=one.path.name), one.title, one.external_id)
        for number, one in enumerate(demo_documents())
    )
    return Ranking.of(
        passages_of_parsed(parsed, counter()), tokenizer=JiebaTokenizer(), counter=counter(), embedder=None
    )


def everyday_answers() -> Iterator[EverydayAnswer]:
    """Every question with its answer."""
    ranking = sample_ranking()
    generator = ExtractiveGenerator(ranking.tokenizer)
    rate = AnswerOptions().false_refusals
    for line in QUESTIONS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        question, sources = row["question"], tuple(ranking.sources(row["question"]))
        judged = score_answerability(
            question, sources, tokenizer=ranking.tokenizer, idf=ranking.query(question).weights
        )
        least = threshold_for(language_of(question), len(ranking.passages), rate)
        text = ""
        if judged.is_answerable(least, len(ranking.passages)):
            text = "".join(generator.blocks(GenerationRequest(question=question, sources=sources)))
        right = (
            not text if row.get("refused") else bool(text) and all(w in text.replace("**", "") for w in row["holds"])
        )
        yield EverydayAnswer(question=question, text=text, is_right=right)

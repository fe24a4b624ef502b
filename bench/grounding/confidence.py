"""Whether an answer's confidence tells right answers from wrong ones, with the extractive answerer."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

from bench.grounding.rgb import request
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.grounding.citations import answer_confidence, extract_citations
from ragcore.grounding.source_texts import SourceSimilarity
from ragcore.grounding.support import support_states
from ragcore.ports import Embedder
from ragcore.text.matching import keywords
from ragcore.text.normalise import squeeze
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.training.support_examples import rows
from ragcore.training.support_training import auc, sources_of
from ragcore.types import Source

SOURCES = 5


def confidence_report(folder: Path, *, limit: int, embedder: Embedder | None) -> str:
    """AUC of confidence for answers that contain a given answer, over a simple lexical ranking of all passages."""
    tokenizer = JiebaTokenizer()
    passages = [row["text"] for row in rows(folder / "corpus.jsonl")]
    words = [frozenset(tokenizer.words(text)) for text in passages]
    generator = ExtractiveGenerator(tokenizer, embedder)
    asked = [row for row in rows(folder / "queries.jsonl") if row["answers"]]
    random.Random(7).shuffle(asked)
    truth, scores = [], []
    for row in asked[:limit]:
        sources = _ranked(row["text"], passages, words, tokenizer)
        text = "".join(generator.blocks(request(row["text"], sources)))
        similarity = SourceSimilarity(sources, tokenizer, embedder)
        found = extract_citations(text, sources, tokenizer=tokenizer, similarity=similarity)
        sentences = support_states(found.text, sources, tokenizer=tokenizer, similarity=similarity)
        scores.append(answer_confidence(found.citations, sentences))
        truth.append(any(squeeze(a) in squeeze(text) for a in row["answers"]))
    value = auc(np.array(truth), np.array(scores))
    return f"{len(truth)} questions, {np.mean(truth):.3f} right, AUC of the answer's confidence {value:.3f}"


def _ranked(question: str, passages: list[str], words: list[frozenset[str]], tokenizer: JiebaTokenizer) -> list[Source]:
    wanted = keywords(question, tokenizer)
    weight = {w: np.log(1 + len(words) / (1 + sum(w in have for have in words))) for w in wanted}
    total = sum(weight.values()) or 1.0
    score = [sum(weight[w] for w in wanted if w in have) / total for have in words]
    best = sorted(range(len(passages)), key=lambda at: -score[at])[:SOURCES]
    plain = sources_of([passages[at] for at in best])
    return [
        Source(number=s.number, passage=s.passage, text=s.text, score=float(score[at]))
        for s, at in zip(plain, best, strict=True)
    ]

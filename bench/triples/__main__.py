"""Triples for questions, with and without re-scoring, and the kinds of questions.

    python -m bench.triples DIR [--learn] [--fixed]

DIR holds triples.jsonl and texts.jsonl; how questions are made of them stands in bench/triples/questions.py. The last
line is one JSON object. Figures are means over questions with a masked subject or object; "plain" is the better of
words and vectors alone by nDCG@5. In the folder that the shipped weights were learned on, every question is scored by
weights that were learned without the questions of a fifth of the subjects, its own among them.

`--learn` writes ragcore/graph/triple_weights.json. `--fixed` scores by the four signals with their fixed weights.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.triples.learning import Example, cross_fitted, learn
from bench.triples.questions import MaskedQuestion, load
from ragcore.embedding.minilm import EmbeddedEmbedder
from ragcore.graph.features import FEATURES
from ragcore.graph.memory import MemoryTriples
from ragcore.graph.retrieval import CANDIDATES, DEFAULT_RESULTS, ScoredTriple, SignalWeights, TripleSearch
from ragcore.metrics.bootstrap import mean_interval, paired_interval
from ragcore.text.fact_question import kind_of_question
from ragcore.text.tokenise import JiebaTokenizer

WEIGHTS = Path("ragcore/graph/triple_weights.json")
SIGNALS = ("entity", "relation", "type", "semantic")
CUT = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """Rankings of one question: places of triples, best first."""

    question: MaskedQuestion
    words: list[int]
    meaning: list[int]
    candidates: list[ScoredTriple]

    def example(self) -> Example:
        """The candidates for learning."""
        return Example(
            measures=np.array([[c.detailed_scores[name] for name in FEATURES] for c in self.candidates]),
            relevant=np.array([c.id in self.question.relevant for c in self.candidates]),
            group=self.question.group,
        )


def main() -> None:
    """Measure one folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", type=Path, default=Path("var/models"))
    parser.add_argument("--learn", action="store_true")
    parser.add_argument("--fixed", action="store_true")
    given = parser.parse_args()
    triples, questions = load(given.folder)
    digest = hashlib.sha256((given.folder / "triples.jsonl").read_bytes()).hexdigest()
    record = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    tokenizer, embedder = JiebaTokenizer(), EmbeddedEmbedder(given.models)
    note(f"{len(triples)} triples, {len(questions)} questions")
    index = MemoryTriples(triples, tokenizer=tokenizer, embedder=embedder)
    search = TripleSearch(index=index, embedder=embedder, tokenizer=tokenizer, weights=SignalWeights.shipped())
    ranked = []
    for question in questions:
        if question.masked == "type":
            continue
        vector = embedder.embed_queries([question.text])[0]
        ranked.append(
            Ranked(
                question=question,
                words=[hit.id for hit in index.by_words(question.text, limit=CUT)],
                meaning=[hit.id for hit in index.by_meaning(vector, limit=CUT)],
                candidates=search.candidates(question.text, limit=CANDIDATES * DEFAULT_RESULTS),
            )
        )
    examples = [r.example() for r in ranked]
    if given.learn:
        record["learned"] = learn(examples)
        record["training"] = {
            "command": "python -m bench.triples DIR --learn",
            "questions": len(examples),
            "triples_sha256": digest,
        }
        WEIGHTS.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    if given.fixed:
        scores = [
            np.array([sum(record["fixed"][s] * c.detailed_scores[s] for s in SIGNALS) for c in r.candidates])
            for r in ranked
        ]
    elif digest == record["training"].get("triples_sha256"):
        scores = cross_fitted(examples)
        note("the folder that the weights were learned on: scored by weights of the other folds")
    else:
        weights = np.array([record["learned"][name] for name in FEATURES])
        scores = [e.measures @ weights for e in examples]
    rescored = [
        [r.candidates[n].id for n in np.argsort(-s, kind="stable")[:CUT]] for r, s in zip(ranked, scores, strict=True)
    ]
    _report(ranked, rescored, questions)


def _report(ranked: Sequence[Ranked], rescored: Sequence[list[int]], questions: Sequence[MaskedQuestion]) -> None:
    arms = {
        "words": [r.words for r in ranked],
        "vectors": [r.meaning for r in ranked],
        "fused": [[c.id for c in r.candidates[:CUT]] for r in ranked],
        "rescored": list(rescored),
    }
    for masked in ("subject", "object", "relation"):
        which = [n for n, r in enumerate(ranked) if r.question.masked == masked]
        for arm, rankings in arms.items():
            figures = _figures([rankings[n] for n in which], [ranked[n] for n in which])
            note(f"{masked:9} {arm:9} {figures} of {len(which)}")
    which = [n for n, r in enumerate(ranked) if r.question.masked != "relation"]
    chosen = [ranked[n] for n in which]
    values = {arm: [ndcg(rankings[n], ranked[n].question.relevant) for n in which] for arm, rankings in arms.items()}
    better = max(("words", "vectors"), key=lambda arm: float(np.mean(values[arm])))
    gain = paired_interval(values["rescored"], values[better])
    kinds = [kind_of_question(q.text).kind == q.kind for q in questions]
    note(f"nDCG@5 rescored {mean_interval(values['rescored']).text()}, gain over {better} {gain.text(signed=True)}")
    print(
        json.dumps(
            {
                "plain": _figures([arms[better][n] for n in which], chosen),
                "rescored": _figures([arms["rescored"][n] for n in which], chosen),
                "gain_ndcg5": round(gain.value, 4),
                "gain_interval": [round(gain.low, 4), round(gain.high, 4)],
                "type_accuracy": round(float(np.mean(kinds)), 4),
                "questions": len(which),
            }
        )
    )


def _figures(rankings: Sequence[list[int]], ranked: Sequence[Ranked]) -> dict[str, float]:
    pairs = [(ids[:CUT], r.question.relevant) for ids, r in zip(rankings, ranked, strict=True)]
    found = [sum(i in relevant for i in ids) for ids, relevant in pairs]
    return {
        "p5": round(float(np.mean([n / CUT for n in found])), 4),
        "r5": round(float(np.mean([n / len(r) for n, (_, r) in zip(found, pairs, strict=True)])), 4),
        "ndcg5": round(float(np.mean([ndcg(ids, relevant) for ids, relevant in pairs])), 4),
    }


def ndcg(ids: Sequence[int], relevant: frozenset[int]) -> float:
    """nDCG@5 with relevance 0 or 1 (Järvelin and Kekäläinen, 2002)."""
    gained = sum(1 / np.log2(place + 2) for place, number in enumerate(ids[:CUT]) if number in relevant)
    return float(gained / sum(1 / np.log2(place + 2) for place in range(min(CUT, len(relevant)))))


def note(text: str) -> None:
    """Progress for the person who waits; the last line of standard output is the JSON object."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()

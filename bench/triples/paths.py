"""Questions over two or three facts (kg_pathquestion): is the first answer right? The entity is found in the question.

    python -m bench.triples.paths DIR [--slips]

DIR holds kb.jsonl {subject, relation, object} and questions.jsonl {question, answers, hops}. `--slips` swaps two
letters in the longest word of the entity that each question names.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from ragcore.embedding.minilm import EmbeddedEmbedder
from ragcore.graph.name_linking import corrected, find_entities, misspelt_entities, readable_question
from ragcore.graph.paths import MemoryGraph, PathSearch
from ragcore.graph.triples import Triple, name_key
from ragcore.text.spelling import LEAST_LETTERS


def main() -> None:
    """Print wrong answers to standard error and one JSON object as the last line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", type=Path, default=Path("var/models"))
    parser.add_argument("--slips", action="store_true")
    given = parser.parse_args()
    triples = [
        Triple(subject=r["subject"], relation=r["relation"], object=r["object"])
        for r in _rows(given.folder / "kb.jsonl")
    ]
    graph = MemoryGraph(triples)
    search = PathSearch(source=graph, embedder=EmbeddedEmbedder(given.models))
    right: dict[int, list[bool]] = defaultdict(list)
    took = []
    for row in _rows(given.folder / "questions.jsonl"):
        question = slipped(row["question"], graph) if given.slips else row["question"]
        start = time.perf_counter()
        answers = search.answer(corrected(question, misspelt_entities(question, graph)))
        took.append(1000 * (time.perf_counter() - start))
        wanted = {name_key(answer) for answer in row["answers"]}
        first = name_key(answers[0].answer) if answers else ""
        right[row["hops"]].append(first in wanted)
        if first not in wanted:
            path = [t.relation for t in answers[0].path] if answers else []
            print(f"{row['hops']} {row['question']} -> {first} {path}; {row['answers']}", file=sys.stderr)
    figures = {f"hop{hops}_top1": round(float(np.mean(values)), 4) for hops, values in sorted(right.items())}
    print(json.dumps(figures | {"p95_ms": round(float(np.percentile(took, 95)), 1)}))


def slipped(question: str, graph: MemoryGraph) -> str:
    """The question with two neighbouring letters swapped in the middle of its entity's longest word."""
    text = readable_question(question)
    for _key, (start, end) in find_entities(question, graph)[:1]:
        word = max(re.finditer(r"[^\W\d_]+", text[start:end]), key=lambda m: len(m.group()), default=None)
        if word is not None and len(word.group()) >= LEAST_LETTERS:
            at = start + word.start() + len(word.group()) // 2
            return text[: at - 1] + text[at] + text[at - 1] + text[at + 1 :]
    return text


def _rows(path: Path) -> list[dict]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


if __name__ == "__main__":
    main()

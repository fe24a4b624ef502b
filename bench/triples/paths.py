"""Questions over two or three facts (kg_pathquestion): is the first answer right? The entity is found in the question.

    python -m bench.triples.paths DIR

DIR holds kb.jsonl {subject, relation, object} and questions.jsonl {question, answers, hops}.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from ragcore.embedding.packaged import EmbeddedEmbedder
from ragcore.graph.paths import MemoryGraph, PathSearch
from ragcore.graph.triples import Triple, name_key


def main() -> None:
    """Print wrong answers to standard error and one JSON object as the last line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", type=Path, default=Path("var/models"))
    given = parser.parse_args()
    triples = [
        Triple(subject=r["subject"], relation=r["relation"], object=r["object"])
        for r in _rows(given.folder / "kb.jsonl")
    ]
    search = PathSearch(source=MemoryGraph(triples), embedder=EmbeddedEmbedder(given.models))
    right: dict[int, list[bool]] = defaultdict(list)
    took = []
    for row in _rows(given.folder / "questions.jsonl"):
        start = time.perf_counter()
        answers = search.answer(row["question"])
        took.append(1000 * (time.perf_counter() - start))
        wanted = {name_key(answer) for answer in row["answers"]}
        first = name_key(answers[0].answer) if answers else ""
        right[row["hops"]].append(first in wanted)
        if first not in wanted:
            path = [t.relation for t in answers[0].path] if answers else []
            print(f"{row['hops']} {row['question']} -> {first} {path}; {row['answers']}", file=sys.stderr)
    figures = {f"hop{hops}_top1": round(float(np.mean(values)), 4) for hops, values in sorted(right.items())}
    print(json.dumps(figures | {"p95_ms": round(float(np.percentile(took, 95)), 1)}))


def _rows(path: Path) -> list[dict]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


if __name__ == "__main__":
    main()

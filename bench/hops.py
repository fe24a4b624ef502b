"""Questions that need several steps: one search against two; and what kinds the rules see. Without a database.

    python -m bench.hops DIR …

DIR holds corpus.jsonl, queries.jsonl and qrels.tsv. Both searches are BM25 over the product's terms; the second query
is ragcore.grading.query_refinement.hop_by_rules, half of the places go to each, as when the product
merges two forms of a question.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragcore.grading.query_refinement import hop_by_rules
from ragcore.metrics.bootstrap import mean_interval, paired_interval
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Passage
from ragcore.types.answering import Ranked
from ragcore.understanding.analysis import extract_features

FIRST = 10  # places
_LABEL_END = "/"  # "bridge/easy" is counted as "bridge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question: whether all its documents are among the first ten, after one search and after two."""

    label: str  # what the data calls its kind; "-" where it says nothing
    kind: str
    one: bool
    two: bool


class Library:
    """BM25 over the documents of a folder."""

    def __init__(self, folder: Path, tokenizer: JiebaTokenizer) -> None:
        import bm25s

        self.tokenizer = tokenizer
        self.documents = list(_rows(folder / "corpus.jsonl"))
        self._index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
        texts = [tokenizer.terms(f"{d.get('title', '')}\n{d['text']}") for d in self.documents]
        self._index.index(texts, show_progress=False)

    def search(self, text: str) -> list[int]:
        """Numbers of the first ten documents."""
        count = min(FIRST, len(self.documents))
        terms = [term for term in self.tokenizer.terms(text) if term in self._index.vocab_dict]
        if not terms:
            return []
        found = self._index.retrieve([terms], k=count, show_progress=False)
        return [int(number) for number in found.documents[0]]

    def ranked(self, numbers: Sequence[int]) -> list[Ranked]:
        """Documents as passages."""
        rows = [(number, self.documents[number]) for number in numbers]
        return [
            Ranked(
                passage=Passage(chunk=n, document=n, version=1, text=row["text"], title=row.get("title", "")), score=1.0
            )
            for n, row in rows
        ]


def asked(folder: Path, tokenizer: JiebaTokenizer) -> list[Asked]:
    """Every question of a folder that has relevant documents."""
    library, gold = Library(folder, tokenizer), _gold(folder)
    ids = [document["id"] for document in library.documents]
    found: list[Asked] = []
    for row in _rows(folder / "queries.jsonl"):
        if not (wanted := gold[row["id"]]):
            continue
        first = library.search(row["text"])
        hop = hop_by_rules(row["text"], library.ranked(first), tokenizer)
        both = shared_places(first, library.search(hop) if hop else [])
        label = str(row.get("type") or "-").split(_LABEL_END)[0]
        one, two = (wanted <= {ids[number] for number in numbers} for numbers in (first, both))
        found.append(Asked(label=label, kind=extract_features(row["text"]).kind, one=one, two=two))
    return found


def shared_places(first: Sequence[int], second: Sequence[int]) -> list[int]:
    """Ten places for two rankings: half for each, what is left for the best of the others."""
    if not second:
        return list(first)
    half = FIRST // 2
    return list(dict.fromkeys([*first[:half], *second[:half], *first, *second]))[:FIRST]


def _gold(folder: Path) -> dict[str, set[str]]:
    gold: dict[str, set[str]] = defaultdict(set)
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, document, grade = line.split()[:3]
        if grade.isdigit() and int(grade) > 0:
            gold[query].add(document)
    return gold


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def report(name: str, found: Sequence[Asked]) -> str:
    """Two Markdown tables: all documents among the first ten, and kinds by label."""
    groups = {"all": list(found)}
    for one in found:
        groups.setdefault(one.kind, []).append(one)
    lines = [
        f"### {name}",
        "",
        "| kind | questions | one search | two searches | difference |",
        "|---|---|---|---|---|",
    ]
    for kind, group in groups.items():
        single, double = [float(a.one) for a in group], [float(a.two) for a in group]
        means = " | ".join(f"{mean_interval(values).value:.3f}" for values in (single, double))
        lines.append(f"| {kind} | {len(group)} | {means} | {paired_interval(double, single).text(signed=True)} |")
    kinds = Counter((a.label, a.kind) for a in found)
    lines += ["", "| label of the data | kinds by rules |", "|---|---|"]
    for label in dict.fromkeys(label for label, _ in kinds):
        seen = ", ".join(f"{kind} {n}" for (other, kind), n in kinds.most_common() if other == label)
        lines.append(f"| {label} | {seen} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    tokenizer = JiebaTokenizer()
    for folder in parser.parse_args().folders:
        print(report(folder.resolve().parent.name, asked(folder, tokenizer)), end="\n\n")


if __name__ == "__main__":
    main()

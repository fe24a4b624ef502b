"""Facts that the rules read in documents, drawn for people to judge, and how many of them are right.

    python -m bench.triples.judging sample FOLDER... --count 200 > facts.jsonl
    python -m bench.triples.judging score FOLDER... [--verdicts FILE]

A FOLDER has a corpus.jsonl of passages (id, title, text), or files, which are read and cut as uploads are. `sample`
draws the same number from each folder and, as far as there are so many, from each rule, by the hash of a fact and its
evidence: after a change of the rules the facts that are still read are drawn again. `score` prints one JSON object:
precision of the sample with its 95 % interval, by rule and by folder, how many of the sample nobody has judged, and
passages read per second on one core. Of judged facts the file of verdicts keeps their hash alone.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path

from ragcore.chunking import splitter_for
from ragcore.cleaning import clean
from ragcore.errors import RagError
from ragcore.graph.extraction import ExtractedFact, extract_facts
from ragcore.metrics.bootstrap import mean_interval
from ragcore.options import ChunkingOptions
from ragcore.parsing import SUPPORTED_FORMATS, parse
from ragcore.text.token_count import counter

VERDICTS = Path(__file__).with_name("verdicts.jsonl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A passage with what it is about."""

    text: str
    title: str
    heading_path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnFact:
    """A fact of the sample."""

    id: str
    folder: str
    fact: ExtractedFact


def main() -> None:
    """Draw or score."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("sample", "score"))
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--verdicts", type=Path, default=VERDICTS)
    given = parser.parse_args()
    drawn: list[DrawnFact] = []
    passages, seconds, facts = 0, 0.0, 0
    for folder in given.folders:
        read = list(passages_of(folder))
        start = time.process_time()
        found = [fact for one in read for fact in _facts(one)]
        seconds += time.process_time() - start
        passages, facts = passages + len(read), facts + len(found)
        note(f"{folder}: {len(read)} passages, {len(found)} facts")
        drawn += draw(found, folder=folder_name(folder), count=given.count // len(given.folders))
    if given.what == "sample":
        for one in drawn:
            print(json.dumps(_shown(one), ensure_ascii=False))
        return
    print(json.dumps(scored(drawn, verdicts_read(given.verdicts)) | {
        "facts": facts, "passages": passages, "passages_per_second": round(passages / max(seconds, 1e-9), 1),
    }))  # fmt: skip


def passages_of(folder: Path) -> Iterator[Passage]:
    """Passages of a corpus, or of every file of a folder that can be read without text recognition."""
    corpus = folder / "corpus.jsonl"
    if corpus.exists():
        with corpus.open(encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines if line.strip()]
        yield from (Passage(text=row["text"], title=row.get("title") or "") for row in rows)
        return
    for file in sorted(folder.iterdir()):
        if file.suffix.lower() in SUPPORTED_FORMATS and not file.name.startswith("bad_"):
            yield from _of_file(file)


def folder_name(folder: Path) -> str:
    """The name of a set: the last part of its path that says more than "dev" or "files"."""
    return next((part for part in reversed(folder.resolve().parts) if part not in ("dev", "files")), str(folder))


def _of_file(file: Path) -> Iterator[Passage]:
    try:
        document = clean(parse(file.read_bytes(), name=file.name))
    except RagError as error:
        note(f"{file.name}: {error.code}")
        return
    for draft in splitter_for(ChunkingOptions(), counter()).split(document):
        if draft.kind in ("body", "whole"):
            yield Passage(text=draft.text, title=document.title or file.stem, heading_path=tuple(draft.heading_path))


def _facts(passage: Passage) -> list[ExtractedFact]:
    return extract_facts(passage.text, title=passage.title, heading_path=passage.heading_path)


def fact_id(fact: ExtractedFact) -> str:
    """16 hexadecimal digits of a fact with its evidence."""
    triple = fact.triple
    said = "\x1f".join((triple.subject, triple.relation, triple.object, fact.sentence))
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def draw(facts: Sequence[ExtractedFact], *, folder: str, count: int) -> list[DrawnFact]:
    """`count` of the different facts, the rules in turn, of each those with the smallest hashes."""
    rules: dict[str, list[str]] = defaultdict(list)
    different = {fact_id(fact): fact for fact in facts}
    for key in sorted(different):
        rules[different[key].rule].append(key)
    turns = (key for row in zip_longest(*(rules[name] for name in sorted(rules))) for key in row if key is not None)
    return [DrawnFact(id=key, folder=folder, fact=different[key]) for key in islice(turns, count)]


def verdicts_read(file: Path) -> dict[str, bool]:
    """Verdicts by fact."""
    if not file.exists():
        return {}
    rows = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip())
    return {row["fact"]: bool(row["right"]) for row in rows}


def scored(drawn: Sequence[DrawnFact], verdicts: dict[str, bool]) -> dict[str, object]:
    """Precision of the facts that have a verdict, in all, by rule and by folder."""
    judged = [(one, verdicts[one.id]) for one in drawn if one.id in verdicts]
    rules: dict[str, list[bool]] = defaultdict(list)
    folders: dict[str, list[bool]] = defaultdict(list)
    for one, right in judged:
        rules[one.fact.rule].append(right)
        folders[one.folder].append(right)
    interval = mean_interval([float(right) for _, right in judged]) if judged else None
    return {
        "precision": round(interval.value, 4) if interval else None,
        "interval": [round(interval.low, 4), round(interval.high, 4)] if interval else None,
        "judged": len(judged),
        "unjudged": len(drawn) - len(judged),
        "by_rule": {name: [sum(values), len(values)] for name, values in sorted(rules.items())},
        "by_folder": {name: [sum(values), len(values)] for name, values in sorted(folders.items())},
    }


def _shown(one: DrawnFact) -> dict[str, object]:
    triple = one.fact.triple
    said = {"subject": triple.subject, "relation": triple.relation, "object": triple.object}
    return {"fact": one.id, "folder": one.folder, "rule": one.fact.rule, **said, "evidence": one.fact.sentence}


def note(text: str) -> None:
    """Progress for the person who waits."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()

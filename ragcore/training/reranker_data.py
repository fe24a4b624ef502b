"""Public sets in the form of a retrieval set, for the training of the reranker.

    python -m ragcore.training.reranker_data OUT --halves DIR DIR --tatqa DIR --joined NAME DIR DIR

`--halves`: XQuAD in two folders, questions of one language over passages of the other. It is parallel, so that there
are six sets: questions and passages of the same language, of two languages, all questions over all passages, and all
questions over passages that stand in one language each. Each question says which article it is about, in both languages
the same. `--joined`: passages and questions of two sets in
one, such as questions across languages among passages of the language of the questions. `--tatqa`: TAT-QA
(contexts.jsonl), whose questions ask about the table and paragraphs at hand: each becomes a passage under the title of
its context.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]
SHORTEST_ANSWER = 3  # characters; shorter ones occur everywhere
LANGUAGES = re.compile(r"-(en|zh)-")
ARTICLE = re.compile(r"-(?:en|zh)-(\w+)-")


def set_write(folder: Path, *, corpus: Iterable[Row], queries: Iterable[Row], relevant: Mapping[str, list[str]]) -> int:
    """Write the three files; only questions with a relevant passage are kept. Returns how many there are."""
    folder.mkdir(parents=True, exist_ok=True)
    answerable = [row for row in queries if relevant.get(row["id"])]
    _lines(folder / "corpus.jsonl", (json.dumps(row, ensure_ascii=False) for row in corpus))
    _lines(folder / "queries.jsonl", (json.dumps(row, ensure_ascii=False) for row in answerable))
    _lines(
        folder / "qrels.tsv", (f"{row['id']}\t{passage}\t1" for row in answerable for passage in relevant[row["id"]])
    )
    return len(answerable)


def halves_joined(*, questions: Sequence[Path], passages: Sequence[Path], out: Path) -> int:
    """Questions of the first folders over the passages of the second ones, in whichever languages these are."""
    corpora = [list(_rows(folder / "corpus.jsonl")) for folder in passages]
    languages = [_language(corpus[0]["id"]) for corpus in corpora]
    relevant: dict[str, list[str]] = {}
    for query, passage in chain.from_iterable(map(_relevant, questions)):
        relevant.setdefault(query, []).extend(LANGUAGES.sub(f"-{name}-", passage, count=1) for name in languages)
    question_rows = [
        {**row, "answers": _answers(row), "about": _article(relevant[row["id"]][0])}
        for folder in questions
        for row in _rows(folder / "queries.jsonl")
        if row["id"] in relevant
    ]
    return set_write(out, corpus=chain.from_iterable(corpora), queries=question_rows, relevant=relevant)


def halves_mixed(*, halves: Sequence[Path], out: Path) -> int:
    """Questions of both languages over passages that stand in one language each, as in an organisation.

    Half of the passages of an article are in either language, so that what answers a question stands among neighbours
    in the other one.
    """
    corpora = [list(_rows(folder / "corpus.jsonl")) for folder in halves]
    languages = [_language(corpus[0]["id"]) for corpus in corpora]
    corpus = [
        row
        for at, rows in enumerate(corpora)
        for row in rows
        if sum(LANGUAGES.sub("-", row["id"], count=1).encode()) % len(languages) == at
    ]
    there = {row["id"] for row in corpus}
    relevant: dict[str, list[str]] = {}
    for query, passage in chain.from_iterable(map(_relevant, halves)):
        both = [LANGUAGES.sub(f"-{name}-", passage, count=1) for name in languages]
        relevant.setdefault(query, []).extend(key for key in both if key in there)
    question_rows = [
        {**row, "answers": _answers(row), "about": _article(relevant[row["id"]][0])}
        for folder in halves
        for row in _rows(folder / "queries.jsonl")
        if relevant.get(row["id"])
    ]
    return set_write(out, corpus=corpus, queries=question_rows, relevant=relevant)


def sets_joined(*, folders: Sequence[Path], out: Path) -> int:
    """Passages and questions of several sets in one; ids begin with the number of the set."""
    corpus: list[Row] = []
    queries: list[Row] = []
    relevant: dict[str, list[str]] = {}
    for number, folder in enumerate(folders):
        corpus += [{**row, "id": f"{number}/{row['id']}"} for row in _rows(folder / "corpus.jsonl")]
        queries += [{**row, "id": f"{number}/{row['id']}"} for row in _rows(folder / "queries.jsonl")]
        for query, passage in _relevant(folder):
            relevant.setdefault(f"{number}/{query}", []).append(f"{number}/{passage}")
    return set_write(out, corpus=corpus, queries=queries, relevant=relevant)


def tatqa_passages(*, folder: Path, out: Path) -> int:
    """Tables and paragraphs as passages; relevant is what the answer comes from."""
    corpus: list[Row] = []
    queries: list[Row] = []
    relevant: dict[str, list[str]] = {}
    for context in _rows(folder / "contexts.jsonl"):
        name = context["id"]
        texts = {f"{name}-table": _table(context["table"])}
        texts |= {f"{name}-{number}": text for number, text in enumerate(context["paragraphs"])}
        corpus += [{"id": key, "title": name, "text": text} for key, text in texts.items()]
        for question in context["questions"]:
            queries.append({"id": question["id"], "text": question["question"]})
            relevant[question["id"]] = list(_sources(question, texts))
    return set_write(out, corpus=corpus, queries=queries, relevant=relevant)


def _sources(question: Row, texts: Mapping[str, str]) -> Iterator[str]:
    """The table where the answer comes from it, and the paragraphs that contain the answer."""
    answer = question["answer"]
    spans = [str(span).lower() for span in (answer if isinstance(answer, list) else [answer])]
    for key, text in texts.items():
        if key.endswith("-table"):
            if "table" in question["answer_from"]:
                yield key
        elif "text" in question["answer_from"] and any(
            len(span) >= SHORTEST_ANSWER and span in text.lower() for span in spans
        ):
            yield key


def _table(rows: Iterable[Iterable[Any]]) -> str:
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in rows)


def _relevant(folder: Path) -> Iterator[tuple[str, str]]:
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, passage = line.split("\t")[:2]
        yield query, passage


def _answers(row: Row) -> list[str]:
    """In both languages."""
    return list(dict.fromkeys(chain.from_iterable(row.get(f"answers{name}", ()) for name in ("", "_en", "_zh"))))


def _article(passage: str) -> str:
    match = ARTICLE.search(passage)
    return match.group(1) if match else passage


def _language(passage: str) -> str:
    match = LANGUAGES.search(passage)
    if match is None:
        raise SystemExit(f"the passage {passage!r} does not name its language as -en- or -zh-")
    return match.group(1)


def _rows(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def _lines(path: Path, lines: Iterable[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _pairs(halves: Sequence[Path]) -> Iterator[tuple[str, list[Path], list[Path]]]:
    """Name of a set, folders of its questions and of its passages."""
    first, second = halves  # questions of one language, passages of the other
    question_language, passage_language = (
        _language(next(iter(_rows(folder / "corpus.jsonl")))["id"]) for folder in (second, first)
    )
    yield question_language, [first], [second]
    yield passage_language, [second], [first]
    yield f"{question_language}_{passage_language}", [first], [first]
    yield f"{passage_language}_{question_language}", [second], [second]
    yield "both", [first, second], [first, second]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--halves", nargs=2, type=Path, default=[])
    parser.add_argument("--tatqa", type=Path)
    parser.add_argument("--joined", nargs=3, action="append", default=[], metavar=("NAME", "DIR", "DIR"))
    options = parser.parse_args()
    for name, questions, passages in _pairs(options.halves) if options.halves else ():
        out = options.out / f"xquad_{name}"
        print(f"{out}: {halves_joined(questions=questions, passages=passages, out=out)} questions")
    if options.halves:
        out = options.out / "xquad_mixed"
        print(f"{out}: {halves_mixed(halves=options.halves, out=out)} questions")
    for name, *folders in options.joined:
        out = options.out / name
        print(f"{out}: {sets_joined(folders=[Path(folder) for folder in folders], out=out)} questions")
    if options.tatqa:
        out = options.out / "tatqa"
        print(f"{out}: {tatqa_passages(folder=options.tatqa, out=out)} questions")


if __name__ == "__main__":
    main()

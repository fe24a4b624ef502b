"""Public sets in the form that `manage.py load_benchmark` reads, for the training of the reranker.

    python -m ragcore.training.reranker_data OUT --halves DIR DIR --tatqa DIR

`--halves`: XQuAD in two folders, questions of one language over passages of the other; questions and passages of the
same language are put together (XQuAD is parallel). `--tatqa`: TAT-QA (contexts.jsonl), whose questions ask about the
table and paragraphs at hand: each becomes a passage under the title of its context.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]
SHORTEST_ANSWER = 3  # characters; shorter ones occur everywhere
LANGUAGES = re.compile(r"-(en|zh)-")


def set_write(folder: Path, *, corpus: Iterable[Row], queries: Iterable[Row], relevant: Mapping[str, list[str]]) -> int:
    """Write the three files; only questions with a relevant passage are kept. Returns how many there are."""
    folder.mkdir(parents=True, exist_ok=True)
    asked = [row for row in queries if relevant.get(row["id"])]
    _lines(folder / "corpus.jsonl", (json.dumps(row, ensure_ascii=False) for row in corpus))
    _lines(folder / "queries.jsonl", (json.dumps(row, ensure_ascii=False) for row in asked))
    _lines(folder / "qrels.tsv", (f"{row['id']}\t{passage}\t1" for row in asked for passage in relevant[row["id"]]))
    return len(asked)


def halves_joined(*, questions: Path, passages: Path, out: Path) -> int:
    """Questions of the first folder over the passages of the second, which are in the language of the questions."""
    corpus = list(_rows(passages / "corpus.jsonl"))
    language = _language(corpus[0]["id"])
    relevant: dict[str, list[str]] = {}
    for line in (questions / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, passage = line.split("\t")[:2]
        relevant.setdefault(query, []).append(LANGUAGES.sub(f"-{language}-", passage, count=1))
    return set_write(out, corpus=corpus, queries=_rows(questions / "queries.jsonl"), relevant=relevant)


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


def _language(passage: str) -> str:
    found = LANGUAGES.search(passage)
    if found is None:
        raise SystemExit(f"the passage {passage!r} does not name its language as -en- or -zh-")
    return found.group(1)


def _rows(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def _lines(path: Path, lines: Iterable[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--halves", nargs=2, type=Path, default=[])
    parser.add_argument("--tatqa", type=Path)
    given = parser.parse_args()
    for questions, passages in (given.halves, given.halves[::-1]) if given.halves else ():
        language = _language(next(iter(_rows(passages / "corpus.jsonl")))["id"])
        out = given.out / f"xquad_{language}"
        print(f"{out}: {halves_joined(questions=questions, passages=passages, out=out)} questions")
    if given.tatqa:
        out = given.out / "tatqa"
        print(f"{out}: {tatqa_passages(folder=given.tatqa, out=out)} questions")


if __name__ == "__main__":
    main()

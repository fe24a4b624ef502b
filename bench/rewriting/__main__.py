"""`make bench-rewriting DATA="DIR …"`: what the rules make of questions in conversations, as Markdown tables.

DIR holds *.jsonl with history, question and the rewrite of a person: exact match and BLEU-4 beside the copied question.
Or a retrieval set (corpus.jsonl, queries.jsonl with history, qrels.tsv): nDCG@10 of the product's own search.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from bench.__main__ import prepare
from bench.report import table
from bench.rewriting.files import conversations, rewriting_files
from bench.rewriting.scores import Compared, compared
from ragcore.ports import Tokenizer
from ragcore.text.scripts import language_of
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types.answering import Question
from ragcore.understanding.standalone import standalone_by_rules

HALVES = {"all": slice(None), "even": slice(0, None, 2), "odd": slice(1, None, 2)}
HEADER = ["file", "questions", "changed", "exact", "copied", "gain (95 %)", "BLEU-4", "copied", "gain (95 %)", "ms"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.rewriting", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--limit", type=int, default=300, help="questions of a retrieval set")
    parser.add_argument("--half", choices=HALVES, default="all", help="rows of a conversation file")
    arguments = parser.parse_args()
    searched = [folder for folder in arguments.folders if (folder / "qrels.tsv").is_file()]
    read = [folder for folder in arguments.folders if folder not in searched]
    for folder in read:
        if not rewriting_files(folder):
            sys.exit(f"{folder} holds neither qrels.tsv nor *.jsonl with history, question and rewrite")
    if read:
        print(conversation_table(read, half=HALVES[arguments.half]))
    if searched:
        with ExitStack() as stack:
            prepare(stack)
            from bench.rewriting.retrieval import run

            print(
                f"\n{run(folders=searched, limit=arguments.limit)}"
                if read
                else run(folders=searched, limit=arguments.limit)
            )


def conversation_table(folders: Sequence[Path], *, half: slice = slice(None)) -> str:
    """One row for each file."""
    tokenizer = JiebaTokenizer()
    rows = [_row(path, tokenizer, half) for folder in folders for path in rewriting_files(folder)]
    return table(HEADER, rows)


def _row(path: Path, tokenizer: Tokenizer, half: slice) -> list[str]:
    asked = conversations(path)[half]
    start = time.perf_counter()
    ours = [
        standalone_by_rules(
            Question(text=one.text, language=language_of(one.text), history=one.history), tokenizer
        ).text
        for one in asked
    ]
    milliseconds = 1000 * (time.perf_counter() - start) / max(len(asked), 1)
    figures = compared(ours, [one.text for one in asked], [one.wanted for one in asked])
    return [path.stem, *_cells(figures), f"{milliseconds:.1f}"]


def _cells(figures: Compared) -> list[str]:
    exact, bleu = figures.exact_gain, figures.bleu_gain
    return [
        str(figures.questions),
        str(figures.changed),
        f"{figures.exact:.3f}",
        f"{figures.exact_copied:.3f}",
        exact.text(signed=True),
        f"{figures.bleu:.1f}",
        f"{figures.bleu_copied:.1f}",
        f"{bleu.value:+.1f} ({bleu.low:+.1f} to {bleu.high:+.1f})",
    ]


if __name__ == "__main__":
    main()

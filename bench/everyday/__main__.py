"""`make bench-everyday DATA=DIR`: questions as people type them, over the files of an organisation.

DIR holds documents/ and questions.jsonl (see `bench.everyday.questions`). The files are ingested into a database of its
own; every conversation is put to the product as an employee would. Prints what is not useful, a table by kind and
language, and as last line one JSON object. `--show` prints every answer, `--keep FOLDER` keeps the database for the
next run, `--documents FOLDER` takes the files of another folder, `--only` asks the conversations with these ids or of
these kinds, `--sample 40` forty of all kinds.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from bench.__main__ import prepare
from bench.calibration import Reliability
from bench.everyday.questions import questions_read, questions_sample

if TYPE_CHECKING:
    from bench.everyday.asking import AskedTurn


def main(arguments: Sequence[str]) -> None:
    """Start the services, ingest, ask, and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.everyday", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="a folder with documents/ and questions.jsonl")
    parser.add_argument(
        "--documents", type=Path, help="the folder of the files; by default documents/ beside the questions"
    )
    parser.add_argument("--show", action="store_true", help="print every answer")
    parser.add_argument("--keep", type=Path, help="folder of the database; by default a new one that is removed")
    parser.add_argument("--only", nargs="*", default=[], help="ids or kinds")
    parser.add_argument(
        "--sample", type=int, help="number of conversations, drawn from all kinds; always the same ones"
    )
    given = parser.parse_args(arguments)
    if not (given.folder / "questions.jsonl").is_file():
        sys.exit(f"{given.folder} holds no questions.jsonl")
    questions = questions_read(given.folder / "questions.jsonl")
    wanted = [q for q in questions if not given.only or {q.id, q.kind} & set(given.only)]
    if given.sample:
        wanted = questions_sample(wanted, given.sample)
    with ExitStack() as stack:
        prepare(stack, kept=given.keep)
        from bench.everyday.asking import VERDICTS, Organisation, Tally, verdict_together

        organisation = Organisation.loaded(given.documents or given.folder / "documents")
        tally, reliability = Tally(), Reliability()
        for question in wanted:
            turns = list(organisation.asked(question))
            tally.add(question, verdict_together(turns))
            for one in turns:
                if one.answer.status == "answered":
                    reliability.add(one.answer.confidence, is_right=one.verdict == "useful")
                if given.show or one.verdict != "useful":
                    print(_told(one, whole=given.show), flush=True)
        print(f"\n{tally.table()}\n\n{reliability.table()}")
        figures = {name: tally.share(name) for name in VERDICTS} | {"calibration_error": reliability.error()}
    print(json.dumps(figures | {"questions": len(wanted)}))


def _told(one: AskedTurn, *, whole: bool) -> str:
    """A turn with its verdict, where its answer stood, and the answer or its beginning."""
    answer = one.answer
    head = f"{one.verdict:15} {one.question.id} {one.question.kind:9} in {one.reach:9} {one.turn.text}"
    said = f"[{answer.status} {answer.confidence}] "
    if not whole:
        return f"{head[:120]} -> {said}{answer.text[:110]!r}"
    return f"\n### {head}\n{said}{len(answer.text)} characters\n{answer.text}"


if __name__ == "__main__":
    main(sys.argv[1:])

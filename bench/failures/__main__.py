"""`make bench-failures DATA="DIR …"`: wrong answers that were labelled by hand, and what the diagnosis says of them.

DIR holds corpus.jsonl, queries.jsonl with answers, and qrels.tsv. The questions of the committed list (see
`bench.failures.labels`) whose sets are given are asked anew, on a database of its own and without a language model;
those whose answers are still wrong are diagnosed with what a golden case knows. Prints agreement, the confusion matrix,
and as last line one JSON object: `class_agreement`, `subcause_agreement` (class and sub-cause), `cases` (labelled
failures of the sets given), `still_wrong` (those that count). `--show` adds every case that is named otherwise.

`collect` prints, in place of all that, wrong answers to a random sample of questions as JSON lines, to be labelled.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from bench.__main__ import prepare, require_sets
from bench.failures.figures import Compared, confusion, figures_of, shares_table
from bench.failures.labels import Label, labels_read

if TYPE_CHECKING:
    from bench.failures.asking import World


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.failures", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    compare = commands.add_parser("compare", help="labels beside diagnoses")
    compare.add_argument("--show", action="store_true", help="print every case that is named otherwise")
    collect = commands.add_parser("collect", help="wrong answers to be labelled")
    collect.add_argument("--each", type=int, default=20, help="wrong answers of each set")
    collect.add_argument("--refusals", type=int, default=5, help="answered questions of each set that nothing answers")
    collect.add_argument("--seed", type=int, default=1)
    collect.add_argument("--limit", type=int, default=300, help="questions that are asked of each set")
    for command in (compare, collect):
        command.add_argument("folders", nargs="+", type=Path, help="public sets with answers")
    given = parser.parse_args(arguments)
    require_sets(given.folders)
    with ExitStack() as stack:
        prepare(stack)
        from bench.failures.asking import World

        world = World.loaded(given.folders)
        if given.command == "collect":
            from bench.failures.collect import collected

            for row in collected(world, each=given.each, refusals=given.refusals, seed=given.seed, limit=given.limit):
                print(json.dumps(row, ensure_ascii=False), flush=True)
        else:
            print(compared_text(world, labels_read(), show=given.show))


def compared_text(world: World, labels: Sequence[Label], *, show: bool) -> str:
    """Tables and the JSON line. Raises ValueError where no listed answer is wrong any more."""
    mine = [label for label in labels if label.is_failure and label.set in world.sets]
    compared = list(compare_all(world, mine))
    if show:
        for one in compared:
            if not one.is_exact:
                print(one.described(), file=sys.stderr, flush=True)
    figures = json.dumps(figures_of(compared, listed=len(mine)))
    return f"{shares_table(compared)}\n\n{confusion(compared)}\n\n{figures}"


def compare_all(world: World, labels: Sequence[Label]) -> Iterator[Compared]:
    """Ask every question again; those that are still answered wrongly come with their diagnosis."""
    from bench.failures.asking import is_wrong

    for label in labels:
        question = world.questions[label.set, label.question]
        message = world.asked(question)
        if not is_wrong(question, answer=message.answer, status=message.status):
            continue
        found = world.diagnosed(message, question.wanted)
        diagnosis = found.diagnosis
        yield Compared(
            label=label,
            found=(diagnosis.cause, diagnosis.subcause),
            detail=diagnosis.detail,
            where=f"{found.passage.whereabouts} {found.passage.stage}" if found.passage else "no passage",
            confidence=diagnosis.confidence,
            expects_refusal=question.expects_refusal,
        )


if __name__ == "__main__":
    main(sys.argv[1:])

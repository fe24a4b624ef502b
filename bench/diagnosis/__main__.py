"""`make bench-diagnosis DATA="DIR …"`: failures are planted over a public set, and the diagnosis has to name each.

DIR holds corpus.jsonl, queries.jsonl with answers, and qrels.tsv. One stage is broken for each question, on a database
of its own; the diagnosis knows the document and its accepted answers, as a golden case does, and no language model.
The last line is one JSON object: `class_accuracy`, `subcause_accuracy`, `ece` (expected calibration error of the
confidence, ten bins), `remedied` (share of the failures with a remedy that can be clicked whose question is answered
after the click, with what is broken still broken; null without any), `cases`; and of other questions, asked before and
after each click, `rest_cases`, `rest_ndcg_change`, `rest_answered_change` (after minus before), `rest_lost` and
`rest_won`. `--calibrate` adds a line for each rule.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from bench.__main__ import prepare, require_sets


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.diagnosis", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="public retrieval sets with answers")
    parser.add_argument("--each", type=int, default=16, help="failures of each kind, over all sets")
    parser.add_argument("--others", type=int, default=16, help="other questions beside each remedy")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print every case that was not named rightly or not mended")
    parser.add_argument("--calibrate", action="store_true", help="print how often each rule was right")
    arguments = parser.parse_args()
    require_sets(arguments.folders)
    with ExitStack() as stack:
        prepare(stack)
        options = {"show": arguments.show, "calibrate": arguments.calibrate, "others": arguments.others}
        print(run(folders=arguments.folders, each=arguments.each, seed=arguments.seed, **options))


def run(
    *, folders: Sequence[Path], each: int, seed: int, others: int, show: bool = False, calibrate: bool = False
) -> str:
    """Tables of right classes and sub-causes by kind of failure, and the JSON line; needs services and Django."""
    from bench.diagnosis.figures import figures_of, reliabilities, rest_table, table
    from bench.diagnosis.planted import World

    world = World.loaded(folders)
    world.others = others
    outcomes = list(world.outcomes(each=each, seed=seed))
    if show:
        for outcome in outcomes:
            if not outcome.is_exact or outcome.is_remedied is False:
                print(outcome.described(), file=sys.stderr, flush=True)
    if calibrate:
        for rule, (cases, share, sure) in reliabilities(outcomes).items():
            print(f"rule {rule}: {cases} cases, {share} right, certainty {sure}", file=sys.stderr, flush=True)
    return f"{table(outcomes)}\n\n{rest_table(outcomes)}\n\n{json.dumps(figures_of(outcomes))}"


if __name__ == "__main__":
    main()

"""`make bench-calibration DATA="DIR …"`: whether the confidence of answers is the share of right ones among them.

DIR as for `make bench-modes`; answers are those of the basic mode, without a language model. Prints for each set the
answers, the share of right ones, the mean confidence and the expected calibration error (Naeini et al. 2015), then the
tenths of confidence, and as last line one JSON object: set -> error. ROWS=FILE keeps every answer with its evidence.

`python -m bench.confidence fit FILE …` fits the weights on such files, prints each set's error by weights of all sets
and by those of the others alone, and as last line the content of ragcore/answerability/confidence.MODEL.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from bench.__main__ import prepare, require_sets

HEAD = "| set | answers | right | confidence | calibration error |\n|---|---|---|---|---|"
FIT_HEAD = "| set | answers | error | error by the other sets |\n|---|---|---|---|"


def main(arguments: Sequence[str]) -> None:
    """Ask and print, or fit."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.confidence", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path, help="sets, or files of rows behind the word fit")
    parser.add_argument("--limit", type=int, default=60, help="questions of each set")
    parser.add_argument("--rows", type=Path, help="file to write every answer with its evidence to")
    options = parser.parse_args(arguments)
    if str(options.folders[0]) == "fit":
        _fit(options.folders[1:])
    else:
        _ask(options.folders, limit=options.limit, rows=options.rows)


def _ask(folders: Sequence[Path], *, limit: int, rows: Path | None) -> None:
    require_sets(folder for folder in folders if not (folder / "questions.jsonl").is_file())
    with ExitStack() as stack:
        prepare(stack)
        from bench.calibration import Reliability
        from bench.modes.measure import measure

        every, errors, lines = Reliability(), dict[str, float](), list[str]()
        print(HEAD)
        for figures in measure(folders, limit=limit, modes=("basic",)):
            reliability = figures.reliability("basic")
            every.answers += reliability.answers
            errors[figures.name] = reliability.error()
            print(f"| {figures.name} | {reliability.summary()} |", flush=True)
            lines += [
                json.dumps({"set": figures.name, "right": answer.has_gold, **answer.evidence})
                for answer in figures.answers["basic"]
                if answer.status == "answered" and answer.evidence
            ]
    print(f"\n{every.table()}\n\n{json.dumps(errors)}")
    if rows is not None:
        rows.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _fit(files: Sequence[Path]) -> None:
    from bench.confidence.fitting import EVIDENCE, Answered, errors, fitted

    rows = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    answers = [
        Answered(name=row["set"], evidence={name: row[name] for name in EVIDENCE}, is_right=row["right"])
        for row in rows
    ]
    print(FIT_HEAD)
    for name, size, error, alone in errors(answers):
        print(f"| {name} | {size} | {error:.3f} | {alone:.3f} |")
    print(json.dumps(fitted(answers)))


if __name__ == "__main__":
    main(sys.argv[1:])

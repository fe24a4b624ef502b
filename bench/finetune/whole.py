"""`make bench-model-training DATA=DIR OTHER=DIR`: the product's training of a whole model, on a public set.

The packaged model of Chinese and English is trained with questions about half of a set's documents (`halves`), by the
program that the product runs, and judged on questions about the other half, and on questions of another set, of which
it should forget nothing. Wrong passages are those of other questions: without a site there is no search that would find
hard ones. Prints one JSON object. Needs neither Django nor a database.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.finetune.halves import first_half, rows_of
from ragcore.embedding.e5 import PASSAGE, QUERY
from ragcore.metrics.bootstrap import paired_interval
from ragcore.training.whole_model.plan import (
    AFTER,
    BEFORE,
    PACKAGED,
    Example,
    HeldOut,
    TuneData,
    TunePlan,
    TuneSettings,
    json_read,
    plan_write,
)

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Train once, judge twice."""
    parser = argparse.ArgumentParser(prog="python -m bench.finetune.whole", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("other", type=Path, metavar="OTHER")
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--questions", type=int, default=150, help="held-out ones of each set")
    parser.add_argument("--passages", type=int, default=1000, help="to find among, of each set")
    parser.add_argument("--tokens", type=int, default=TuneSettings().tokens)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--models", type=Path, default=None, help="where the model to begin with is kept")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        print(json.dumps(measured(arguments, Path(scratch))))


def measured(arguments: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    """Figures of one training."""
    models = arguments.models or scratch / "models"
    models.mkdir(parents=True, exist_ok=True)
    limits = (arguments.questions, arguments.passages)
    own, other = (set_data(folder, *limits) for folder in (arguments.folder, arguments.other))
    data = TuneData(
        examples=own.examples[: arguments.pairs], held_out=own.held_out, passages=own.passages, documents=own.documents
    )
    settings = TuneSettings(tokens=arguments.tokens)
    plan = TunePlan(
        folder=PACKAGED, query_prefix=QUERY, document_prefix=PASSAGE, settings=settings, threads=arguments.threads
    )
    work = scratch / "work"
    plan_write(work, plan, data)
    estimate = _program(work, "estimate", models)["over"]
    _note(f"estimate: {estimate}")
    start = time.perf_counter()
    _program(work, "train", models)
    seconds = time.perf_counter() - start
    before, after = json_read(work / BEFORE), json_read(work / AFTER)
    _note(f"losses {after['losses']}")
    forgotten = [_judged(folder, other, plan, scratch) for folder in (_begin(models), work / "model")]
    return {
        "pairs": len(data.examples),
        "held_out": len(data.held_out),
        "passages": len(data.passages),
        "steps": estimate["steps"],
        "seconds": round(seconds),
        "seconds_told": estimate["seconds"],
        "memory_gb": round(estimate["memory_bytes"] / 1e9, 2),
        **_both("recall10", before["recall"], after["recall"]),
        **_both("ndcg10", before["ndcg"], after["ndcg"]),
        "discrimination": [before["discrimination"], after["discrimination"]],
        **_both("general", before["general"], after["general"]),
        "other": arguments.other.parent.name,
        **_both("other_recall10", forgotten[0]["recall"], forgotten[1]["recall"]),
        "losses": [round(loss, 3) for loss in after["losses"]],
    }


def set_data(folder: Path, questions: int, passages: int) -> TuneData:
    """Examples about the first half of the documents of a set, and what the other half is judged with."""
    corpus = rows_of(folder / "corpus.jsonl")
    place = {str(row["id"]): number for number, row in enumerate(corpus)}
    texts = [f"{row.get('title') or ''}\n{row['text']}".strip() for row in corpus]
    relevant: dict[str, set[int]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, document = line.split("\t")[:2]
        relevant.setdefault(query, set()).add(place[document])
    seen = {place[str(one)] for one in first_half(corpus)}
    asked = [(row["text"], relevant.get(str(row["id"]), set())) for row in rows_of(folder / "queries.jsonl")]
    known = [one for one in asked if one[1] and one[1] <= seen]
    unseen = [one for one in asked if one[1] and not one[1] & seen][:questions]
    needed = sorted({number for _question, right in unseen for number in right})
    rest = [number for number in range(len(corpus)) if number not in set(needed)]
    chosen = [*needed, *rest[:: max(1, len(rest) // max(1, passages - len(needed)))]][:passages]
    of_chosen = {number: at for at, number in enumerate(chosen)}
    return TuneData(
        examples=[
            Example(question=question, passage=texts[min(right)], documents=tuple(sorted(right)))
            for question, right in _spread(known)
        ],
        held_out=[
            HeldOut(question=question, passages=tuple(of_chosen[number] for number in sorted(right)))
            for question, right in unseen
        ],
        passages=[texts[number] for number in chosen],
        documents=chosen,
    )


def _spread(known: Sequence[tuple[str, set[int]]]) -> list[tuple[str, set[int]]]:
    """One question of each passage first, then a second one, and so on: few pairs are about many passages."""
    count: dict[int, int] = {}
    ordered = []
    for at, one in enumerate(known):
        turn = count[min(one[1])] = count.get(min(one[1]), 0) + 1
        ordered.append((turn, at, one))
    return [one for _turn, _at, one in sorted(ordered, key=lambda item: item[:2])]


def _begin(models: Path) -> Path:
    from ragcore.training.whole_model.__main__ import PACKAGED_FOLDER

    return models / PACKAGED_FOLDER


def _judged(folder: Path, data: TuneData, plan: TunePlan, scratch: Path) -> dict[str, Any]:
    """How the model of a folder finds passages of another set."""
    import torch

    from ragcore.training.whole_model.encoder import TunedEncoder
    from ragcore.training.whole_model.grading import judge

    torch.set_num_threads(plan.threads)
    return judge(TunedEncoder(folder, plan, ()), data)


def _program(work: Path, way: str, models: Path) -> dict[str, Any]:
    """Its last line."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ragcore.training.whole_model", str(work), way, str(models)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert process.stdout is not None
    last: dict[str, Any] = {}
    for line in process.stdout:
        if line.startswith("{"):
            last = json.loads(line)
            if "saved" in last or "phase" not in last:
                _note(line.strip())
    process.wait()
    if process.stdin is not None:
        process.stdin.close()
    if "over" not in last:
        raise SystemExit(f"the training ended with {last}")
    return last


def _both(name: str, before: Sequence[float], after: Sequence[float]) -> dict[str, Any]:
    return {
        name: [round(fmean(before), 4), round(fmean(after), 4)],
        f"{name}_gain": paired_interval(after, before).text(signed=True),
    }


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()

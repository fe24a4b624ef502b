"""Commands of `python -m ragcore.training` about the model that reads question and sentence together."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ragcore.embedding.e5 import e5_exported
from ragcore.embedding.e5_weights import E5Weights, weights_path
from ragcore.embedding.unigram import UnigramTokenizer
from ragcore.training.answer_sets import AnswerSet
from ragcore.training.embedders import training_embedder
from ragcore.training.pair_lists import pair_lists, table_lists
from ragcore.training.sentence_meaning_training import first_read, read_lists, reading_fit

DIGITS = 5  # of a weight


def train_sentence_reading(options: argparse.Namespace, sets: Sequence[AnswerSet], target: Path) -> None:
    """Fit how much counts what is read together, on the half that it was not trained on; the other weights stay."""
    embedder, half = training_embedder(options.embedder, options.models), 1 if options.half is None else options.half
    record: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
    lists = [
        read_list
        for data in sets
        for read_list in read_lists(data, embedder=embedder, record=record, half=half, limit=options.limit)
    ]
    weights = {name: round(value, DIGITS) for name, value in reading_fit(lists).items()}
    figures = {
        "questions": len(lists),
        "right_sentence_first": first_read(lists, weights),
        "without_reading": first_read(lists, {"compared": 1.0, "read": 0.0}),
    }
    trained = {**record["trained"], "reading": {"half": half, **figures}}
    stored = {name: value for name, value in record.items() if name != "trained"} | weights | {"trained": trained}
    (options.out or target).write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    print(f"{weights} {figures}")


def train_pairs(options: argparse.Namespace, sets: Sequence[AnswerSet]) -> None:
    """Train what reads question and sentence together on one half of the titles; tell how well it does on the other."""
    from ragcore.training.pair_training import PairModel, PairTraining, first_right, pairs_fit, told

    half = options.half or 0
    fitted_half, other_half = (
        [pair_list for data in sets for pair_list in pair_lists(data, half=half_, limit=limit)]
        for half_, limit in ((half, options.limit), (1 - half, options.limit // 10))
    )
    tables = [pair_list for folder in options.tables for pair_list in table_lists(folder, limit=options.limit)]
    model = PairModel(E5Weights(weights_path()), UnigramTokenizer(e5_exported(options.models)))
    told(pairs_fit(model, fitted_half, tables, PairTraining(epochs=options.epochs)))
    print(f"{len(fitted_half)} questions; a right sentence first in the other half: {first_right(model, other_half)}")
    if options.out:
        changes: dict[str, Any] = {name: values.astype(np.float16) for name, values in model.changes().items()}
        np.savez_compressed(options.out, **changes)

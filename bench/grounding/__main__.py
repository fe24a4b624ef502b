"""How far answers are held to their sources: support of sentences, answers in noise, confidence. Without a database.

python -m bench.grounding faithfulness FILE            unsupported sentences of FaithBench (samples.jsonl)
python -m bench.grounding rgb DIR [--scripted]         RGB: answers at noise ratios, refusals
python -m bench.grounding confidence DIR               AUC of the answer's confidence (corpus, queries, qrels)
python -m bench.grounding speed DIR                    time for an answer of eight sentences
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from bench.grounding.confidence import confidence_report
from bench.grounding.rgb import NOISE, measured, request
from bench.grounding.speed import speed_report
from ragcore.answerability import score_answerability, threshold_for
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.grounding.support_model import MODEL_FILE, SupportModel
from ragcore.prompts.refusals import is_refusal, refusal
from ragcore.text.scripts import language_of
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.training.embedders import embedder_arguments, given_embedder
from ragcore.training.support_training import HEAD, annotated, findings, table

WRITTEN = 5  # digits of a weight
EMBEDDED = 1000  # sentences from which the weights with vectors are fitted


def faithfulness(given: argparse.Namespace) -> None:
    """Print one row a method."""
    found = annotated(given.file)
    for embedder in (None, given_embedder(given)):
        data = table(found, tokenizer=JiebaTokenizer(), embedder=embedder)
        groups, unsupported = len(set(data.groups.tolist())), int((~data.supported).sum())
        means = "words and vectors" if embedder is not None else "words alone"
        print(f"\n{len(found)} sentences of {groups} sources, {unsupported} unsupported; {means}\n")
        shipped = SupportModel.shipped() if _has_model() else None
        print("\n".join([HEAD, *(f.row() for f in findings(data, shipped=shipped, overlap_from=_overlap_from()))]))
        if given.no_embedder:
            return


def rgb(given: argparse.Namespace) -> None:
    """Print one row a file."""
    tokenizer, embedder = JiebaTokenizer(), given_embedder(given)
    generator = ExtractiveGenerator(tokenizer, embedder)

    def extracted(question: str, sources: Sequence[Any], row: Any) -> str:
        if given.false_refusals:
            score = score_answerability(question, sources, tokenizer=tokenizer, embedder=embedder).score
            if score < threshold_for(language_of(question), len(sources), given.false_refusals):
                return refusal("report", language_of(question))
        return "".join(generator.blocks(request(question, sources))) or refusal("report", language_of(question))

    print(f"| file | {' | '.join(f'{noise:g}' for noise in NOISE)} | refused with noise only |")
    print("|---" * (len(NOISE) + 2) + "|")
    for path in sorted(given.folder.glob("*.jsonl")):
        if given.scripted:
            from bench.grounding.scripted_model import looking_up

            with looking_up() as answerer:
                figures = measured(path, answerer, is_refusal)
        else:
            figures = measured(path, extracted, is_refusal)
        print(f"| {path.stem} | {' | '.join(f'{figure:.3f}' for figure in figures)} |", flush=True)


def confidence(given: argparse.Namespace) -> None:
    print(confidence_report(given.folder, limit=given.limit, embedder=given_embedder(given)))


def speed(given: argparse.Namespace) -> None:
    print(speed_report(given.folder))


def _overlap_from() -> float | None:
    """The best threshold of plain overlap on the sentences that the shipped model was trained on."""
    if not _has_model():
        return None
    record = json.loads((files("ragcore.grounding") / MODEL_FILE).read_text(encoding="utf-8"))
    return float(record["training"]["overlap_threshold"])


def _has_model() -> bool:
    return (files("ragcore.grounding") / MODEL_FILE).is_file()


def main(arguments: Sequence[str] | None = None) -> None:
    np.seterr(all="raise", under="ignore")
    parser = argparse.ArgumentParser(prog="python -m bench.grounding", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    commands = parser.add_subparsers(required=True)
    for command in (faithfulness, rgb, confidence, speed):
        own = commands.add_parser(command.__name__)
        own.set_defaults(run=command)
        embedder_arguments(own)
        own.add_argument("--limit", type=int, default=300, help="passages or questions of a set")
        if command is faithfulness:
            own.add_argument("file", type=Path)
        else:
            own.add_argument("folder", type=Path)
        if command is rgb:
            own.add_argument("--scripted", action="store_true", help="a stand-in for a language model")
            own.add_argument("--false-refusals", type=float, default=0.0, help="check whether the sources answer")
    given = parser.parse_args(arguments)
    given.run(given)


if __name__ == "__main__":
    main()

"""Answers without a language model on public sets, and refusals; without a database.

    python -m bench.answers DIR …                    what answers contain and cite, and how long they are
    python -m bench.answers show DIR …               answers to read
    python -m bench.answers refusals DIR …           refused unanswerable questions at given rates of false refusals
    python -m bench.answers train-sentences DIR …    ragcore/providers/extractive_weights.json
    python -m bench.answers train-refusals DIR …     ragcore/answerability/weights.json

DIR holds corpus.jsonl, queries.jsonl with answers, qrels.tsv, and for refusals perhaps unanswerable.jsonl. Training
takes one half of the titles (--half 0); --half 1 measures on the other one.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import ragcore.answerability.model
import ragcore.providers.extractive_scores
from bench import answers_refusals as refusing
from bench import answers_training as training
from bench.answers_measure import HEAD, answers_of, table_row
from bench.answers_sets import AnswerSet, answer_set, half_of
from bench.answers_visible import visible_thresholds
from ragcore.answerability.model import script_of
from ragcore.answerability.signs import SIGNS
from ragcore.ports import Embedder, GenerationRequest
from ragcore.providers.embedded import EmbeddedEmbedder
from ragcore.providers.extractive import ExtractiveGenerator
from ragcore.providers.extractive_features import FEATURES
from ragcore.text.token_count import counter
from ragcore.text.tokenise import JiebaTokenizer

WRITTEN = 5  # digits of a weight


def sets_read(given: argparse.Namespace) -> list[AnswerSet]:
    """The folders, ranked with the embedder that comes with the product."""
    tokenizer = JiebaTokenizer()
    embedder: Embedder | None = None if given.no_embedder else EmbeddedEmbedder(given.models)
    return [answer_set(d, tokenizer=tokenizer, counter=counter(), embedder=embedder) for d in given.folders]


def answers(given: argparse.Namespace) -> None:
    """Print one row a set."""
    print(HEAD)
    for data in sets_read(given):
        asked = [q for q in data.sample(len(data.answerable)) if given.half is None or half_of(q.about) == given.half]
        generator = ExtractiveGenerator(data.ranking.tokenizer)
        print(table_row(data.name, answers_of(data, asked[: given.limit], generator)), flush=True)


def show(given: argparse.Namespace) -> None:
    """Print questions with their answers."""
    for data in sets_read(given):
        generator = ExtractiveGenerator(data.ranking.tokenizer)
        for question in data.sample(given.limit):
            sources = tuple(data.ranking.sources(question.text))
            text = "".join(generator.blocks(GenerationRequest(question=question.text, sources=sources)))
            print(f"\n### {question.text}\n({' / '.join(question.answers)})\n\n{text}")


def refusals(given: argparse.Namespace) -> None:
    """Print the curve of every set: the unanswerable questions that came with it, and robbed answerable ones."""
    print("| set | unanswerable | " + " | ".join(f"at {rate:.0%}" for rate in refusing.RATES) + " |")
    print("|---|---|" + "---|" * len(refusing.RATES))
    shipped = json.loads(_weights_file(ragcore.answerability.model).read_text(encoding="utf-8"))["weights"]
    for data in sets_read(given):
        can, cannot = refusing.parts(data, half=given.half, limit=given.limit)
        answered = refusing.judged(data.name, ((q, False) for q in can), data.ranking)
        for kind, asked in (("written", [(q, False) for q in cannot]), ("robbed", [(q, True) for q in can])):
            if asked:
                lost = refusing.judged(data.name, asked, data.ranking)
                weights = np.asarray(shipped[script_of(asked[0][0].text)])
                curve = refusing.refused(refusing.scores(answered, weights), refusing.scores(lost, weights))
                shares = " | ".join(f"{share:.3f}" for share in curve.values())
                print(f"| {data.name} | {len(asked)} {kind} | {shares} |", flush=True)


def train_sentences(given: argparse.Namespace) -> None:
    """Fit on one half of the titles and write the weights with their record."""
    lists = [
        one
        for data in sets_read(given)
        for one in training.sentence_lists(data, half=given.half or 0, limit=given.limit)
    ]
    weights = training.sentences_fit(lists)
    groups = dict.fromkeys(one.group for one in lists)
    first = {g: round(training.first_right([one for one in lists if one.group == g], weights), 4) for g in groups}
    _write(
        ragcore.providers.extractive_scores,
        {"features": list(FEATURES), "weights": _rounded(weights)},
        {"questions": len(lists), "right_sentence_first": first},
        given,
    )


def train_refusals(given: argparse.Namespace) -> None:
    """Fit on one half of the titles, draw the thresholds on the other one, and write both."""
    loaded = sets_read(given)
    groups = [refusing.groups_of(data, half=given.half or 0, limit=given.limit) for data in loaded]
    weights = refusing.scripts_fit(groups)
    thresholds = visible_thresholds(loaded, weights, half=1 - (given.half or 0), limit=given.limit)
    _write(
        ragcore.answerability.model,
        {
            "signs": list(SIGNS),
            "weights": {script: _rounded(values) for script, values in weights.items()},
            "rates": list(refusing.RATES),
            "thresholds": thresholds,
        },
        {
            "answerable": sum(len(one.answered.matrix) for one in groups),
            "unanswerable": sum(len(one.robbed.matrix) + len(one.written.matrix) for one in groups),
        },
        given,
    )


def _rounded(weights: Any) -> list[float]:
    return [round(float(weight), WRITTEN) for weight in weights]


def _weights_file(module: Any) -> Path:
    return Path(module.__file__).with_name(module.WEIGHTS_FILE)


def _write(module: Any, record: Mapping[str, Any], figures: Mapping[str, Any], given: argparse.Namespace) -> None:
    names = [folder.parent.name if folder.name == "dev" else folder.name for folder in given.folders]
    words_alone = " --no-embedder" if given.no_embedder else ""
    trained = {
        "at": datetime.now(tz=UTC).date().isoformat(),
        "command": f"python -m bench.answers {given.command} {' '.join(names)} --limit {given.limit}{words_alone}",
        **figures,
    }
    target = given.out or _weights_file(module)
    target.write_text(json.dumps({**record, "trained": trained}, indent=1) + "\n", encoding="utf-8")
    print(f"{target}: {json.dumps(trained)}")


COMMANDS: dict[str, Callable[[argparse.Namespace], None]] = {
    "answers": answers,
    "show": show,
    "refusals": refusals,
    "train-sentences": train_sentences,
    "train-refusals": train_refusals,
}


def main(arguments: list[str]) -> None:
    """Run one of COMMANDS; "answers" where none is named."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.answers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--limit", type=int, default=300, help="questions of each set")
    parser.add_argument("--half", type=int, choices=(0, 1), help="only questions about this half of the titles")
    parser.add_argument("--no-embedder", action="store_true", help="rank by words alone")
    parser.add_argument("--models", type=Path, default=Path(os.environ.get("DATA_DIR", "var")) / "models")
    parser.add_argument("--out", type=Path, help="where to write weights")
    given = parser.parse_args(arguments if arguments[:1] and arguments[0] in COMMANDS else ["answers", *arguments])
    for folder in given.folders:
        if not (folder / "qrels.tsv").is_file():
            sys.exit(f"{folder} holds no qrels.tsv")
    COMMANDS[given.command](given)


if __name__ == "__main__":
    main(sys.argv[1:])

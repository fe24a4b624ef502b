"""Answers without a language model on public sets, and refusals; without a database.

    python -m bench.answers DIR …                    what answers contain and cite, and how long they are
    python -m bench.answers show DIR …               answers to read
    python -m bench.answers refusals DIR …           refused unanswerable questions at given rates of false refusals
    python -m bench.answers left-out DIR …           the same, each set with weights fitted on the other sets
    python -m bench.answers train-sentences DIR …    ragcore/extractive/extractive_weights.json
    python -m bench.answers train-refusals DIR …     ragcore/answerability/weights.json

DIR holds corpus.jsonl, queries.jsonl with answers, qrels.tsv, and for refusals perhaps unanswerable.jsonl. Training
takes one half of the titles (--half 0); --half 1 measures on the other one.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import ragcore.answerability.model
import ragcore.extractive.sentence_model
from bench import answers_refusals as refusing
from bench import answers_training as training
from bench.answers_measure import HEAD, answers_of, table_row
from bench.answers_sets import AnswerSet, answer_set, half_of
from bench.answers_visible import visible_thresholds
from bench.bootstrap import mean_interval
from ragcore.answerability.model import Script, design, script_of, threshold_for
from ragcore.answerability.signs import SIGNS
from ragcore.embedding.packaged import EmbeddedEmbedder
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.extractive.sentence_features import FEATURES
from ragcore.ports import Embedder, FloatArray, GenerationRequest
from ragcore.text.token_count import counter
from ragcore.text.tokenise import JiebaTokenizer

WRITTEN = 5  # digits of a weight
LINE = 0.05  # the rate whose shipped line is measured
READ: tuple[Script, ...] = ("en",)  # what the product's embedder reads


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
    """Print the curve of every set: the unanswerable questions that came with it, and robbed answerable ones.

    The last columns say what the shipped line for 5 % does.
    """
    head = [f"at {rate:.0%}" for rate in refusing.RATES]
    print(f"| set | unanswerable | {' | '.join(head)} | shipped line | false refusals there |")
    print("|---|---|" + "---|" * (len(head) + 2))
    shipped = json.loads(_weights_file(ragcore.answerability.model).read_text(encoding="utf-8"))
    for data in sets_read(given):
        can, cannot = refusing.parts(data, half=given.half, limit=given.limit)
        script = script_of(data.answerable[0].text)
        reader = _reader(given, script)
        weights = np.asarray((shipped["meaning"]["weights"] if reader else shipped["weights"])[script])
        answered = refusing.judged(data.name, ((q, False) for q in can), data.ranking, embedder=reader)
        line = threshold_for("en" if script == "en" else "zh", len(data.ranking.passages), LINE)
        for kind, asked in (("written", [(q, False) for q in cannot]), ("robbed", [(q, True) for q in can])):
            if asked:
                lost = refusing.judged(data.name, asked, data.ranking, embedder=reader)
                good, bad = refusing.scores(answered, weights), refusing.scores(lost, weights)
                print(f"| {data.name} | {len(asked)} {kind} | {_cells(good, bad, line)} |", flush=True)


def left_out(given: argparse.Namespace) -> None:
    """Print the curve of each set, measured on all its questions with weights that have not seen the set."""
    print("| set left out | unanswerable | " + " | ".join(f"at {rate:.0%}" for rate in refusing.RATES) + " |")
    print("|---|---|" + "---|" * len(refusing.RATES))
    loaded = sets_read(given)
    groups = [refusing.groups_of(data, half=given.half or 0, limit=given.limit) for data in loaded]
    for one, weights in refusing.left_out(groups):
        for kind, lost in one.lost.items():
            if len(lost.matrix):
                curve = refusing.refused(refusing.scores(one.answered, weights), refusing.scores(lost, weights))
                shares = " | ".join(f"{share:.3f}" for share in curve.values())
                print(f"| {one.answered.group} | {len(lost.matrix)} {kind} | {shares} |", flush=True)


def _cells(answered: FloatArray, lost: FloatArray, line: float) -> str:
    """Refused at each rate, with 95 % intervals; at the shipped line; and the answerable ones refused there."""
    below = [(lost, t) for t in refusing.threshold_curve(answered)] + [(lost, line), (answered, line)]
    return " | ".join(mean_interval((found < t).astype(np.float64)).text() for found, t in below)


def _reader(given: argparse.Namespace, script: Script) -> Embedder | None:
    """The embedder where `--meaning` wants the cosine and the script is one that it reads."""
    return EmbeddedEmbedder(given.models) if given.meaning and script in READ else None


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
        ragcore.extractive.sentence_model,
        {"features": list(FEATURES), "weights": _rounded(weights)},
        {"questions": len(lists), "right_sentence_first": first},
        given,
    )


def train_refusals(given: argparse.Namespace) -> None:
    """Fit on one half of the titles, draw the thresholds on the other one, and write both."""
    loaded, half = sets_read(given), given.half or 0
    groups = []
    for data in loaded:
        reader = _reader(given, script_of(data.answerable[0].text))
        groups.append(refusing.groups_of(data, half=half, limit=given.limit, embedder=reader))
    weights = refusing.scripts_fit(groups)
    thresholds = visible_thresholds(loaded, weights, half=1 - half, limit=given.limit)
    _write(
        ragcore.answerability.model,
        {
            "signs": list(SIGNS),
            "weights": {script: _rounded(values) for script, values in weights.items()},
            "meaning": {"embedder": EmbeddedEmbedder.model, "weights": _with_meaning(given, groups, weights)},
            "rates": list(refusing.RATES),
            "thresholds": thresholds,
        },
        {
            "answerable": sum(len(one.answered.matrix) for one in groups),
            "unanswerable": sum(len(lost.matrix) for one in groups for lost in one.lost.values()),
        },
        given,
    )


def _with_meaning(
    given: argparse.Namespace, groups: Sequence[refusing.Groups], weights: Mapping[Script, FloatArray]
) -> dict[str, list[float]]:
    """Weights with the cosine, of the scripts that the embedder reads; on the scale of those without it."""
    made: dict[str, list[float]] = {}
    for script in READ if given.meaning else ():
        mine = [one for one in groups if one.script == script]
        if mine:
            fitted = refusing.scripts_fit(mine, meaning=True)[script]
            rows = np.vstack([design(one.answered.matrix) for one in mine])
            made[script] = _rounded(refusing.aligned(fitted, rows @ fitted, rows @ weights[script]))
    return made


def _rounded(weights: Any) -> list[float]:
    return [round(float(weight), WRITTEN) for weight in weights]


def _weights_file(module: Any) -> Path:
    return Path(module.__file__).with_name(module.WEIGHTS_FILE)


def _write(module: Any, record: Mapping[str, Any], figures: Mapping[str, Any], given: argparse.Namespace) -> None:
    names = [folder.parent.name if folder.name == "dev" else folder.name for folder in given.folders]
    words_alone = " --no-embedder" * given.no_embedder + " --meaning" * given.meaning
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
    "left-out": left_out,
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
    parser.add_argument("--meaning", action="store_true", help="refusals: the cosine of question and sentence, too")
    parser.add_argument("--models", type=Path, default=Path(os.environ.get("DATA_DIR", "var")) / "models")
    parser.add_argument("--out", type=Path, help="where to write weights")
    given = parser.parse_args(arguments if arguments[:1] and arguments[0] in COMMANDS else ["answers", *arguments])
    for folder in given.folders:
        if not (folder / "qrels.tsv").is_file():
            sys.exit(f"{folder} holds no qrels.tsv")
    COMMANDS[given.command](given)


if __name__ == "__main__":
    main(sys.argv[1:])

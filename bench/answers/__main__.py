"""Answers without a language model on public sets, and refusals; without a database.

    python -m bench.answers DIR …                    what answers contain and cite, and how long they are
    python -m bench.answers show DIR …               answers to read
    python -m bench.answers refusals DIR …           refused unanswerable questions at given rates of false refusals
    python -m bench.answers narrowing DIR …          what narrowing a search to a set refuses
    python -m bench.answers left-out DIR …           the same, each set with weights fitted on the other sets

DIR holds corpus.jsonl, queries.jsonl with answers, qrels.tsv, and for refusals perhaps unanswerable.jsonl. The
models are trained on one half of the titles (`python -m ragcore.training`); --half 1 measures on the other one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench.answers import narrowing as narrowed
from bench.answers.measure import HEAD, answers_of, made_scores, table_row
from ragcore.answerability.model import MEANING_FILE, script_of, threshold_for
from ragcore.answerability.own_line import lowered_by, lowered_line
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.fitted_weights import fitted_weights
from ragcore.metrics.bootstrap import mean_interval
from ragcore.options import AnswerOptions
from ragcore.ports import FloatArray, GenerationRequest
from ragcore.training import refusal_training as refusing
from ragcore.training.__main__ import read_answer_sets, shipped_words
from ragcore.training.answer_sets import half_of
from ragcore.training.embedders import embedder_arguments, given_embedder

WRITTEN = 5  # digits of a weight
LINE = AnswerOptions().false_refusals  # the rate whose shipped line is measured


def answers(given: argparse.Namespace) -> None:
    """Print one row a set."""
    print(HEAD)
    for data in read_answer_sets(given):
        asked = [q for q in data.sample(len(data.answerable)) if given.half is None or half_of(q.about) == given.half]
        generator = ExtractiveGenerator(data.ranking.tokenizer)
        print(table_row(data.name, answers_of(data, asked[: given.limit], generator)), flush=True)


def show(given: argparse.Namespace) -> None:
    """Print questions with their answers."""
    for data in read_answer_sets(given):
        generator = ExtractiveGenerator(data.ranking.tokenizer)
        for question in data.sample(given.limit):
            sources = tuple(data.ranking.sources(question.text))
            text = "".join(generator.blocks(GenerationRequest(question=question.text, sources=sources)))
            print(f"\n### {question.text}\n({' / '.join(question.answers)})\n\n{text}")


def refusals(given: argparse.Namespace) -> None:
    """Print the curve of every set: the unanswerable questions that came with it, and robbed answerable ones.

    The next columns say what the shipped line for `LINE` does, and the last ones what the set's own line does, which is
    drawn from questions made of its passages.
    """
    head = [f"at {rate:.0%}" for rate in refusing.RATES]
    lines = "shipped line | false refusals there | own line | false refusals there | lowered by"
    print(f"| set | unanswerable | {' | '.join(head)} | {lines} |")
    print("|---|---|" + "---|" * (len(head) + 5))
    shipped = shipped_words()
    for data in read_answer_sets(given):
        can, cannot = refusing.parts(data, half=given.half, limit=given.limit)
        script = script_of(data.answerable[0].text)
        reader = given_embedder(given) if given.meaning else None
        by_meaning = fitted_weights("ragcore.answerability", MEANING_FILE, reader.model) if reader else None
        if by_meaning is None or script not in by_meaning["weights"]:
            reader, by_meaning = None, shipped
        weights = np.asarray(by_meaning["weights"][script])
        answered = refusing.judged(data.name, ((q, False) for q in can), data.ranking, embedder=reader)
        line = threshold_for("en" if script == "en" else "zh", len(data.ranking.passages), LINE)
        lowered = lowered_by(made_scores(data.ranking, weights, embedder=reader), line)
        for kind, asked in (("written", [(q, False) for q in cannot]), ("robbed", [(q, True) for q in can])):
            if asked:
                lost = refusing.judged(data.name, asked, data.ranking, embedder=reader)
                good, bad = refusing.scores(answered, weights), refusing.scores(lost, weights)
                cells = _cells(good, bad, line, lowered_line(line, lowered))
                print(f"| {data.name} | {len(asked)} {kind} | {cells} | {lowered:.2f} |", flush=True)


def left_out(given: argparse.Namespace) -> None:
    """Print the curve of each set, measured on all its questions with weights that have not seen the set."""
    print("| set left out | unanswerable | " + " | ".join(f"at {rate:.0%}" for rate in refusing.RATES) + " |")
    print("|---|---|" + "---|" * len(refusing.RATES))
    loaded = read_answer_sets(given)
    groups = [refusing.groups_of(data, half=given.half or 0, limit=given.limit) for data in loaded]
    for one, weights in refusing.left_out(groups):
        for kind, lost in one.lost.items():
            if len(lost.matrix):
                curve = refusing.refused(refusing.scores(one.answered, weights), refusing.scores(lost, weights))
                shares = " | ".join(f"{share:.3f}" for share in curve.values())
                print(f"| {one.answered.group} | {len(lost.matrix)} {kind} | {shares} |", flush=True)


def narrowing(given: argparse.Namespace) -> None:
    """Print one row a set."""
    print(narrowed.HEAD)
    for data in read_answer_sets(given):
        print(narrowed.table_row(data, limit=given.limit), flush=True)


def _cells(answered: FloatArray, lost: FloatArray, *lines: float) -> str:
    """Refused at each rate, with 95 % intervals; at each of the lines, with the answerable ones refused there."""
    below = [(lost, t) for t in refusing.threshold_curve(answered)]
    below += [(scores, line) for line in lines for scores in (lost, answered)]
    return " | ".join(mean_interval((found < t).astype(np.float64)).text() for found, t in below)


COMMANDS: dict[str, Callable[[argparse.Namespace], None]] = {
    "answers": answers,
    "show": show,
    "refusals": refusals,
    "left-out": left_out,
    "narrowing": narrowing,
}


def main(arguments: list[str]) -> None:
    """Run one of COMMANDS; "answers" where none is named."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.answers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--limit", type=int, default=300, help="questions of each set")
    parser.add_argument("--half", type=int, choices=(0, 1), help="only questions about this half of the titles")
    embedder_arguments(parser)
    parser.add_argument("--meaning", action="store_true", help="refusals: the cosine of question and sentence, too")
    given = parser.parse_args(arguments if arguments[:1] and arguments[0] in COMMANDS else ["answers", *arguments])
    if not given.folders:
        parser.error("which folders?")
    for folder in given.folders:
        if not (folder / "qrels.tsv").is_file():
            sys.exit(f"{folder} holds no qrels.tsv")
    COMMANDS[given.command](given)


if __name__ == "__main__":
    main(sys.argv[1:])

"""A language model on public questions: without it, and with it in each way of writing.

    python -m bench.llm --url http://127.0.0.1:9100/v1 --model NAME DIR …

DIR holds corpus.jsonl, queries.jsonl with answers, qrels.tsv, and perhaps unanswerable.jsonl. The model is examined
first (`--profile FILE` keeps the profile). The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bench.llm.asking import AnswerFigures, Asker
from ragcore.llm.exam import is_worth_trying, profile_from, task_run
from ragcore.llm.exam_results import TaskResult
from ragcore.llm.exam_tasks import exam_tasks
from ragcore.llm.model_profile import WAYS, ModelProfile, parse_profile
from ragcore.llm.openai_chat import OpenAIChatModel
from ragcore.model_limits import ModelLimits
from ragcore.ports import ChatModel
from ragcore.training.__main__ import read_answer_sets
from ragcore.training.answer_sets import SEED, AnswerSet, SetQuestion
from ragcore.training.embedders import embedder_arguments, given_embedder

LIMITS = ModelLimits(first_token_seconds=600.0, between_tokens_seconds=120.0)  # a bench waits
COLUMNS = (
    "contains",
    "cites",
    "false_refusals",
    "rightly_refused",
    "doubted",
    "rightly_doubted",
    "supported",
    "unknown_numbers",
    "in_language",
    "characters",
    "seconds",
    "first_seconds",
)


async def examined(chat: ChatModel) -> ModelProfile:
    """The profile of the model by an exam."""
    results: list[TaskResult] = []
    for task in exam_tasks():
        if is_worth_trying(task, results):
            results.append(await task_run(task, chat, is_first=not results))
            print(f"  {task.skill} {task.language} {'right' if results[-1].is_right else 'wrong'}", flush=True)
    return profile_from(results)


def figures_of(answered: Sequence[AnswerFigures], unanswerable: Sequence[AnswerFigures]) -> dict[str, Any]:
    """Means over the answers; None where nothing was measured."""
    supported = [each for one in answered for each in one.supported]
    reasons: Counter[str] = Counter()
    for answer in answered:
        reasons.update(answer.counts)
    return {
        "questions": len(answered),
        "contains": _mean(one.contains for one in answered),
        "cites": _mean(one.cites for one in answered),
        "false_refusals": _mean(one.is_refused for one in answered),
        "rightly_refused": _mean(one.is_refused for one in unanswerable),
        "doubted": _mean(one.is_doubted for one in answered),
        "rightly_doubted": _mean(one.is_refused or one.is_doubted for one in unanswerable),
        "supported": _mean(supported),
        "unknown_numbers": _mean(one.has_unknown_number for one in answered),
        "in_language": _mean(one.is_in_language for one in answered),
        "characters": _mean(one.characters for one in answered),
        "seconds": statistics.median([one.seconds for one in answered] or [0.0]),
        "first_seconds": statistics.median([one.first_seconds or one.seconds for one in answered] or [0.0]),
        "ways": dict(Counter(one.way for one in answered)),
        "left_out": dict(reasons),
    }


def _mean(values: Any) -> float | None:
    numbers = [float(value) for value in values]
    return round(statistics.fmean(numbers), 4) if numbers else None


async def measured(
    given: argparse.Namespace, data: AnswerSet, chat: ChatModel, profile: ModelProfile
) -> dict[str, dict[str, Any]]:
    """The figures of one set by way."""
    asked = [question for question in data.sample(len(data.answerable)) if question.answers][: given.questions]
    unanswerable: list[SetQuestion] = list(data.unanswerable)
    random.Random(SEED).shuffle(unanswerable)
    embedder, figures = given_embedder(given), {}
    for way in given.ways or ("without", "as examined", *WAYS[:-1]):
        asker = Asker(
            data=data,
            chat=None if way == "without" else chat,
            profile=profile_for(profile, way),
            embedder=embedder,
        )
        answers = [await asker.ask(question) for question in asked]
        others = [await asker.ask(question) for question in unanswerable[: given.unanswerable]]
        if given.replies is not None:
            write_replies(given.replies, data.name, way, [*answers, *others])
        figures[way] = figures_of(answers, others)
        print(table_row(data.name, way, figures[way]), flush=True)
    return figures


def profile_for(profile: ModelProfile, way: str) -> ModelProfile:
    """The profile with another way of writing; refusals are believed only of a model that marks by itself."""
    if way == "as examined":
        return profile
    writing = parse_profile({"way": "quote" if way == "without" else way}).way
    return replace(profile, way=writing, believes_refusals=writing == "marks" and profile.believes_refusals)


def write_replies(file: Path, name: str, way: str, answers: Sequence[AnswerFigures]) -> None:
    """Add what the model said and what was shown of it, one JSON object a line."""
    with file.open("a", encoding="utf-8") as out:
        for answer in answers:
            out.write(json.dumps({"set": name, "asked": way, **asdict(answer)}, ensure_ascii=False) + "\n")


def table_row(name: str, way: str, figures: dict[str, Any]) -> str:
    """One row of the table."""
    cells = ["-" if figures[column] is None else f"{figures[column]:.3g}" for column in COLUMNS]
    ways = " ".join(f"{key} {count}" for key, count in figures["ways"].items())
    return f"| {name} | {way} | {figures['questions']} | {' | '.join(cells)} | {ways} |"


async def run(
    given: argparse.Namespace, stored: ModelProfile | None, store: Callable[[ModelProfile], None]
) -> dict[str, Any]:
    """All sets; prints a table. Without a stored profile the model is examined first, and `store` gets what comes."""
    chat = OpenAIChatModel(given.url, given.key, given.model, limits=LIMITS)
    try:
        profile = stored or await examined(chat)
        store(profile)
        print(f"way of writing: {profile.way}; {json.dumps(profile.as_json(), ensure_ascii=False)}")
        print(f"| set | way | questions | {' | '.join(COLUMNS)} | written as |\n{'|---' * (len(COLUMNS) + 4)}|")
        sets = {data.name: await measured(given, data, chat, profile) for data in read_answer_sets(given)}
        return {"model": given.model, "profile": profile.as_json(), "sets": sets}
    finally:
        await chat.close()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.llm", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--url", required=True, help="of an OpenAI-compatible server, with /v1")
    parser.add_argument("--key", default="")
    parser.add_argument("--model", required=True)
    parser.add_argument("--questions", type=int, default=40, help="of each set")
    parser.add_argument("--unanswerable", type=int, default=20, help="questions of each set that it does not answer")
    parser.add_argument("--ways", nargs="*", choices=("without", "as examined", *WAYS[:-1]))
    parser.add_argument(
        "--profile", type=Path, help="file of the profile; without one, or where it is not there, an exam"
    )
    parser.add_argument("--replies", type=Path, help="a file for everything that the model says")
    embedder_arguments(parser)
    given = parser.parse_args(arguments)
    for folder in given.folders:
        if not (folder / "qrels.tsv").is_file():
            sys.exit(f"{folder} holds no qrels.tsv")
    file: Path | None = given.profile
    has_profile = file is not None and file.is_file()
    stored = parse_profile(json.loads(file.read_text(encoding="utf-8"))) if file is not None and has_profile else None

    def store(profile: ModelProfile) -> None:
        if file is not None and not has_profile:
            file.write_text(json.dumps(profile.as_json(), ensure_ascii=False), encoding="utf-8")

    figures = asyncio.run(run(given, stored, store))
    print(json.dumps(figures, ensure_ascii=False))


if __name__ == "__main__":
    main()

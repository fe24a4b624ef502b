"""Wrong answers to be read and labelled: everything that a judgement needs, and nothing of the diagnosis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from accounts.selectors import scope_for
from bench.failures.asking import Question, World, is_wrong
from bench.retrieval import note
from chat.models import Message
from evaluation.services.lab.replay import replay_get
from evaluation.services.lab.searches import lab_run
from knowledge.models import Chunk, Document


def collected(world: World, *, each: int, refusals: int, seed: int, limit: int) -> Iterator[dict[str, Any]]:
    """`each` wrong answers of every set, and `refusals` to questions that nothing answers.

    At most `limit` questions of a set are asked for each of the two.
    """
    for name in world.sets:
        for expects_refusal, most in ((False, each), (True, refusals)):
            found = asked = 0
            for question in world.sample(name, expects_refusal=expects_refusal, seed=seed)[:limit]:
                if found == most:
                    break
                message = world.asked(question)
                asked += 1
                if is_wrong(question, answer=message.answer, status=message.status):
                    found += 1
                    yield _told(world, question, message)
            note(f"{name}: {found} of {asked} wrong{' (unanswerable)' if expects_refusal else ''}")


def _told(world: World, question: Question, message: Message) -> dict[str, Any]:
    citations = message.citations.select_related("chunk").order_by("number")
    return {
        "set": question.set,
        "id": question.id,
        "question": question.text,
        "answers": question.answers,
        "status": message.status,
        "answer": message.answer,
        "sources": [
            {"number": c.number, "title": c.document.external_id, "cited": c.cited, "excerpt": c.excerpt}
            for c in citations
        ],
        "bearing": [_followed(world, message, name) for name in question.relevant],
    }


def _followed(world: World, message: Message, name: str) -> Mapping[str, Any]:
    """A bearing document and where a search of today leaves its passages."""
    replay = replay_get(scope=scope_for(world.admin), message_id=str(message.pk), is_reviewer=True)
    run = lab_run(
        scope=scope_for(world.admin),
        viewer=world.admin,
        question=replay.question.text,
        sets=replay.question.sets,
        filters=replay.question.filters,
        as_user=replay.asker,
        configurations=[replay.configuration],
        expected=name,
    ).runs[0]
    document = Document.objects.get(external_id=name, deleted=None)
    texts: Sequence[str] = list(
        Chunk.objects.filter(version=document.live_version_id, kind="body")
        .order_by("ordinal")
        .values_list("text", flat=True)
    )
    rows = run.where.rows if run.where else ()
    return {
        "document": name,
        "title": document.title,
        "texts": texts,
        "rows": [
            {
                "passage": row.passage.ordinal,
                "fate": f"{row.fate.kind} {row.fate.stage} {row.fate.reason} {row.fate.place}",
                "places": {ranking: place.rank for ranking, place in row.rankings.items()},
            }
            for row in rows
        ],
    }

"""A narrowed search never refuses what a search of everything answers from a document inside."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command

from accounts.models import User
from accounts.selectors import scope_for
from chat.answering.answer_config import resolve_answer_config
from chat.answering.context import AnswerContext, build_question
from chat.answering.pipeline import compute_answer
from chat.types import AnswerRecord, AnswerRequest, ignore_event
from knowledge.models import Document, IngestJob, KnowledgeSet
from knowledge.types import Filters
from tests.factories import run_job

QUESTIONS = (
    "5G 最多能聚合几个载波？",
    "接地线有什么要求？",
    "接地电阻过大怎么处理？",
    "光纤最小弯曲半径是多少？",
    "What is a TCI state?",
    "When does TC-RA-003 pass?",
    "How long did the repair take?",
)
OFF_TOPIC = ("公司食堂几点开门？", "What is the capital of France?")
UNIONS = 2  # of sets that hold the document, drawn for each question


def ask(question: str, **narrowed: Any) -> AnswerRecord:
    user = User.objects.get(username="admin")
    scope = scope_for(user)
    request = AnswerRequest(query=question, cache=False, personal=False, **narrowed)
    context = AnswerContext(
        scope=scope,
        request=request,
        config=resolve_answer_config(scope=scope, request=request),
        question=build_question(question, history=(), profile=None, user=user),
        events=ignore_event,
    )
    return asyncio.run(compute_answer(context))


def narrowings(document: Document, draw: random.Random) -> Iterator[dict[str, Any]]:
    """Every set with the document, some unions of such sets with others, and each kind of filter that it passes."""
    inside = list(document.sets.order_by("pk"))
    every = list(KnowledgeSet.objects.order_by("pk").values_list("pk", flat=True))
    yield from ({"sets": (one.pk,)} for one in inside)
    for one in draw.sample(inside, min(UNIONS, len(inside))):
        yield {"sets": tuple({one.pk, *draw.sample(every, 3)})}
    yield {"filters": Filters(documents=(document.pk,))}
    yield {"filters": Filters(tags=(f"tag-{document.pk}",))}
    yield {"filters": Filters(metadata={"shelf": f"shelf-{document.pk}"})}
    if codes := [one.code for one in inside if one.axis == KnowledgeSet.Axis.CAPABILITY]:
        yield {"filters": Filters(capability=(codes[0],))}


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_narrowing_never_turns_an_answer_into_a_refusal_while_the_document_is_inside():
    call_command("bootstrap", "--demo", "1", verbosity=0)
    for job_id in IngestJob.objects.values_list("pk", flat=True):
        run_job(job_id)
    for document in Document.objects.all():
        document.tags = [f"tag-{document.pk}"]
        document.metadata = {**document.metadata, "shelf": f"shelf-{document.pk}"}
        document.save()
    draw = random.Random(7)
    faults = []
    for question in QUESTIONS:
        everywhere = ask(question)
        assert everywhere.status == "answered", question
        document = Document.objects.get(pk=everywhere.cited[0].document_id)
        for narrowed in narrowings(document, draw):
            answer = ask(question, **narrowed)
            if answer.status != "answered" or document.pk not in {one.document_id for one in answer.cited}:
                faults.append((question, narrowed, answer.status, [one.title for one in answer.cited]))
    assert not faults

    sets = KnowledgeSet.objects.filter(documents__isnull=False).distinct().order_by("pk")
    answered = [
        (question, one.code)
        for question, one in itertools.product(OFF_TOPIC, sets)
        if ask(question, sets=(one.pk,)).status == "answered"
    ]
    assert len(answered) <= 1, answered

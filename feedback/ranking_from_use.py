"""Every night: what people did with the sources of answers becomes evidence that searches may rank by.

Events stay where they are; what is stored of them are numbers for passages (`knowledge.services.use_evidence`), learnt
anew each night from the events that there are. So what is deleted is forgotten, and who is erased takes part no more.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np
from django.conf import settings
from django.db.models import Count, Q
from django.utils import timezone

from accounts.models import User
from accounts.privacy.erase import erase_first_with
from chat.models import MessageCitation
from feedback.queue import LEARN_SET_USE, QUEUES
from feedback.use_showings import answers_with_acts, set_showings
from knowledge import model_registry
from knowledge.models import KnowledgeSet, UseSummary
from knowledge.queue import enqueue_on_commit
from knowledge.services.use_evidence import SetUse, set_use_forget, set_use_store
from ragcore.metrics.use_evidence import learn_from_use
from ragcore.ports import FloatArray

DAYS = 180  # of events, unless the site keeps them for less
ENOUGH_ANSWERS, ENOUGH_PEOPLE = 30, 5
MOST_ANSWERS = 20_000  # of one set, the latest; the page says how many are left out
EMBEDDED_AT_ONCE = 32
# Least cosine of similar questions, by the model; raised to what unlike questions of the set reach. 99.5 % of unlike
# questions of six public sets stay below .27 to .78 with either packaged model (docs/measurements.md).
FLOORS = {"embedded-minilm-ngrams-1": 0.6, "embedded-e5-ngrams-1": 0.65}
FLOOR, HIGHEST_FLOOR = 0.75, 0.95
UNLIKE = 0.995  # quantile of the cosines of questions whose answers share no document
COMPARED = 600  # questions
LEAST_COMPARED = 200  # unlike pairs


def use_learn() -> int:
    """Call a worker to every set with events, or with what was learnt of earlier ones; returns how many."""
    since = use_since()
    cites = MessageCitation.objects.filter(message__in=answers_with_acts(since=since), document__deleted=None)
    sets = set(cites.exclude(document__sets=None).order_by().values_list("document__sets", flat=True).distinct())
    sets |= set(UseSummary.objects.values_list("knowledge_set", flat=True))
    for set_id in sorted(sets):
        enqueue_on_commit(LEARN_SET_USE, queue=QUEUES[LEARN_SET_USE], set_id=set_id)
    return len(sets)


def set_use_learn(*, set_id: int) -> int:
    """Learn from the use of one set; returns the number of passages with evidence. Safe to run twice."""
    home = KnowledgeSet.objects.filter(pk=set_id).first()
    if home is None:
        return 0
    start = time.monotonic()
    answers = answers_with_acts(since=use_since())
    cites = MessageCitation.objects.filter(
        message__in=answers, document__sets=home, document__deleted=None,
        message__conversation__tenant_id=home.tenant_id,
    )  # fmt: skip
    counts = cites.aggregate(
        answers=Count("message", distinct=True), people=Count("message__conversation__user", distinct=True)
    )
    is_enough = counts["answers"] >= ENOUGH_ANSWERS and counts["people"] >= ENOUGH_PEOPLE
    if not is_enough:
        return set_use_store(set_id=home.pk, use=SetUse(**counts, is_enough=False))
    showings = set_showings(home=home, answers=answers, most=MOST_ANSWERS)
    embedder = model_registry.embedder()
    vectors = _embedded(showings.questions)
    floor = similar_floor(embedder.model, vectors, showings.documents)
    learnt = learn_from_use(showings.showings, vectors, floor=floor)
    use = SetUse(
        **counts,
        is_enough=True,
        model=embedder.model,
        floor=floor,
        left_out=max(counts["answers"] - MOST_ANSWERS, 0),
        average=learnt.average,
        examination=[round(share, 4) for share in learnt.examination],
        evidence=learnt.evidence,
        seconds=time.monotonic() - start,
    )
    return set_use_store(set_id=home.pk, use=use)


def use_since() -> datetime:
    """From when on events count: an answer whose signals are gone already would look as if nothing was opened."""
    return timezone.now() - timedelta(days=min(DAYS, settings.KEEP_SIGNALS_DAYS or DAYS))


def similar_floor(model: str, vectors: FloatArray, documents: Sequence[frozenset[int]]) -> float:
    """The least cosine of similar questions; `documents`: of the answers to each of float32[q, d], unit length.

    That of the model, or above nearly all pairs of questions of which the answers share no document.
    """
    least = FLOORS.get(model, FLOOR)
    every = max(1, -(-len(documents) // COMPARED))
    rows = range(0, len(documents), every)
    columns = {document: at for at, document in enumerate(sorted(frozenset().union(*(documents[r] for r in rows))))}
    incidence = np.zeros((len(rows), len(columns)), np.float32)
    for at, row in enumerate(rows):
        incidence[at, [columns[document] for document in documents[row]]] = 1.0
    is_unlike = np.triu(incidence @ incidence.T == 0, 1)
    if is_unlike.sum() < LEAST_COMPARED:
        return least
    some = vectors[list(rows)]
    unlike = float(np.quantile((some @ some.T)[is_unlike], UNLIKE))
    return min(max(unlike, least), HIGHEST_FLOOR)


def _embedded(questions: Sequence[str]) -> FloatArray:
    """float32[q, 768], as searches compare them."""
    embedder = model_registry.embedder()
    parts = [
        embedder.embed_queries(questions[start : start + EMBEDDED_AT_ONCE])
        for start in range(0, len(questions), EMBEDDED_AT_ONCE)
    ]
    return np.vstack(parts) if parts else np.zeros((0, embedder.dimensions), np.float32)


@erase_first_with
def use_forget(user: User) -> None:
    """Sets that the person's acts may have moved forget what they learnt, and learn it again from the others."""
    acted = Q(message__signals__user=user) | Q(message__votes__user=user)
    cites = MessageCitation.objects.filter(acted).exclude(document__sets=None)
    sets = set(cites.order_by().values_list("document__sets", flat=True).distinct())
    set_use_forget(sets=sets)
    for set_id in sorted(sets):
        enqueue_on_commit(LEARN_SET_USE, queue=QUEUES[LEARN_SET_USE], set_id=set_id)

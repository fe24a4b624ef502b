"""Drafts of settings: measured with a question and the golden cases of the set, then published or discarded (D14)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from django.db import transaction
from django.utils import timezone

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from evaluation.errors import DraftNotMeasuredError, DraftWorseError
from evaluation.models import GoldenCase, OptionsDraft
from evaluation.selectors import golden_sets_listed
from evaluation.services.gates import raise_if_guarded
from evaluation.services.lab import lab_run
from evaluation.services.lab_types import LabConfiguration, LabRun
from evaluation.services.run_cases import ranked_documents
from feedback.models import BadCase
from knowledge.models import KnowledgeSet, OptionsChange
from knowledge.selectors import documents_readable, set_owned
from knowledge.services import retrieve
from knowledge.services.options import ChangeNote, set_options_update
from knowledge.types import RetrievalRequest
from ragcore.metrics.quality import ndcg_at_k

MOST_CASES = 60  # golden cases of a measurement: somebody waits for it
WORSE = 0.005  # nDCG@10 by which a draft may fall: below the noise of so few cases
State = OptionsDraft.State


def draft_measure(
    *, scope: Scope, viewer: User, draft: OptionsDraft, case: BadCase, golden: bool = True
) -> Mapping[str, Any]:
    """Search with the settings of today and with the draft; stores and returns the figures.

    `rank`: of the document with the answer for the question of the case, 1-based, None: not found. `ndcg`: mean
    nDCG@10 of the golden cases of the set, higher is better. Raises what a search raises.
    """
    configurations = [LabConfiguration(), LabConfiguration(options=draft.options)]
    document = case.marked_document_id or _diagnosed(case)
    readable = document and documents_readable(scope=scope).filter(pk=document).exists()
    asked = tuple(case.message.conversation.sets.values_list("pk", flat=True))
    result = lab_run(
        scope=scope,
        viewer=viewer,
        question=case.message.metadata.get("understood") or case.message.question,
        sets=asked,
        configurations=configurations,
    )
    ranks = [_rank(run, document) if readable else None for run in result.runs]
    now: dict[str, Any] = {"rank": ranks[0]}
    then: dict[str, Any] = {"rank": ranks[1]}
    figures: dict[str, Any] = {"now": now, "draft": then, "cases": 0}
    if golden:
        cases = _golden_cases(scope, draft.knowledge_set)
        figures["cases"] = len(cases)
        if cases:
            now["ndcg"] = _ndcg(scope, draft.knowledge_set, cases, {})
            then["ndcg"] = _ndcg(scope, draft.knowledge_set, cases, draft.options)
        draft.measured = timezone.now()
    draft.figures = figures
    draft.save(update_fields=["figures", "measured"])
    return figures


def draft_publish(*, scope: Scope, actor: User, draft: OptionsDraft) -> OptionsDraft:
    """Put a measured draft in force, with its figures in the history of settings.

    Raises NotFoundError for a draft that is no longer open, DraftNotMeasuredError, DraftWorseError where the golden
    cases of the set lose, MeasuredFirstError where golden sets guard the knowledge set, and what changing settings
    raises.
    """
    row = set_owned(scope=scope, set_id=draft.knowledge_set_id)
    if draft.state == State.OPEN and draft.measured is not None:
        options = {"retrieval": draft.options}
        raise_if_guarded(actor=actor, knowledge_set=row, options=options, note=f"draft {draft.pk}")
    return _publish(scope=scope, actor=actor, draft=draft)


@transaction.atomic
def _publish(*, scope: Scope, actor: User, draft: OptionsDraft) -> OptionsDraft:
    draft = _open(draft)
    if draft.measured is None:
        raise DraftNotMeasuredError
    now, then = (draft.figures[name].get("ndcg") for name in ("now", "draft"))
    if now is not None and then is not None and then < now - WORSE:
        raise DraftWorseError(now=now, then=then)
    row = set_owned(scope=scope, set_id=draft.knowledge_set_id)
    before = row.options.get("retrieval", {})
    draft.figures = {**draft.figures, "before": {name: before.get(name) for name in draft.options}}
    set_options_update(
        scope=scope,
        actor=actor,
        set_id=row.pk,
        options={"retrieval": draft.options},
        why=ChangeNote(note=f"draft {draft.pk}", is_measured=True),
    )
    draft.state, draft.published = State.PUBLISHED, timezone.now()
    draft.save(update_fields=["state", "published", "figures"])
    audit_record(actor=actor, action="options_draft.publish", target=row.code, draft=draft.pk, options=draft.options)
    return draft


@transaction.atomic
def draft_discard(*, scope: Scope, actor: User, draft: OptionsDraft) -> None:
    """Discard a draft; a published one is taken back, where its values are still in force. Raises NotAllowedError."""
    draft = OptionsDraft.objects.select_for_update(of=("self",)).get(pk=draft.pk)
    if draft.state == State.PUBLISHED:
        row = set_owned(scope=scope, set_id=draft.knowledge_set_id)
        live, before = row.options.get("retrieval", {}), draft.figures.get("before", {})
        values = {name: before.get(name) for name, value in draft.options.items() if live.get(name) == value}
        set_options_update(
            scope=scope,
            actor=actor,
            set_id=row.pk,
            options={"retrieval": values},
            why=ChangeNote(kind=OptionsChange.Kind.UNDO, note=f"draft {draft.pk}"),
        )
    draft.state = State.DISCARDED
    draft.save(update_fields=["state"])


def _open(draft: OptionsDraft) -> OptionsDraft:
    found = OptionsDraft.objects.select_for_update(of=("self",)).filter(pk=draft.pk, state=State.OPEN).first()
    if found is None:
        raise NotFoundError
    return found


# ── figures ───────────────────────────────────────────────────────────────────────────────────────


def _diagnosed(case: BadCase) -> int | None:
    rows = case.message.diagnoses.exclude(document=None)
    found: int | None = rows.values_list("document_id", flat=True).first()
    return found


def _rank(run: LabRun, document: int | None) -> int | None:
    places = (place for place, row in enumerate(run.found, 1) if row.passage.document == document)
    return next(places, None)


def _golden_cases(scope: Scope, row: KnowledgeSet) -> list[GoldenCase]:
    """Cases of golden sets about this knowledge set that name relevant documents."""
    rows = GoldenCase.objects.filter(golden_set__in=golden_sets_listed(scope=scope), golden_set__sets=row)
    return list(rows.exclude(relevant=[]).order_by("pk")[:MOST_CASES])


def _ndcg(scope: Scope, row: KnowledgeSet, cases: Sequence[GoldenCase], options: Mapping[str, Any]) -> float:
    scores = []
    for case in cases:
        inherited = dict.fromkeys(("top_k", "rerank", "cliff"))
        request = RetrievalRequest(query=case.question, sets=(row.pk,), options={**inherited, **options})
        found = ranked_documents(retrieve(scope=scope, request=request).state.candidates, named=case.relevant)
        scores.append(ndcg_at_k(found, set(case.relevant), 10))
    return round(fmean(scores), 4)

"""Drafts of settings: tried with the question of a case, then published through the gate or discarded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from chat.answers.rights import question_shown
from evaluation.models import OptionsDraft
from evaluation.services.gated_kinds import draft_note_published
from evaluation.services.gates import raise_if_guarded
from evaluation.services.lab.searches import lab_run
from evaluation.services.lab.types import LabConfiguration, LabRun
from feedback.models import BadCase
from knowledge.models import OptionsChange
from knowledge.selectors import documents_readable, set_owned
from knowledge.services.options import ChangeNote, set_options_update

State = OptionsDraft.State


def draft_try(*, scope: Scope, viewer: User, draft: OptionsDraft, case: BadCase) -> Mapping[str, Any]:
    """Search for the question of a case with the settings of today and with the draft; stores and returns the figures.

    {"now": {"rank", "is_refused"}, "draft": the same}: the rank of the document with the answer, 1-based, None: not
    found; whether the passages found are too weak for an answer. Raises what a
    search raises.
    """
    configurations = [LabConfiguration(), LabConfiguration(options=draft.options)]
    document = case.marked_document_id or _diagnosed(case)
    readable = document and documents_readable(scope=scope).filter(pk=document).exists()
    sets = tuple(case.message.conversation.sets.values_list("pk", flat=True))
    result = lab_run(
        scope=scope,
        viewer=viewer,
        question=question_shown(scope=scope, message=case.message),
        sets=sets,
        configurations=configurations,
    )
    ranks = [_rank(run, document) if readable else None for run in result.runs]
    refusals = [not run.relevant for run in result.runs]
    figures: dict[str, Any] = {
        name: {"rank": rank, "is_refused": is_refused}
        for name, rank, is_refused in zip(("now", "draft"), ranks, refusals, strict=True)
    }
    draft.figures = figures
    draft.save(update_fields=["figures"])
    return figures


def draft_publish(*, scope: Scope, actor: User, draft: OptionsDraft) -> OptionsDraft:
    """Put a draft in force, with its figures in the history of settings.

    Raises NotFoundError for a draft that is no longer open, MeasuredFirstError where golden sets guard the knowledge
    set: the gate then publishes the draft; and what changing settings raises.
    """
    row = set_owned(scope=scope, set_id=draft.knowledge_set_id)
    if draft.state == State.OPEN:
        options = {"retrieval": draft.options}
        origin, note = {"draft": draft.pk}, f"draft {draft.pk}"
        raise_if_guarded(actor=actor, knowledge_set=row, options=options, note=note, origin=origin)
    return _publish(scope=scope, actor=actor, draft=draft)


@transaction.atomic
def _publish(*, scope: Scope, actor: User, draft: OptionsDraft) -> OptionsDraft:
    draft = _open(draft)
    row = set_owned(scope=scope, set_id=draft.knowledge_set_id)
    before = row.options.get("retrieval", {})
    set_options_update(
        scope=scope,
        actor=actor,
        set_id=row.pk,
        options={"retrieval": draft.options},
        why=ChangeNote(note=f"draft {draft.pk}", is_measured=True),
    )
    draft_note_published(draft, before=before)
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
    row = OptionsDraft.objects.select_for_update(of=("self",)).filter(pk=draft.pk, state=State.OPEN).first()
    if row is None:
        raise NotFoundError
    return row


def _diagnosed(case: BadCase) -> int | None:
    rows = case.message.diagnoses.exclude(document=None)
    document_id: int | None = rows.values_list("document_id", flat=True).first()
    return document_id


def _rank(run: LabRun, document: int | None) -> int | None:
    places = (place for place, row in enumerate(run.found, 1) if row.passage.document == document)
    return next(places, None)

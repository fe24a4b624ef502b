"""Drafts of settings: tried with the question of a case, then published through the gate or discarded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from asgiref.sync import async_to_sync
from django.db import transaction

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from accounts.services import audit_record
from chat.answers.rights import question_shown
from chat.turns.replay import Intervention, answer_again
from evaluation.models import OptionsDraft
from evaluation.services.case_desk import is_answered
from evaluation.services.gated_kinds import draft_note_published, draft_values_live
from evaluation.services.gates import raise_if_guarded, raise_if_texts_guarded
from evaluation.services.lab.searches import lab_run
from evaluation.services.lab.types import LabConfiguration, LabRun
from evaluation.services.runs.plans import Tried, draft_of
from feedback.models import BadCase
from knowledge.models import OptionsChange
from knowledge.options_draft import NO_DRAFT
from knowledge.selectors import documents_readable, set_owned
from knowledge.services.options import ChangeNote, set_options_update
from knowledge.services.sets import set_update

State, Group = OptionsDraft.State, OptionsDraft.Group


def draft_try(*, scope: Scope, viewer: User, draft: OptionsDraft, case: BadCase) -> Mapping[str, Any]:
    """Ask the question of a case with the settings of today and with the draft; stores and returns the figures.

    {"now": figures, "draft": the same}. Of a search {"rank", "is_refused"}: the rank of the document with the answer,
    1-based, None: not found; whether the passages found are too weak for an answer. Of answering and prompts
    {"is_right", "status", "unsupported"}: as far as is known of the right answer; sentences that no source supports.
    The settings of a set hold where it is asked alone: both answers are of that set alone. Raises what a search and
    answering raise.
    """
    searches = draft.group == Group.RETRIEVAL
    figures = (_search_figures if searches else _answer_figures)(scope=scope, viewer=viewer, draft=draft, case=case)
    draft.figures = figures
    draft.save(update_fields=["figures"])
    return figures


def _search_figures(*, scope: Scope, viewer: User, draft: OptionsDraft, case: BadCase) -> dict[str, Any]:
    configurations = [LabConfiguration(), LabConfiguration(options=draft.options)]
    document = case.marked_document_id or _diagnosed(case)
    readable = document and documents_readable(scope=scope).filter(pk=document).exists()
    result = lab_run(
        scope=scope,
        viewer=viewer,
        question=question_shown(scope=scope, message=case.message),
        sets=tuple(case.message.conversation.sets.values_list("pk", flat=True)),
        configurations=configurations,
    )
    ranks = [_rank(run, document) if readable else None for run in result.runs]
    refusals = [not run.relevant for run in result.runs]
    return {
        name: {"rank": rank, "is_refused": is_refused}
        for name, rank, is_refused in zip(("now", "draft"), ranks, refusals, strict=True)
    }


def _answer_figures(*, scope: Scope, viewer: User, draft: OptionsDraft, case: BadCase) -> dict[str, Any]:
    asked_sets = (draft.knowledge_set_id,)
    is_text = draft.group == Group.TEXTS
    tried = Tried(texts=draft.options) if is_text else Tried()
    options = {} if is_text else {draft.group: draft.options}
    drafted = draft_of(scope=scope_for(case.message.conversation.user), sets=asked_sets, options=options, tried=tried)
    records = {
        name: async_to_sync(answer_again)(
            message=case.message, viewer=scope, intervention=Intervention(sets=asked_sets, draft=tried_options)
        )
        for name, tried_options in (("now", NO_DRAFT), ("draft", drafted))
    }
    return {
        name: {
            "is_right": is_answered(record, case),
            "status": record.status,
            "unsupported": sum(sentence.support == "unsupported" for sentence in record.sentences),
        }
        for name, record in records.items()
    }


def draft_publish(*, scope: Scope, actor: User, draft: OptionsDraft) -> OptionsDraft:
    """Put a draft in force, with its figures in the history of settings.

    Raises NotFoundError for a draft that is no longer open, MeasuredFirstError where golden sets guard the knowledge
    set: the gate then publishes the draft; and what changing settings raises.
    """
    row = set_owned(scope=scope, set_id=draft.knowledge_set_id)
    if draft.state == State.OPEN:
        origin, note = {"draft": draft.pk}, _note(draft)
        if draft.group == Group.TEXTS:
            raise_if_texts_guarded(actor=actor, knowledge_set=row, texts=draft.options, note=note, origin=origin)
        else:
            options = {draft.group: draft.options}
            raise_if_guarded(actor=actor, knowledge_set=row, options=options, note=note, origin=origin)
    return _publish(scope=scope, actor=actor, draft=draft)


@transaction.atomic
def _publish(*, scope: Scope, actor: User, draft: OptionsDraft) -> OptionsDraft:
    draft = _open(draft)
    row = set_owned(scope=scope, set_id=draft.knowledge_set_id)
    before = draft_values_live(draft, row)
    _put(
        scope=scope, actor=actor, draft=draft, values=draft.options, why=ChangeNote(note=_note(draft), is_measured=True)
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
        live, before = draft_values_live(draft, row), draft.figures.get("before", {})
        values = {name: before.get(name) for name, value in draft.options.items() if live.get(name) == value}
        note = ChangeNote(kind=OptionsChange.Kind.UNDO, note=_note(draft))
        _put(scope=scope, actor=actor, draft=draft, values=values, why=note)
    draft.state = State.DISCARDED
    draft.save(update_fields=["state"])


def _put(*, scope: Scope, actor: User, draft: OptionsDraft, values: Mapping[str, Any], why: ChangeNote) -> None:
    """Values of the draft's group in its set; what is None is inherited."""
    set_id = draft.knowledge_set_id
    if draft.group == Group.TEXTS:
        texts = {name: text or "" for name, text in values.items()}
        set_update(scope=scope, actor=actor, set_id=set_id, values=texts, is_measured=True)
    else:
        set_options_update(scope=scope, actor=actor, set_id=set_id, options={draft.group: values}, why=why)


def _note(draft: OptionsDraft) -> str:
    return f"draft {draft.pk}"


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

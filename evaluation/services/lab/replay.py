"""A stored question in the lab: the configuration that it was asked with, its ranking then and now.

Who may see the question at all is what decision 004 says of answers: its asker, reviewers in their tenant, owners where
the case of its answer is theirs. What it found is shown within the rights that asker and viewer both have today.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Any, get_args
from uuid import UUID

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from chat.answers.rights import question_shown
from chat.models import Message
from chat.turns.replay import stored_filters
from evaluation.services.lab.types import LabConfiguration, LabQuestion, LabRow, LabRun, Move, moves_between
from feedback.selectors import cases_reviewable
from knowledge.models import Chunk
from knowledge.selectors import documents_askable, sets_listed
from knowledge.types import RetrievalMode
from ragcore.options import RetrievalOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A stored question as the lab asks it again: with what its conversation adds, as it was searched for."""

    message: Message
    asker: User
    question: LabQuestion
    configuration: LabConfiguration
    sets_gone: int  # knowledge sets that it was asked in and that do not exist any more


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRow:
    """A passage of the stored ranking. Places are counted among those that asker and viewer may both read today."""

    place: int
    chunk: int
    document: int
    title: str
    heading_path: tuple[str, ...]
    score: float
    move: Move
    now: LabRow | None  # the passage, or another one of its document, in today's search
    is_same_passage: bool  # False: `now` is another passage, e.g. of a newer version


def replay_get(*, scope: Scope, message_id: str, is_reviewer: bool) -> Replay:
    """A stored question with what it was asked with. Raises NotFoundError."""
    message = _message(scope=scope, message_id=message_id, is_reviewer=is_reviewer)
    request = message.request
    sets = {int(pk) for pk in request.get("sets", ())}
    there = set(sets_listed(scope=scope).filter(pk__in=sets).values_list("pk", flat=True))
    return Replay(
        message=message,
        asker=message.conversation.user,
        question=LabQuestion(
            text=question_shown(scope=scope, message=message),
            sets=tuple(sorted(there)),
            filters=stored_filters(request.get("filters") or {}),
        ),
        configuration=_configuration(request, message.trace),
        sets_gone=len(sets - there),
    )


def _message(*, scope: Scope, message_id: str, is_reviewer: bool) -> Message:
    message = None
    with suppress(ValueError):
        rows = Message.objects.select_related("conversation__user__tenant")
        message = rows.filter(pk=UUID(message_id), conversation__tenant_id=scope.tenant_id).first()
    if message is not None and (message.conversation.user_id == scope.user_id or is_reviewer):
        return message
    cases = cases_reviewable(scope=scope, is_reviewer=is_reviewer)
    if message is not None and cases.filter(message_id=message.pk).exists():
        return message
    raise NotFoundError("question")


def _configuration(request: Mapping[str, Any], trace: Mapping[str, Any]) -> LabConfiguration:
    """What the request said and what holds for answers; where the trace recorded its options, those."""
    mode = request.get("retrieval_mode", "hybrid")
    requested = {"top_k": request.get("top_k"), "rerank": request.get("rerank"), "cliff": True, "deduplicate": True}
    names = {field.name for field in fields(RetrievalOptions)}
    recorded = {name: value for name, value in dict(trace.get("options") or {}).items() if name in names}
    return LabConfiguration(
        mode=mode if mode in get_args(RetrievalMode) else "hybrid",
        style=request.get("style", ""),
        options={name: value for name, value in {**requested, **recorded}.items() if value is not None},
    )


# ── then and now ────────────────────────────────────────────────────────────────────────────────


def stored_ranking(*, scope: Scope, replay: Replay, run: LabRun) -> list[StoredRow]:
    """The ranking of the stored answer beside today's, in a fixed number of queries."""
    candidates = replay.message.trace.get("candidates", [])
    chunks = _readable_chunks(scope, replay, [int(row["chunk_id"]) for row in candidates])
    rows = [row for row in candidates if int(row["chunk_id"]) in chunks]
    moves = moves_between([int(row["chunk_id"]) for row in rows], [row.chunk for row in run.found])
    return [_stored(place, row, chunks[int(row["chunk_id"])], run, moves) for place, row in enumerate(rows, 1)]


def _readable_chunks(scope: Scope, replay: Replay, ids: list[int]) -> dict[int, Chunk]:
    askable = documents_askable(scope=scope.limited_to(scope_for(replay.asker))).order_by().values("pk")
    rows = Chunk.objects.select_related("version__document").filter(pk__in=ids, version__document__in=askable)
    return {chunk.pk: chunk for chunk in rows.defer("text", "version__markdown", "version__sketch")}


def _stored(place: int, row: Mapping[str, Any], chunk: Chunk, run: LabRun, moves: Mapping[int, Move]) -> StoredRow:
    document = chunk.version.document
    today = [*run.found, *run.dropped]
    same = next((one for one in today if one.chunk == chunk.pk), None)
    other = next((one for one in today if one.passage.document == document.pk), None)
    return StoredRow(
        place=place,
        chunk=chunk.pk,
        document=document.pk,
        title=document.title,
        heading_path=tuple(chunk.heading_path),
        score=float(row.get("score") or 0.0),
        move=moves[chunk.pk],
        now=same or other,
        is_same_passage=same is not None,
    )

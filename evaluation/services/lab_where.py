"""Where an expected document fell out of a search, and why (B1)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from accounts.errors import NotFoundError
from accounts.scope import Scope
from evaluation.services.lab_rows import ARMS, Trail, row_of
from evaluation.services.lab_types import Fate, LabQuestion, LabRow, Where
from knowledge.models import Chunk, Document
from knowledge.selectors import documents_askable, documents_readable
from knowledge.services.explaining import passages_explained, query_embedded

SHOWN_PASSAGES = 5
LOOKED_AT = 2000  # passages of one document; of a longer one the first ones
FURTHEST = ("found", "merged", "dropped", "not_fine", "not_coarse", "not_indexed")
_NUMBER = re.compile(r"#(\d{1,12})(?::(\d{1,6}))?")


@dataclass(frozen=True, slots=True)
class Expected:
    """A document that the viewer may open, perhaps one passage of it."""

    document: Document
    ordinal: int | None = None  # 0-based


def expected_find(*, scope: Scope, name: str) -> Expected:
    """The document of this number, external id or title, the latest one of several.

    Raises NotFoundError, with the same words for a document that does not exist and one that the viewer may not open.
    """
    name = name.strip()
    readable = documents_readable(scope=scope).select_related("live_version").order_by("-created", "-pk")
    numbered = _NUMBER.fullmatch(name)
    if numbered:
        found = readable.filter(pk=int(numbered[1])).first()
        ordinal = int(numbered[2]) - 1 if numbered[2] else None
        if found is not None and (ordinal is None or ordinal >= 0):
            return Expected(found, ordinal)
    else:
        for condition in ({"external_id": name}, {"title": name}, {"title__icontains": name}):
            found = readable.filter(**condition).first()
            if found is not None:
                return Expected(found)
    raise NotFoundError("any_document")


def where_is(expected: Expected, *, scope: Scope, within: Scope | None, question: LabQuestion, trail: Trail) -> Where:
    """What became of the document in a search that has run: the passage that got furthest comes first."""
    document = expected.document
    if fate := _kept_out(document, scope=scope, within=within, question=question):
        return Where(document=document.pk, title=document.title, fate=fate)
    chunks = _chunks(expected)
    evidence = passages_explained(
        scope=scope,
        within=within,
        sets=question.sets,
        filters=question.filters,
        query=query_embedded(trail.state.query),
        chunks=chunks,
    )
    rows = sorted((row_of(found, trail=trail) for found in evidence.values()), key=_nearness)
    fate = rows[0].fate if rows else Fate(kind="not_indexed")
    return Where(
        document=document.pk,
        title=document.title,
        fate=fate,
        rows=tuple(rows[:SHOWN_PASSAGES]),
        more=max(len(rows) - SHOWN_PASSAGES, 0),
        lowest={arm: list(scores.values())[-1] for arm in ARMS if (scores := trail.state.arms.get(arm))},
    )


def _kept_out(document: Document, *, scope: Scope, within: Scope | None, question: LabQuestion) -> Fate | None:
    """Why no search of these people could touch the document; None if it could."""

    def is_askable(asker: Scope, asked: LabQuestion | None = None) -> bool:
        sets, filters = (asked.sets, asked.filters) if asked else ((), None)
        return documents_askable(scope=asker, sets=sets, filters=filters).filter(pk=document.pk).exists()

    if document.live_version_id is None:
        return Fate(kind="not_live", reason=document.state)
    if not is_askable(scope):
        return Fate(kind="not_yours")
    if within is not None and not is_askable(within):
        return Fate(kind="not_theirs")
    asked_both = is_askable(scope, question) and (within is None or is_askable(within, question))
    return None if asked_both else Fate(kind="not_asked")


def _chunks(expected: Expected) -> Sequence[int]:
    """Passages of the live version in reading order, also those that an owner took out of searches."""
    rows = Chunk.objects.filter(version=expected.document.live_version_id).order_by("ordinal", "pk")
    if expected.ordinal is not None:
        rows = rows.filter(ordinal=expected.ordinal)
    return list(rows.values_list("pk", flat=True)[:LOOKED_AT])


def _nearness(row: LabRow) -> tuple[int, int, float]:
    """Order by how far a passage got; among those that fell at once, by its match."""
    place = row.fate.place if row.fate.place is not None else 1_000_000
    match = max((p.share for name, p in row.rankings.items() if name in ARMS), default=0.0)
    return FURTHEST.index(row.fate.kind), place, -match

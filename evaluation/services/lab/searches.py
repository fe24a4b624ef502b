"""The retrieval lab: runs one question under one or two configurations and says where passages were dropped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from chat.answering.context import profile_get
from evaluation.services.lab.rows import ARMS, Trail, row_of, rows_of
from evaluation.services.lab.types import (
    Fate,
    LabConfiguration,
    LabQuestion,
    LabResult,
    LabRow,
    LabRun,
    StageTime,
    Where,
)
from knowledge.models import Chunk, Document
from knowledge.search_profile import Retrieved, SearchProfile, retrieval_options
from knowledge.selectors import documents_askable, documents_readable, sets_listed
from knowledge.services import retrieve
from knowledge.services.passage_evidence import passages_explain, query_embed
from knowledge.types import Filters, RetrievalRequest
from ragcore.options import RetrievalOptions
from ragcore.types import Profile

SHOWN_DROPPED = 200  # rows of passages that did not get through; the others are counted
INHERITED = ("top_k", "rerank", "cliff")  # a request sets them; here the set does, unless the configuration says so

SHOWN_PASSAGES = 5
MAX_PASSAGES_SEARCHED = 2000  # passages of one document; of a longer one the first ones
FURTHEST = ("found", "merged", "dropped", "not_fine", "not_coarse", "not_indexed")
_NUMBER = re.compile(r"#(\d{1,12})(?::(\d{1,6}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rights:
    """Whose rights and profile a run has."""

    scope: Scope  # the viewer's, limited by the person in whose place they ask
    profile: Profile | None


def lab_run(
    *,
    scope: Scope,
    viewer: User,
    question: str,
    sets: Sequence[int] = (),
    filters: Filters | None = None,
    as_user: User | None = None,
    configurations: Sequence[LabConfiguration] = (LabConfiguration(),),
    expected: str = "",
) -> LabResult:
    """Search once for each configuration, with the viewer's rights; `as_user`: with those that both have.

    `expected` names a document, or one of its passages, that should have been found: `#12`, `#12:5` (its fifth
    passage), its external id or title. A search has the profile of `as_user`, and nobody's without one.
    Raises NotFoundError for a set or an expected document that the viewer cannot see and for a person of another
    tenant, InvalidOptionsError, GraphNotBuiltError, RetrievalUnavailableError.
    """
    if as_user is not None and as_user.tenant_id != viewer.tenant_id:
        raise NotFoundError("person")
    wanted = expected_find(scope=scope, name=expected) if expected.strip() else None
    rights = _Rights(
        scope=scope.limited_to(scope_for(as_user)) if as_user else scope,
        profile=profile_get(as_user, sets=sets) if as_user else None,
    )
    asked = LabQuestion(text=question, sets=tuple(sets), filters=filters or Filters())
    runs = tuple(_run(rights, asked, configuration, wanted) for configuration in configurations)
    return LabResult(question=asked, as_user=as_user.username if as_user else "", runs=runs)


def request_of(
    question: LabQuestion, configuration: LabConfiguration, *, profile: Profile | None = None
) -> RetrievalRequest:
    """The search of a configuration."""
    return RetrievalRequest(
        query=question.text,
        sets=question.sets,
        filters=question.filters,
        mode=configuration.mode,
        style=configuration.style,
        profile=profile,
        options={**dict.fromkeys(INHERITED), **configuration.options},
    )


def options_in_force(*, scope: Scope, question: LabQuestion, configuration: LabConfiguration) -> RetrievalOptions:
    """What a configuration comes to with what the set says. Raises InvalidOptionsError."""
    sets = list(sets_listed(scope=scope).filter(pk__in=question.sets))
    return retrieval_options(scope=scope, sets=sets, request=request_of(question, configuration)).value


def _run(rights: _Rights, question: LabQuestion, configuration: LabConfiguration, wanted: Expected | None) -> LabRun:
    options = options_in_force(scope=rights.scope, question=question, configuration=configuration)
    request = replace(request_of(question, configuration, profile=rights.profile), top_k=options.top_k)
    retrieved = retrieve(scope=rights.scope, request=request)
    assert retrieved.profile is not None  # of every search of passages
    profile, trail = retrieved.profile, Trail.of(retrieved.state)
    dropped = trail.ranked_and_dropped
    ranked = [candidate.chunk for candidate in retrieved.state.candidates]
    query = query_embed(profile, retrieved.state.query)
    evidence = passages_explain(profile=profile, query=query, chunks=[*ranked, *dropped[:SHOWN_DROPPED]])
    return LabRun(
        configuration=configuration,
        options=options,
        stages=_stages(retrieved),
        searched=retrieved.searched,
        relevant=retrieved.relevant,
        found=rows_of(ranked, trail=trail, evidence=evidence),
        dropped=rows_of(dropped[:SHOWN_DROPPED], trail=trail, evidence=evidence),
        dropped_beyond=max(len(dropped) - SHOWN_DROPPED, 0),
        candidates_beyond=trail.never_ranked,
        where=None if wanted is None else where_is(wanted, profile=profile, question=question, trail=trail),
        weights=dict(retrieved.state.query.weights),
        unknown=tuple(t for t in dict.fromkeys(retrieved.state.query.terms) if t not in retrieved.state.query.weights),
    )


def _stages(retrieved: Retrieved) -> tuple[StageTime, ...]:
    return tuple(
        StageTime(
            stage=record.stage,
            milliseconds=1000 * record.seconds,
            before=record.before,
            after=record.after,
            note=dict(record.note),
            error=record.error,
        )
        for record in retrieved.state.records
    )


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
        document = readable.filter(pk=int(numbered[1])).first()
        ordinal = int(numbered[2]) - 1 if numbered[2] else None
        if document is not None and (ordinal is None or ordinal >= 0):
            return Expected(document, ordinal)
    else:
        for condition in ({"external_id": name}, {"title": name}, {"title__icontains": name}):
            document = readable.filter(**condition).first()
            if document is not None:
                return Expected(document)
    raise NotFoundError("any_document")


def where_is(expected: Expected, *, profile: SearchProfile, question: LabQuestion, trail: Trail) -> Where:
    """What became of the document in a search that has run: the passage that got furthest comes first."""
    document = expected.document
    if fate := _kept_out(document, scope=profile.scope, question=question):
        return Where(document=document.pk, title=document.title, fate=fate)
    chunks = _chunks(expected)
    evidence = passages_explain(profile=profile, query=query_embed(profile, trail.state.query), chunks=chunks)
    rows = sorted((row_of(passage, trail=trail) for passage in evidence.values()), key=_nearness)
    fate = rows[0].fate if rows else Fate(kind="not_indexed")
    return Where(
        document=document.pk,
        title=document.title,
        fate=fate,
        rows=tuple(rows[:SHOWN_PASSAGES]),
        more=max(len(rows) - SHOWN_PASSAGES, 0),
        lowest={arm: list(scores.values())[-1] for arm in ARMS if (scores := trail.state.arms.get(arm))},
    )


def _kept_out(document: Document, *, scope: Scope, question: LabQuestion) -> Fate | None:
    """Why no search of these people could touch the document; None if it could."""

    def is_askable(asker: Scope, asked: LabQuestion | None = None) -> bool:
        sets, filters = (asked.sets, asked.filters) if asked else ((), None)
        return documents_askable(scope=asker, sets=sets, filters=filters).filter(pk=document.pk).exists()

    if document.live_version_id is None:
        return Fate(kind="not_live", reason=document.state)
    viewer, *limits = scope.persons
    if not is_askable(viewer):
        return Fate(kind="not_yours")
    if not all(is_askable(person) for person in limits):
        return Fate(kind="not_theirs")
    return None if is_askable(scope, question) else Fate(kind="not_asked")


def _chunks(expected: Expected) -> Sequence[int]:
    """Passages of the live version in reading order, also those that an owner took out of searches."""
    rows = Chunk.objects.filter(version=expected.document.live_version_id).order_by("ordinal", "pk")
    if expected.ordinal is not None:
        rows = rows.filter(ordinal=expected.ordinal)
    return list(rows.values_list("pk", flat=True)[:MAX_PASSAGES_SEARCHED])


def _nearness(row: LabRow) -> tuple[int, int, float]:
    """Order by how far a passage got; among those that fell at once, by its match."""
    place = row.fate.place if row.fate.place is not None else 1_000_000
    match = max((p.share for name, p in row.rankings.items() if name in ARMS), default=0.0)
    return FURTHEST.index(row.fate.kind), place, -match

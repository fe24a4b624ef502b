"""The retrieval lab: one question under one or two configurations, with the way of every passage (B1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from chat.answering.context import profile_get
from evaluation.services.lab_rows import Trail, rows_of
from evaluation.services.lab_types import LabConfiguration, LabQuestion, LabResult, LabRun, StageTime
from evaluation.services.lab_where import Expected, expected_find, where_is
from knowledge.selectors import sets_listed
from knowledge.services import retrieve
from knowledge.services.explaining import passages_explained, query_embedded
from knowledge.services.retrieval import retrieval_options
from knowledge.types import Filters, RetrievalRequest, Retrieved
from ragcore.options import RetrievalOptions
from ragcore.types import Profile

SHOWN_DROPPED = 200  # rows of passages that did not get through; the others are counted
INHERITED = ("top_k", "rerank", "cliff")  # a request sets them; here the set does, unless the configuration says so


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    """Whose rights and profile a run has."""

    scope: Scope  # the viewer's
    within: Scope | None  # of the person in whose place they ask
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
    other = as_user if as_user is not None and as_user.pk != viewer.pk else None
    asking = _Asking(
        scope=scope,
        within=scope_for(other) if other else None,
        profile=profile_get(as_user, sets=sets) if as_user else None,
    )
    asked = LabQuestion(text=question, sets=tuple(sets), filters=filters or Filters())
    runs = tuple(_run(asking, asked, configuration, wanted) for configuration in configurations)
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


def _run(asking: _Asking, question: LabQuestion, configuration: LabConfiguration, wanted: Expected | None) -> LabRun:
    options = options_in_force(scope=asking.scope, question=question, configuration=configuration)
    request = replace(request_of(question, configuration, profile=asking.profile), top_k=options.top_k)
    retrieved = retrieve(scope=asking.scope, request=request, within=asking.within)
    trail = Trail.of(retrieved.state)
    dropped = trail.ranked_and_dropped
    found = [candidate.chunk for candidate in retrieved.state.candidates]
    evidence = passages_explained(
        scope=asking.scope,
        within=asking.within,
        sets=question.sets,
        filters=question.filters,
        query=query_embedded(retrieved.state.query),
        chunks=[*found, *dropped[:SHOWN_DROPPED]],
    )
    return LabRun(
        configuration=configuration,
        options=options,
        stages=_stages(retrieved),
        searched=retrieved.searched,
        relevant=retrieved.relevant,
        found=rows_of(found, trail=trail, evidence=evidence),
        dropped=rows_of(dropped[:SHOWN_DROPPED], trail=trail, evidence=evidence),
        dropped_beyond=max(len(dropped) - SHOWN_DROPPED, 0),
        candidates_beyond=trail.never_ranked,
        where=None
        if wanted is None
        else where_is(wanted, scope=asking.scope, within=asking.within, question=question, trail=trail),
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

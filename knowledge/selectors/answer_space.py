"""What a cached answer depends on, and whether it may still be given out."""

from __future__ import annotations

from collections.abc import Sequence

from accounts.scope import Scope
from knowledge.indexes.answer_space import answer_space_load, citations_count, facts_present
from knowledge.indexes.corpus_epoch import EpochCache
from knowledge.selectors.visibility import readable_sets_sql, visible_to
from knowledge.types import AnswerSpace, Filters
from ragcore.retrieval.stages.fusion import is_profile_fact, matching_values
from ragcore.types import Profile

STALE_SECONDS = 60.0  # of the values of profiles that documents agree with, where collecting these takes long

Values = tuple[tuple[str, str], ...]  # (field, value) of a profile

_facts: EpochCache[dict[str, frozenset[str]]] = EpochCache(limit=50)
_matching: EpochCache[Values] = EpochCache()


def answer_space(*, scope: Scope, sets: Sequence[int] = (), filters: Filters | None = None) -> AnswerSpace:
    """The readable sets that a question is put to, with their epoch, as of this moment.

    Filters by axis or code of sets look at all readable sets, so all of them count as asked.
    """
    by_sets = filters is not None and bool(filters.axis or filters.capability or filters.organisation)
    readable, params = readable_sets_sql(scope)
    return answer_space_load(scope=scope, readable=readable, params=params, set_ids=() if by_sets else frozenset(sets))


def citations_askable(
    *,
    scope: Scope,
    cited: Sequence[tuple[int, int, int]],
    sets: Sequence[int] = (),
    filters: Filters | None = None,
) -> bool:
    """Whether a search of this asker could find each (chunk, version, document) at this moment."""
    if not cited:
        return True
    return citations_count(
        scope=scope, visible=visible_to(scope=scope, sets=sets, filters=filters), cited=cited
    ) == len(cited)


def profile_values(*, scope: Scope, space: AnswerSpace, profile: Profile) -> Values:
    """(field, value) of a profile that agree with a fact of any document of these sets: only they change a ranking."""
    rights = (scope.tenant_id, scope.clearance, space.asked, space.readable, space.lists)

    def facts() -> dict[str, frozenset[str]]:
        visible = visible_to(scope=scope, sets=space.asked)
        present = facts_present(scope=scope, visible=visible, readable=space.readable)
        return {kind: values for kind, values in present.items() if is_profile_fact(kind)}

    def matching() -> Values:
        if not space.asked:
            return ()
        return matching_values(profile, _facts.get(rights, epoch=space.epoch, make=facts, stale=STALE_SECONDS))

    who = (profile.department, profile.product, profile.role, profile.interests)
    return _matching.get((*rights, *who), epoch=space.epoch, make=matching, stale=STALE_SECONDS)

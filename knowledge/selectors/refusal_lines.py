"""How far the lines of refusals of the asked sets lie below the shipped one."""

from __future__ import annotations

from collections.abc import Sequence

from accounts.scope import Scope
from knowledge.indexes.corpus_epoch import EpochCache
from knowledge.models import RefusalLine
from knowledge.selectors.sets import sets_managed, sets_readable

lines: EpochCache[float] = EpochCache()  # by tenant, asked sets and, without any, the asker


def refusal_lowered(*, scope: Scope, sets: Sequence[int], epoch: int) -> float:
    """In log-odds, for a question to these sets; without any, to all that the asker may read.

    Where several are asked, each counts by its passages. Sets without a line of their own, which are small, do not
    count. Read once for a corpus epoch: drawing a line advances it.
    """
    set_ids = tuple(sorted(sets))
    who = () if set_ids else (scope.user_id, scope.group_ids, scope.only_sets)
    return lines.get((scope.tenant_id, set_ids, who), epoch=epoch, make=lambda: _mean(scope, set_ids))


def _mean(scope: Scope, sets: tuple[int, ...]) -> float:
    drawn = RefusalLine.objects.filter(knowledge_set__tenant=scope.tenant_id, questions__gt=0)
    readable = sets_readable(scope=scope).order_by().values("pk")
    lines_of_sets = drawn.filter(pk__in=sets) if sets else drawn.filter(knowledge_set__in=readable)
    rows = list(lines_of_sets.values_list("lowered", "passages"))
    total = sum(passages for _, passages in rows)
    return sum(lowered * passages for lowered, passages in rows) / total if total else 0.0


def refusal_line_of(*, scope: Scope, set_id: int) -> RefusalLine | None:
    """The line of a set that the person manages; None where it has the shipped one."""
    managed = sets_managed(scope=scope).order_by().values("pk")
    return RefusalLine.objects.filter(pk=set_id, knowledge_set__in=managed, questions__gt=0).first()

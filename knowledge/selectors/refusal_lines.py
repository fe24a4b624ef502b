"""How far the lines of refusals of the asked sets lie below the shipped one (D21, D23)."""

from __future__ import annotations

from collections.abc import Sequence

from accounts.scope import Scope
from knowledge.indexes.corpus_epoch import EpochCache
from knowledge.models import RefusalLine

lines: EpochCache[float] = EpochCache()  # by tenant and asked sets


def refusal_lowered(*, scope: Scope, sets: Sequence[int] | None, epoch: int) -> float:
    """In log-odds, for a question to these sets; None: to all of the tenant.

    Where several are asked, each counts by its passages. Sets without a line of their own, which are small, do not
    count. Read once for a corpus epoch: drawing a line advances it.
    """
    asked = None if sets is None else tuple(sorted(sets))
    return lines.get((scope.tenant_id, asked), epoch=epoch, make=lambda: _mean(scope.tenant_id, asked))


def _mean(tenant_id: int, sets: tuple[int, ...] | None) -> float:
    drawn = RefusalLine.objects.filter(knowledge_set__tenant=tenant_id, questions__gt=0)
    rows = list((drawn if sets is None else drawn.filter(pk__in=sets)).values_list("lowered", "passages"))
    total = sum(passages for _, passages in rows)
    return sum(lowered * passages for lowered, passages in rows) / total if total else 0.0


def refusal_line_of(*, set_id: int) -> RefusalLine | None:
    """The line of a set, for those who manage it; None where it has the shipped one."""
    return RefusalLine.objects.filter(pk=set_id, questions__gt=0).first()

"""How far the lines of refusals of the asked sets lie below the shipped one (D21, D23)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from accounts.scope import Scope
from knowledge.indexes.corpus_epoch import EpochCache
from knowledge.models import RefusalLine

lines: EpochCache[Mapping[int, tuple[float, int]]] = EpochCache()  # of a tenant: set -> (lowered, passages)


def refusal_lowered(*, scope: Scope, sets: Sequence[int] | None, epoch: int) -> float:
    """In log-odds, for a question to these sets; None: to all of the tenant.

    Where several are asked, each counts by its passages. Sets without a line of their own, which are small, do not
    count. Read once for a corpus epoch: drawing a line advances it.
    """
    known = lines.get((scope.tenant_id,), epoch=epoch, make=lambda: _of_tenant(scope.tenant_id))
    asked = [known[pk] for pk in (known if sets is None else sets) if pk in known]
    total = sum(passages for _, passages in asked)
    return sum(lowered * passages for lowered, passages in asked) / total if total else 0.0


def _of_tenant(tenant_id: int) -> dict[int, tuple[float, int]]:
    drawn = RefusalLine.objects.filter(knowledge_set__tenant=tenant_id, questions__gt=0)
    return {pk: (lowered, passages) for pk, lowered, passages in drawn.values_list("pk", "lowered", "passages")}


def refusal_line_of(*, set_id: int) -> RefusalLine | None:
    """The line of a set, for those who manage it; None where it has the shipped one."""
    return RefusalLine.objects.filter(pk=set_id, questions__gt=0).first()

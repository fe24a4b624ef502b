"""Items of a source that could not be taken: which, why, and in how many runs in a row.

What was refused for a passing reason is read again by the next run, which lists from where this one began; only after
some runs in a row the place moves on without it. Then the row remains, and a person tries again.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db.models import QuerySet

from accounts.scope import Scope
from knowledge.models import ItemFault, Source
from knowledge.selectors.sets import source_managed
from ragcore.errors import TransientError

MOST_TRIES = 5  # runs in a row for which the place of the list waits
MOST_NAMED = 500  # rows of a source; of more the run only counts
MAX_PATH = 1024


class RunFaults:
    """What one run could not take."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._named: dict[str, tuple[dict[str, Any], bool]] = {}
        self._passing_more = 0
        self._earlier = set(ItemFault.objects.filter(source=source).values_list("external_id", flat=True))

    def note(self, path: str, error: dict[str, Any], *, is_passing: bool) -> None:
        """An item was refused; `error` as stored_error gives it."""
        if len(self._named) < MOST_NAMED:
            self._named[path[:MAX_PATH]] = (error, is_passing)
        else:
            self._passing_more += is_passing

    def taken(self, path: str) -> bool:
        """An item that failed before was taken now; whether there was such."""
        return path[:MAX_PATH] in self._earlier

    def store(self, *, cleared: Collection[str], is_whole: bool) -> None:
        """Write what was refused; `cleared`: failed before and not now. After a whole list only its faults are left."""
        rows = ItemFault.objects.filter(source=self.source)
        (rows.exclude(external_id__in=self._named) if is_whole else rows.filter(external_id__in=cleared)).delete()
        again = set(rows.filter(external_id__in=self._named).values_list("external_id", flat=True))
        room = MOST_NAMED - rows.count()
        for path, (error, is_passing) in self._named.items():
            values = {"error": error, "is_passing": is_passing}
            if path in again:
                row = rows.get(external_id=path)
                row.tries = row.tries + 1
                row.error, row.is_passing = error, is_passing
                row.save()
            elif room > 0:
                room -= 1
                ItemFault.objects.create(source=self.source, external_id=path, **values)

    @property
    def waits(self) -> bool:
        """Whether the place of the list has to stay, so that the next run lists what was refused for a passing reason.

        Call it after `store`.
        """
        passing = [path for path, (_error, is_passing) in self._named.items() if is_passing]
        rows = ItemFault.objects.filter(source=self.source, external_id__in=passing)
        given_up = rows.filter(tries__gte=MOST_TRIES).count()
        return bool(self._passing_more) or len(passing) > given_up


def is_passing(error: Exception) -> bool:
    """Whether another try may help."""
    return isinstance(error, (TransientError, OSError))


def faults_listed(*, scope: Scope, source_id: int) -> QuerySet[ItemFault]:
    """Items that could not be taken the last time, the latest first. Raises NotFoundError, NotAllowedError."""
    source = source_managed(scope=scope, source_id=source_id)
    return ItemFault.objects.filter(source=source).order_by("-at", "pk")

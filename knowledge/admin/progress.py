"""How far an ingestion is, in words and as a bar (B7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.scope import Scope
from knowledge.models import IngestItem
from knowledge.selectors.jobs import items_progress

Stage = IngestItem.Stage
State = Literal["waiting", "working", "paused", "live", "failed", "cancelled"]

SILENT_AFTER = timedelta(minutes=5)
ORDER = [
    *(Stage.RECEIVED, Stage.PARSED, Stage.RECOGNISED, Stage.CLEANED),
    *(Stage.CHUNKED, Stage.REPRESENTED, Stage.EMBEDDED),
]
DOING = {  # by the stage that has been reached: what is being done now
    Stage.RECEIVED: gettext_lazy("Reading"),
    Stage.PARSED: gettext_lazy("Reading images (OCR)"),
    Stage.RECOGNISED: gettext_lazy("Cleaning"),
    Stage.CLEANED: gettext_lazy("Splitting into passages"),
    Stage.CHUNKED: gettext_lazy("Enriching and embedding"),
    Stage.REPRESENTED: gettext_lazy("Embedding"),
    Stage.EMBEDDED: gettext_lazy("Indexing"),
}
WORDS = {
    "waiting": gettext_lazy("Waiting"),
    "paused": gettext_lazy("Paused"),
    "live": gettext_lazy("Searchable"),
    "failed": gettext_lazy("Failed"),
    "cancelled": gettext_lazy("Cancelled"),
}
ICONS = {
    "waiting": "hourglass_empty",
    "working": "autorenew",
    "paused": "pause_circle",
    "live": "check_circle",
    "failed": "error",
    "cancelled": "cancel",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One row of the desk."""

    item: IngestItem
    state: State
    words: str
    icon: str
    share: int  # 0 to 100 of the way
    detail: str  # 12 of 40 pages
    position: int | None  # in its queue
    silent: bool  # held by a worker that has not been heard of for minutes
    put_off: datetime | None  # tried again then, after a passing fault
    stages: tuple[tuple[str, str], ...]  # from which it can be tried again: value, words


def rows_of(*, scope: Scope, items: Iterable[IngestItem]) -> list[Progress]:
    """The rows of some items, each with its place in the queue."""
    found = list(items)
    places = {one.id: one.position for one in items_progress(scope=scope, items=found)}
    return [progress_of(item, position=places.get(item.pk)) for item in found]


def progress_of(item: IngestItem, *, position: int | None = None) -> Progress:
    """The row of one item."""
    state = _state(item)
    now = timezone.now()
    working = state == "working"
    return Progress(
        item=item,
        state=state,
        words=str(DOING[Stage(item.stage)]) if working else str(WORDS[state]),
        icon=ICONS[state],
        share=_share(item, state),
        detail=_detail(item) if working else "",
        position=position if state == "waiting" else None,
        silent=working and item.heartbeat is not None and item.heartbeat < now - SILENT_AFTER,
        put_off=item.not_before if state == "waiting" and item.not_before and item.not_before > now else None,
        stages=_stages(item) if item.stage in (Stage.FAILED, Stage.CANCELLED) else (),
    )


def open_among(rows: Iterable[Progress]) -> int:
    """How many rows will change without anybody doing anything, so that a page asks often."""
    return sum(row.state in ("waiting", "working", "paused") for row in rows)


def summary_of(stages: Iterable[str]) -> str:
    """`12 live · 1 failed · 3 in work`, from the stages of all items."""
    counts = Counter(_kind(stage) for stage in stages)
    words = {
        "live": ngettext("%(count)d searchable", "%(count)d searchable", counts["live"]),
        "failed": ngettext("%(count)d failed", "%(count)d failed", counts["failed"]),
        "cancelled": ngettext("%(count)d cancelled", "%(count)d cancelled", counts["cancelled"]),
        "open": ngettext("%(count)d processing", "%(count)d processing", counts["open"]),
    }
    return " · ".join(words[kind] % {"count": counts[kind]} for kind in words if counts[kind])


def _kind(stage: str) -> str:
    return str(stage) if stage in (Stage.LIVE, Stage.FAILED, Stage.CANCELLED) else "open"


def _state(item: IngestItem) -> State:
    if item.stage == Stage.FAILED:
        return "failed"
    if item.stage == Stage.CANCELLED or (item.finished is None and item.job.cancelled is not None):
        return "cancelled"
    if item.finished is not None:
        return "live"
    if item.lease_until is not None:
        return "working"
    return "paused" if item.job.paused is not None else "waiting"


def _share(item: IngestItem, state: State) -> int:
    if state == "live":
        return 100
    if item.stage not in ORDER:
        return 0
    within = min(item.progress_done / item.progress_total, 1.0) if item.progress_total else 0.0
    return round(100 * (ORDER.index(Stage(item.stage)) + within) / len(ORDER))


def _detail(item: IngestItem) -> str:
    """How much of the stage is done."""
    if not item.progress_total:
        return ""
    numbers = {"done": item.progress_done, "total": item.progress_total}
    if item.queue == IngestItem.Queue.EMBED:
        return _("%(done)d of %(total)d passages") % numbers
    return _("%(done)d of %(total)d pages") % numbers


def _stages(item: IngestItem) -> tuple[tuple[str, str], ...]:
    """Reading anew is always possible; what comes after it only where the text that was read is kept."""
    found = ((str(Stage.RECEIVED), _("Retry from the beginning")),)
    if not item.version.parsed:
        return found
    return (*found, (str(Stage.CHUNKED), _("Retry from chunking")))

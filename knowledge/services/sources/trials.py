"""Tries a source without storing anything: what fails, and how much it would bring in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from accounts.error_messages import error_message, stored_message
from accounts.models import User
from accounts.scope import Scope
from knowledge.connector_errors import SourceUnreachableError
from knowledge.connectors import Item, Preview, connector_kinds, preview_of
from knowledge.errors import ItemUnreadableError
from knowledge.models import Source
from knowledge.queue import COUNT_SOURCE
from knowledge.selectors.sets import source_managed
from knowledge.services.documents import upload_check
from knowledge.services.sources.connectors import connector_of, listed_items
from knowledge.services.sources.ownership import owner_check
from knowledge.services.sources.permission import permission_check
from ragcore.errors import RagError, UrlUnreachableError
from work.faults import known_fault
from work.models import Job
from work.services import work_start

MOST_PREVIEWED = 100_000  # items that are counted
PREVIEW_SECONDS = 2.0  # in front of a page; a job goes on counting
STEPS = ("address", "connect", "sign_in", "list", "read")
MOST_TRIED = 200  # items that are listed until one can be read


@dataclass(frozen=True, slots=True, kw_only=True)
class TestStep:
    """One step of a test. `state`: "ok", "failed", "skipped"; `message`: why it failed, or what was read."""

    step: str
    state: str
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """How far a job has counted what would come in. `is_over`: it has ended; `fault`: why it could not list.

    `begun`, `ended`: when it was asked for, and when it ended.
    """

    preview: Preview
    is_over: bool
    fault: str = ""
    begun: datetime | None = None
    ended: datetime | None = None


# ── what will come in ───────────────────────────────────────────────────────────────────────────


def source_preview(*, scope: Scope, source_id: int) -> Preview:
    """What a source would bring in now, all of it: a count and the first items; nothing is stored.

    A list that takes longer than a moment is counted by a job (`goes_on`), see `source_counted`.
    Raises NotFoundError, NotAllowedError, SourceUnownedError, and as listed_items.
    """
    source = source_managed(scope=scope, source_id=source_id)
    owner_check(source)
    source.cursor = {}
    connector = connector_of(source) if source.kind in connector_kinds() else None
    if connector is not None and connector.is_slow_to_list():
        connector.sign_in()  # what is wrong with the address or the credentials is said at once
        preview = Preview(count=0, examples=(), unreadable=(), is_complete=False, is_cut=True)
    else:
        preview = preview_of(listed_items(source), most=MOST_PREVIEWED, seconds=PREVIEW_SECONDS)
    if not preview.is_cut:
        return preview
    author = User.objects.filter(pk=scope.user_id).first()
    work_start(
        kind=COUNT_SOURCE,
        tenant_id=source.tenant_id,
        author=author,
        subject=str(source.pk),
        arguments={"source": source.pk},
    )
    return replace(preview, goes_on=True)


def source_counted(*, scope: Scope, source_id: int) -> Counted | None:
    """What the last job of a source has counted so far; None: nothing was ever counted.

    Raises NotFoundError, NotAllowedError.
    """
    source = source_managed(scope=scope, source_id=source_id)
    rows = Job.objects.filter(kind=COUNT_SOURCE, tenant_id=source.tenant_id, subject=str(source.pk))
    job = rows.order_by("-pk").first()
    if job is None:
        return None
    values: Mapping[str, Any] = job.figures.get("preview", {})
    preview = Preview(
        count=values.get("count", 0),
        examples=tuple(values.get("examples", ())),
        unreadable=tuple(values.get("unreadable", ())),
        is_complete=bool(values.get("is_complete")),
        goes_on=job.is_open,
    )
    fault = job.figures.get("fault", {})
    words = stored_message(fault["code"], fault["message"], fault.get("data")) if fault else ""
    return Counted(preview=preview, is_over=not job.is_open, fault=words, begun=job.created, ended=job.finished)


# ── test ────────────────────────────────────────────────────────────────────────────────────────


def source_test(*, scope: Scope, source_id: int) -> list[TestStep]:
    """Whether a source can be read, step by step (STEPS): the first that fails says why, the others are skipped.

    Nothing is stored. Raises NotFoundError, NotAllowedError, SourceUnownedError.
    """
    source = source_managed(scope=scope, source_id=source_id)
    owner_check(source)
    source.cursor = {}
    passed: list[TestStep] = []
    try:
        permission_check(source)
        passed.append(TestStep(step="address", state="ok"))
        _try_reading(source, passed)
    except Exception as problem:
        error = known_fault(problem)
        if error is None:
            raise
        return _failed(passed, error)
    return passed


def _try_reading(source: Source, passed: list[TestStep]) -> None:
    connector = connector_of(source) if source.kind in connector_kinds() else None
    if connector is not None:
        connector.sign_in()
        if connector.is_slow_to_list():
            passed += [TestStep(step="connect", state="ok"), TestStep(step="sign_in", state="ok")]
            passed += [TestStep(step=step, state="skipped") for step in STEPS[3:]]
            return
    item, refusal = _first_item(source)
    passed += [TestStep(step=step, state="ok") for step in STEPS[1:3]]
    if item is None and refusal is not None:
        raise refusal
    passed.append(TestStep(step="list", state="ok", message=item.external_id if item else ""))
    if item is None:  # an empty place is no fault
        passed.append(TestStep(step="read", state="skipped"))
        return
    try:
        fetched = item.read({})
    except OSError as problem:
        raise ItemUnreadableError from problem
    if fetched is not None:
        upload_check(name=fetched.name, size_bytes=len(fetched.content))
        passed.append(TestStep(step="read", state="ok", message=f"{fetched.name}: {len(fetched.content):,} B"))


def _first_item(source: Source) -> tuple[Item | None, RagError | None]:
    """The first item that can be taken, and why an earlier one cannot."""
    refusal: RagError | None = None
    for number, listed in enumerate(listed_items(source)):
        if isinstance(listed, Item):
            return listed, refusal
        refusal = refusal or getattr(listed, "error", None)
        if number >= MOST_TRIED:
            break
    return None, refusal


def _failed(passed: list[TestStep], error: RagError) -> list[TestStep]:
    """The steps with the one that this error is about; what came before it has worked."""
    names = [step.step for step in passed]
    at = STEPS[len(names)]
    if at == "connect" and getattr(error, "reason", "") == "credentials":
        at = "sign_in"
    elif at == "connect" and not isinstance(error, (SourceUnreachableError, UrlUnreachableError)):
        at = "list"
    place = STEPS.index(at)
    return [
        *passed,
        *(TestStep(step=step, state="ok") for step in STEPS[len(names) : place]),
        TestStep(step=at, state="failed", message=error_message(error)),
        *(TestStep(step=step, state="skipped") for step in STEPS[place + 1 :]),
    ]

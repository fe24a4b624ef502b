"""From one embedding model of the site to another, and back, without a gap (decision 031).

`switch_start` registers the target; a background job makes its vectors beside those in use
(`knowledge/jobs/embed_site.py`), and questions are answered as before. `switch_finish` changes the model in one
transaction: it waits for writers, makes the few vectors that are still missing, and turns every process to the new
model by the version of the registry. Vectors of the former model are kept and kept complete, so `switch_back` is the
same transaction the other way round. Giving them up ends that; a task deletes them (`embedder_sweep`).
"""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.errors import MissingRightError, NotFoundError
from accounts.models import User
from accounts.roles import administers
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.errors import MeasuredFirstError
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.embedder_fill import coarse_behind, is_complete, missing_count
from knowledge.indexes.statements import embedder_lock_exclusive
from knowledge.model_errors import EmbedderSwitchError
from knowledge.model_registry import embedder_of, live_model
from knowledge.model_setup import hosts_allowed, registry_changed, setup_refresh
from knowledge.models import EmbedderSwitch, SearchModel
from knowledge.queue import (
    FILL_SET_VECTORS,
    FILL_VECTORS,
    REFRESH_INDEXES,
    SWEEP_VECTORS,
    enqueue_on_commit,
    switch_subject,
)
from knowledge.rights import MODELS_MANAGE
from knowledge.search_model_setup import SearchModelSpec, is_embedder_locked, spec_of
from knowledge.services.embedder_fill import few_fill
from knowledge.services.fill_jobs import fill_act, fill_begin, fill_lock
from knowledge.services.publish_gate import publish_gate
from knowledge.services.triples import vectors_make
from ragcore.ports import Embedder
from work.queue import due_enqueue

State = EmbedderSwitch.State


@transaction.atomic
def switch_start(*, scope: Scope, actor: User, target: SearchModel | None) -> EmbedderSwitch:
    """Begin to make vectors of a model beside those in use; None: of the model of the environment.

    Raises MissingRightError, EmbedderSwitchError.
    """
    _check_right(scope)
    if target is not None and target.task != SearchModel.Task.EMBED:
        raise EmbedderSwitchError("not_embedder")
    if target is not None and target.provider != SearchModel.Provider.PACKAGED and target.test_code != "ok":
        raise EmbedderSwitchError("untested")
    _refuse_locked()
    _lock()
    model = embedder_of(spec_of(target, hosts_allowed())).model
    if model == live_model():
        raise EmbedderSwitchError("in_use")
    if EmbedderSwitch.objects.filter(state__in=EmbedderSwitch.OPEN).exists():
        raise EmbedderSwitchError("open")
    if EmbedderSwitch.objects.filter(state=State.KEPT).exclude(model=model).exists():
        raise EmbedderSwitchError("former_kept")
    EmbedderSwitch.objects.filter(state=State.KEPT, model=model).update(state=State.DROPPED)  # its vectors are used on
    missing, total = missing_count(model=model)
    try:
        with transaction.atomic():
            row = EmbedderSwitch.objects.create(target=target, model=model, author=actor)
    except IntegrityError as error:  # another first start at the same time: there was no row to lock
        raise EmbedderSwitchError("open") from error
    audit_record(actor=actor, action="embedder.start", target=model, former=live_model(), passages=missing)
    fill_begin(FILL_VECTORS, switch_subject(row.pk), done=total - missing, total=total)
    return row


@transaction.atomic
def switch_pause(*, scope: Scope, actor: User, switch_id: int) -> EmbedderSwitch:
    """Make no more vectors until it is resumed. Raises MissingRightError, NotFoundError, EmbedderSwitchError."""
    row = _locked(scope, switch_id, State.BUILDING)
    _put(row, State.PAUSED, actor, "embedder.pause")
    fill_act(FILL_VECTORS, switch_subject(row.pk), "pause")
    return row


@transaction.atomic
def switch_resume(*, scope: Scope, actor: User, switch_id: int) -> EmbedderSwitch:
    """Go on where it was paused. Raises MissingRightError, NotFoundError, EmbedderSwitchError."""
    row = _locked(scope, switch_id, State.PAUSED)
    _put(row, State.BUILDING, actor, "embedder.resume")
    fill_act(FILL_VECTORS, switch_subject(row.pk), "resume")
    return row


@transaction.atomic
def switch_cancel(*, scope: Scope, actor: User, switch_id: int) -> EmbedderSwitch:
    """Give a switch up; a task deletes its vectors. Raises MissingRightError, NotFoundError, EmbedderSwitchError."""
    row = _locked(scope, switch_id, *EmbedderSwitch.OPEN)
    _put(row, State.CANCELLED, actor, "embedder.cancel")
    fill_act(FILL_VECTORS, switch_subject(row.pk), "cancel")
    enqueue_on_commit(SWEEP_VECTORS, model=row.model)
    return row


def embedder_publish(*, scope: Scope, actor: User, switch_id: int) -> EmbedderSwitch:
    """Switch to a model that is ready. Where golden sets guard knowledge sets, these are asked with both models first.

    Raises what `switch_finish` raises, and MeasuredFirstError with a change that is being measured or not decided yet.
    """
    row, gate = _get(scope, switch_id), publish_gate()
    if gate is not None and row.state == State.READY:
        change = gate.hold_embedder(actor=actor, switch=row)
        if change is not None:
            raise MeasuredFirstError(change=change)
    return switch_finish(scope=scope, actor=actor, switch_id=switch_id)


def switch_finish(*, scope: Scope, actor: User, switch_id: int, reason: str = "") -> EmbedderSwitch:
    """Answer questions by the new model from now on; the former one is kept for going back.

    Call outside of transactions. `reason`: why, against what was measured. Raises MissingRightError, NotFoundError,
    EmbedderSwitchError.
    """
    row = switch_check(scope=scope, switch_id=switch_id)
    return _turned(row, actor=actor, action="embedder.switch", reason=reason)


def switch_check(*, scope: Scope, switch_id: int) -> EmbedderSwitch:
    """A switch that `switch_finish` can finish. Raises MissingRightError, NotFoundError, EmbedderSwitchError."""
    row = _get(scope, switch_id)
    _refuse_locked()
    if row.state != State.READY:
        raise EmbedderSwitchError(row.state if row.state in EmbedderSwitchError.reasons else "not_ready")
    return row


def switch_back(*, scope: Scope, actor: User) -> EmbedderSwitch:
    """Answer questions by the former model again; the one in use until now is kept in its place.

    Raises MissingRightError, EmbedderSwitchError where none is kept.
    """
    _check_right(scope)
    _refuse_locked()
    row = EmbedderSwitch.objects.filter(state=State.KEPT).select_related("target").first()
    if row is None:
        raise EmbedderSwitchError("none_kept")
    return _turned(row, actor=actor, action="embedder.back")


@transaction.atomic
def former_drop(*, scope: Scope, actor: User) -> None:
    """Give up the vectors of the former model: there is no way back without making them again. A task deletes them.

    Raises MissingRightError, EmbedderSwitchError where none is kept.
    """
    _check_right(scope)
    for former in EmbedderSwitch.objects.filter(state=State.KEPT):
        fill_lock(FILL_VECTORS, switch_subject(former.pk))
    _lock()
    row = EmbedderSwitch.objects.filter(state=State.KEPT).first()
    if row is None:
        raise EmbedderSwitchError("none_kept")
    enqueue_on_commit(SWEEP_VECTORS, model=row.model)
    _put(row, State.DROPPED, actor, "embedder.drop")
    fill_act(FILL_VECTORS, switch_subject(row.pk), "cancel")


# ── the transaction ─────────────────────────────────────────────────────────────────────────────


def _turned(row: EmbedderSwitch, *, actor: User, action: str, reason: str = "") -> EmbedderSwitch:
    """Make what is missing, then turn. Raises EmbedderSwitchError where too much is missing."""
    spec = spec_of(row.target, hosts_allowed())
    embedder = embedder_of(spec)
    if embedder.model != row.model:
        raise EmbedderSwitchError("other_model")
    _few_fill(embedder, spec)
    with transaction.atomic():
        embedder_lock_exclusive()
        _few_fill(embedder, spec)
        vectors_make(embedder=embedder)
        if not is_complete(model=row.model):
            raise EmbedderSwitchError("incomplete")
        former = live_model()
        live = EmbedderSwitch.objects.filter(state=State.LIVE).first()
        rows = EmbedderSwitch.objects.select_for_update()
        if rows.get(pk=row.pk).state not in (State.READY, State.KEPT):
            raise EmbedderSwitchError("not_ready")
        rows.filter(pk=row.pk).update(state=State.READY)  # of each state there is one
        rows.filter(state=State.KEPT).update(state=State.DROPPED)
        if live is None:
            EmbedderSwitch.objects.create(target=None, model=former, state=State.KEPT, author=None)
        else:
            rows.filter(pk=live.pk).update(state=State.KEPT)
        rows.filter(pk=row.pk).update(state=State.LIVE, live_since=timezone.now(), reason=reason[:512])
        for tenant in coarse_behind(model=row.model):
            epoch_advance(tenant_id=tenant)
        registry_changed()
        enqueue_on_commit(REFRESH_INDEXES)
        due_enqueue(FILL_SET_VECTORS)  # measures the models of sets against the new one
        note = {"reason": reason} if reason else {}
        audit_record(actor=actor, action=action, target=row.model, former=former, **note)
    row.refresh_from_db()
    return row


def _few_fill(embedder: Embedder, spec: SearchModelSpec) -> None:
    """Raises EmbedderSwitchError where somebody has given the model up meanwhile."""
    if not few_fill(embedder, spec):
        raise EmbedderSwitchError("changed")


# ── rows ────────────────────────────────────────────────────────────────────────────────────────


def _put(row: EmbedderSwitch, state: State, actor: User, action: str) -> None:
    row.state = state
    row.save(update_fields=["state"])
    audit_record(actor=actor, action=action, target=row.model)


def _locked(scope: Scope, switch_id: int, *states: State) -> EmbedderSwitch:
    _check_right(scope)
    fill_lock(FILL_VECTORS, switch_subject(switch_id))
    _lock()
    row = _get(scope, switch_id)
    if row.state not in states:
        raise EmbedderSwitchError("changed")
    return row


def _get(scope: Scope, switch_id: int) -> EmbedderSwitch:
    _check_right(scope)
    row = EmbedderSwitch.objects.filter(pk=switch_id).select_related("target").first()
    if row is None:
        raise NotFoundError("embedder_switch", switch=switch_id)
    return row


def _lock() -> None:
    """One change of these rows at a time."""
    setup_refresh(now=True)
    list(EmbedderSwitch.objects.select_for_update().order_by("pk").values_list("pk", flat=True))


def _refuse_locked() -> None:
    setup_refresh(now=True)
    if is_embedder_locked():
        raise EmbedderSwitchError("locked")


def _check_right(scope: Scope) -> None:
    if not administers(scope=scope, doing=MODELS_MANAGE):
        raise MissingRightError

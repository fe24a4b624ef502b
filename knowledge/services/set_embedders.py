"""An embedding model of a set: starting it, switching it on and off, and deleting its vectors (decision 041).

Background work makes the vectors (`knowledge/jobs/embed_set.py`). Switching on, off and back is one transaction each,
because vectors are kept and kept complete until they are deleted. Whether the model is better was measured before
(`evaluation.services.training_publishing`).
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.set_vectors_fill import set_missing_count
from knowledge.model_registry import embedder_of, live_model
from knowledge.model_setup import hosts_allowed, setup_refresh
from knowledge.models import KnowledgeSet, SearchModel, SetEmbedder
from knowledge.queue import FILL_SET_VECTORS, SWEEP_SET_VECTORS, enqueue_on_commit, set_embedder_subject
from knowledge.search_model_setup import spec_of
from knowledge.selectors import set_owned
from knowledge.selectors.set_embedders import set_embedder_get
from knowledge.services.fill_jobs import fill_act, fill_begin, fill_lock
from knowledge.vector_errors import SetEmbedderError

State = SetEmbedder.State


@transaction.atomic
def set_embedder_start(*, scope: Scope, actor: User, set_id: int, target_id: int, mode: str) -> SetEmbedder:
    """Begin to make vectors of a set's passages by a model that platform administrators have registered.

    Raises NotFoundError, NotAllowedError, SetEmbedderError.
    """
    home = _locked_set(scope, set_id)
    target = SearchModel.objects.filter(pk=target_id, task=SearchModel.Task.EMBED).first()
    if target is None:
        raise NotFoundError("search_model", model=target_id)
    if target.provider != SearchModel.Provider.PACKAGED and target.test_code != "ok":
        raise SetEmbedderError("untested")
    model = _model_of(target)
    of_set = SetEmbedder.objects.filter(knowledge_set=home)
    if of_set.filter(state__in=SetEmbedder.OPEN).exists():
        raise SetEmbedderError("open")
    if of_set.filter(state__in=(State.LIVE, State.OFF), model=model, mode=mode).exists():
        raise SetEmbedderError("kept")
    missing, total = set_missing_count(set_id=home.pk, model=model)
    row = SetEmbedder.objects.create(
        tenant_id=home.tenant_id,
        knowledge_set=home,
        target=target,
        model=model,
        number=(of_set.aggregate(last=Max("number"))["last"] or 0) + 1,
        mode=SetEmbedder.Mode(mode),
        author=actor,
    )
    audit_record(actor=actor, action="set_embedder.start", target=home.code, model=model, mode=mode, passages=missing)
    fill_begin(FILL_SET_VECTORS, set_embedder_subject(row.pk), done=total - missing, total=total)
    return row


@transaction.atomic
def set_embedder_pause(*, scope: Scope, actor: User, embedder_id: int) -> SetEmbedder:
    """Make no more vectors until it is resumed. Raises NotFoundError, NotAllowedError, SetEmbedderError."""
    row = _locked(scope, embedder_id, State.BUILDING)
    _put(row, State.PAUSED, actor, "set_embedder.pause")
    fill_act(FILL_SET_VECTORS, set_embedder_subject(row.pk), "pause")
    return row


@transaction.atomic
def set_embedder_resume(*, scope: Scope, actor: User, embedder_id: int) -> SetEmbedder:
    """Go on where it was paused. Raises NotFoundError, NotAllowedError, SetEmbedderError."""
    row = _locked(scope, embedder_id, State.PAUSED)
    _put(row, State.BUILDING, actor, "set_embedder.resume")
    fill_act(FILL_SET_VECTORS, set_embedder_subject(row.pk), "resume")
    return row


@transaction.atomic
def set_embedder_cancel(*, scope: Scope, actor: User, embedder_id: int) -> SetEmbedder:
    """Give a model up that was never in use; a task deletes its vectors.

    Raises NotFoundError, NotAllowedError, SetEmbedderError.
    """
    row = _locked(scope, embedder_id, *SetEmbedder.OPEN)
    _put(row, State.CANCELLED, actor, "set_embedder.cancel")
    fill_act(FILL_SET_VECTORS, set_embedder_subject(row.pk), "cancel")
    enqueue_on_commit(SWEEP_SET_VECTORS, tenant_id=row.tenant_id, model=row.model)
    return row


@transaction.atomic
def set_embedder_drop(*, scope: Scope, actor: User, embedder_id: int) -> SetEmbedder:
    """Give up the vectors of a model that is switched off: there is no way back without making them again.

    A task deletes them; those that another set needs stay. Raises NotFoundError, NotAllowedError, SetEmbedderError.
    """
    row = _locked(scope, embedder_id, State.OFF)
    enqueue_on_commit(SWEEP_SET_VECTORS, tenant_id=row.tenant_id, model=row.model)
    _put(row, State.DROPPED, actor, "set_embedder.drop")
    fill_act(FILL_SET_VECTORS, set_embedder_subject(row.pk), "cancel")
    return row


def set_embedder_check(*, row: SetEmbedder) -> None:
    """Raises SetEmbedderError where `set_embedder_switch_on` would."""
    if row.state == State.LIVE:
        raise SetEmbedderError("in_use")
    if row.state not in SetEmbedder.COMPLETE:
        raise SetEmbedderError("not_ready")
    if row.model == live_model():
        raise SetEmbedderError("site_model")
    if _model_of(row.target) != row.model:
        raise SetEmbedderError("other_model")
    if live_model() not in row.figures.get("scales", {}):
        raise SetEmbedderError("no_scale")


@transaction.atomic
def set_embedder_switch_on(*, scope: Scope, actor: User, embedder_id: int, reason: str = "") -> SetEmbedder:
    """Compare questions with the set's passages by this model from now on; the one that was in use is kept.

    Passages that have no vector yet count by the site's model. `reason`: why, against what was measured.
    Raises NotFoundError, NotAllowedError, SetEmbedderError.
    """
    row = _locked(scope, embedder_id)
    set_embedder_check(row=row)
    rows = SetEmbedder.objects.filter(knowledge_set=row.knowledge_set_id)
    rows.filter(state=State.LIVE).update(state=State.OFF)
    rows.filter(pk=row.pk).update(state=State.LIVE, live_since=timezone.now(), reason=reason[:512])
    return _switched(row, actor, "set_embedder.switch_on", reason)


@transaction.atomic
def set_embedder_switch_off(*, scope: Scope, actor: User, embedder_id: int) -> SetEmbedder:
    """Compare questions by the site's model alone again; the vectors are kept, and kept complete.

    Raises NotFoundError, NotAllowedError, SetEmbedderError.
    """
    row = _locked(scope, embedder_id, State.LIVE)
    SetEmbedder.objects.filter(pk=row.pk).update(state=State.OFF)
    return _switched(row, actor, "set_embedder.switch_off", "")


# ── rows ────────────────────────────────────────────────────────────────────────────────────────


def _switched(row: SetEmbedder, actor: User, action: str, reason: str) -> SetEmbedder:
    epoch_advance(tenant_id=row.tenant_id, sets=[row.knowledge_set_id])
    note = {"reason": reason} if reason else {}
    audit_record(actor=actor, action=action, target=row.knowledge_set.code, model=row.model, version=row.number, **note)
    row.refresh_from_db()
    return row


def _put(row: SetEmbedder, state: State, actor: User, action: str) -> None:
    row.state = state
    row.save(update_fields=["state"])
    audit_record(actor=actor, action=action, target=row.knowledge_set.code, model=row.model, version=row.number)


def _locked(scope: Scope, embedder_id: int, *states: State) -> SetEmbedder:
    """The row as it is now, with nobody else switching the models of its set."""
    set_id = set_embedder_get(scope=scope, embedder_id=embedder_id).knowledge_set_id
    fill_lock(FILL_SET_VECTORS, set_embedder_subject(embedder_id))
    _locked_set(scope, set_id)
    row = set_embedder_get(scope=scope, embedder_id=embedder_id)
    if states and row.state not in states:
        raise SetEmbedderError("changed")
    return row


def _locked_set(scope: Scope, set_id: int) -> KnowledgeSet:
    setup_refresh(now=True)
    set_owned(scope=scope, set_id=set_id)
    return KnowledgeSet.objects.select_for_update(of=("self",), no_key=True).get(pk=set_id)


def _model_of(target: SearchModel) -> str:
    """The name of its vectors. Raises SetEmbedderError where the site uses the same model."""
    model = embedder_of(spec_of(target, hosts_allowed())).model
    if model == live_model():
        raise SetEmbedderError("site_model")
    return model

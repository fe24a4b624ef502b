"""The gate before publishing: a draft is measured against what is live on the golden sets that guard it.

What can be guarded is a kind of `evaluation.services.gated_kinds`. A draft is asked with the rights of who wants to
publish it; where that person may not ask the set, with those of an owner of the set, who can read its documents.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_noop

from accounts.audit.events import event_add
from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from evaluation.errors import ChangeNotDecidableError
from evaluation.models import EvaluationRun, GatedChange, GoldenSet
from evaluation.selectors import golden_sets_about, golden_sets_listed
from evaluation.services.gated_kinds import KINDS, asked_options, changes_together, live_sha256
from evaluation.services.runs.comparison import (
    Comparison,
    GateVerdict,
    comparison_of,
    configuration_failures,
    configuration_means,
    gate_judge,
)
from evaluation.services.runs.lifecycle import run_cancel, run_start
from evaluation.services.runs.plans import ConfigurationPlan
from knowledge.errors import MeasuredFirstError
from knowledge.models import KnowledgeSet, QueryAdapter, SetEmbedder
from knowledge.selectors import set_owned, sets_managed, sets_readable
from knowledge.services.options import Given
from knowledge.versions.query_adapters import QueryAdapters
from notifications.kinds import notification_kind
from notifications.services import notification_send
from work.versions import version_gate

logger = logging.getLogger(__name__)

CHANGE_PASSED = notification_kind(
    "change_passed",
    gettext_noop("A change that concerns “%(set)s” was measured and has passed. It waits for your decision."),
)
CHANGE_FAILED = notification_kind(
    "change_failed",
    gettext_noop("A change that concerns “%(set)s” was measured and has not passed. It waits for your decision."),
)
LIVE = "live"  # name of the configuration
State, Kind = GatedChange.State, GatedChange.Kind
OPEN = (State.MEASURING, State.PASSED, State.FAILED)


def guarding_sets(*, knowledge_set: KnowledgeSet) -> QuerySet[GoldenSet]:
    """Golden sets with cases that ask this knowledge set alone, speak for it, and guard it."""
    rows = golden_sets_about(knowledge_set=knowledge_set).filter(guards=True)
    alone = GoldenSet.objects.annotate(asked=Count("sets", distinct=True)).filter(asked=1).values("pk")
    return rows.filter(pk__in=alone, cases__isnull=False).distinct().order_by("name")


def change_hold(
    *,
    actor: User | None,
    knowledge_set: KnowledgeSet,
    kind: str,
    payload: Mapping[str, Any],
    note: str = "",
) -> GatedChange | None:
    """Measure a change before it is published; None where nothing guards the set.

    An earlier change of this kind that is still open is discarded.
    """
    golden_sets = list(guarding_sets(knowledge_set=knowledge_set))
    if not golden_sets:
        return None
    for earlier in GatedChange.objects.filter(knowledge_set=knowledge_set, kind=kind, state__in=OPEN):
        change_discard(change=earlier, actor=actor)
    with transaction.atomic():
        change = GatedChange.objects.create(
            knowledge_set=knowledge_set,
            kind=kind,
            payload=dict(payload),
            base_sha256=live_sha256(knowledge_set),
            note=note,
            requested_by=actor,
        )
        change_measure(change=change, golden_sets=golden_sets, actor=actor)
        _audit(change, actor, "change.measure")
    return change_settle(change=change)  # at once, where there is nobody to ask for


def change_of_options(
    *,
    actor: User,
    knowledge_set: KnowledgeSet,
    options: Given,
    replaces: bool,
    note: str,
    origin: Mapping[str, int] | None = None,
) -> GatedChange | None:
    """Measure options before they are published; None where nothing guards the set, or nothing can be measured.

    `origin`: {"draft": of a case} or {"experiment"}, which is then published with them. Raises InvalidOptionsError.
    """
    if not asked_options(knowledge_set, options=options, replaces=replaces):
        return None
    payload: dict[str, Any] = {
        "options": {code: dict(values) for code, values in options.items()},
        "replaces": replaces,
        **(origin or {}),
    }
    return change_hold(actor=actor, knowledge_set=knowledge_set, kind=Kind.SET_OPTIONS, payload=payload, note=note)


@version_gate(QueryAdapters.name)
def adapter_gate(adapter: QueryAdapter, actor: User) -> None:
    """Raises MeasuredFirstError where golden sets guard the set: they are asked with and without the version."""
    payload = {"adapter": adapter.pk, "number": adapter.number}
    change = change_hold(actor=actor, knowledge_set=adapter.knowledge_set, kind=Kind.QUERY_ADAPTER, payload=payload)
    if change is not None:
        raise MeasuredFirstError(change=change.pk)


def change_of_set_embedder(*, actor: User, embedder: SetEmbedder, note: str = "") -> GatedChange | None:
    """Measure an embedding model of a set before it is switched on; None where nothing guards the set."""
    payload = {"embedder": embedder.pk, "number": embedder.number}
    home = embedder.knowledge_set
    return change_hold(actor=actor, knowledge_set=home, kind=Kind.SET_EMBEDDER, payload=payload, note=note)


def raise_if_guarded(
    *, actor: User, knowledge_set: KnowledgeSet, options: Given, note: str, origin: Mapping[str, int]
) -> None:
    """Measure options that another service is about to publish. Call it outside of a transaction.

    Raises MeasuredFirstError where a golden set guards the knowledge set, InvalidOptionsError.
    """
    change = change_of_options(
        actor=actor, knowledge_set=knowledge_set, options=options, replaces=False, note=note, origin=origin
    )
    if change is not None:
        raise MeasuredFirstError(change=change.pk)


def raise_if_texts_guarded(
    *, actor: User, knowledge_set: KnowledgeSet, texts: Mapping[str, str], note: str, origin: Mapping[str, int]
) -> None:
    """Measure texts of prompts that another service is about to publish. Call it outside of a transaction.

    `origin`: {"draft": of a case}, which is then published with them. Raises MeasuredFirstError where a golden set
    guards the knowledge set.
    """
    payload = {"texts": dict(texts), **origin}
    change = change_hold(actor=actor, knowledge_set=knowledge_set, kind=Kind.SET_TEXTS, payload=payload, note=note)
    if change is not None:
        raise MeasuredFirstError(change=change.pk)


def asker_of(*, actor: User | None, knowledge_set: KnowledgeSet) -> User | None:
    """With whose rights a change of a set is measured: of the actor where they may ask it, or of an owner, or of an
    administrator of its tenant. Who may not ask it would find nothing, with and without the change.
    """
    if actor is not None and actor.tenant_id == knowledge_set.tenant_id and _may_ask(actor, knowledge_set):
        return actor
    people = User.objects.filter(tenant_id=knowledge_set.tenant_id, is_active=True, is_service=False).order_by("pk")
    owner = people.filter(owned_sets=knowledge_set).first()
    if owner is not None:
        return owner
    staff = people.filter(is_staff=True)
    administrators = (person for person in staff if scope_for(person).administers != "nothing")
    return next((person for person in administrators if _may_ask(person, knowledge_set)), None)


def _may_ask(user: User, knowledge_set: KnowledgeSet) -> bool:
    return sets_readable(scope=scope_for(user)).filter(pk=knowledge_set.pk).exists()


def change_measure(*, change: GatedChange, golden_sets: Sequence[GoldenSet], actor: User | None) -> None:
    """Start the runs of a change: what is live against the draft. Without anybody to ask for there are none."""
    asker = asker_of(actor=actor, knowledge_set=change.knowledge_set)
    if asker is None:
        return
    plans = [ConfigurationPlan(name=LIVE), KINDS[change.kind].draft(change)]
    for golden_set in golden_sets:
        run = run_start(
            scope=scope_for(asker), user=asker, golden_set=golden_set, configurations=plans, actor=actor or asker
        )
        change.runs.add(run)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """The verdict of one golden set; None while its run is going on."""

    run: EvaluationRun
    comparison: Comparison | None
    verdict: GateVerdict | None


def change_results(*, change: GatedChange) -> list[GateResult]:
    """What the golden sets say of a change."""
    return [run_judge(run) for run in change.runs.select_related("golden_set", "version").order_by("pk")]


def run_judge(run: EvaluationRun) -> GateResult:
    """The verdict on the second configuration of a run against its first."""
    pair = list(run.configurations.all()[:2])
    if run.state != EvaluationRun.State.DONE or len(pair) < 2:
        return GateResult(run=run, comparison=None, verdict=None)
    live, draft = pair
    comparison = comparison_of(live, draft)
    verdict = gate_judge(
        means=configuration_means(draft),
        floors=run.golden_set.floors,
        comparison=comparison,
        failures=[configuration_failures(configuration) for configuration in (live, draft)],
    )
    return GateResult(run=run, comparison=comparison, verdict=verdict)


def change_settle(*, change: GatedChange) -> GatedChange:
    """Passed or not, once all runs are over; a run that was cancelled or has failed does not pass."""
    if change.state != State.MEASURING:
        return change
    runs = list(change.runs.all())
    if any(run.is_open for run in runs):
        return change
    results = change_results(change=change)
    passed = bool(results) and all(result.verdict is not None and result.verdict.has_passed for result in results)
    state = State.PASSED if passed else State.FAILED
    with transaction.atomic():
        _locked(change)  # of the changes of one act that are settled at once, one is the last
        if GatedChange.objects.filter(pk=change.pk, state=State.MEASURING).update(state=state):
            _tell(change, CHANGE_PASSED if passed else CHANGE_FAILED)
    change.refresh_from_db()
    return change


def changes_settle(*, run_id: int) -> None:
    """Settle the changes that a run measures, now that it is over. Safe to run twice, and whoever runs it."""
    measuring = GatedChange.objects.filter(state=State.MEASURING, runs=run_id)
    for change in measuring.select_related("knowledge_set", "requested_by").order_by("pk"):
        try:
            change_settle(change=change)
        except Exception:  # the run is over all the same; who looks at the change settles it
            logger.exception("change %s could not be settled", change.pk)


def _tell(change: GatedChange, kind: str) -> None:
    """Who asked for the change hears when all that is one act with it is measured; the owners of a set hear of their
    part of such an act at once: it is not published without them.
    """
    together = changes_together(change)
    people = list(change.knowledge_set.owners.all()) if together.exists() else []
    if change.requested_by is not None and not together.filter(state=State.MEASURING).exists():
        people.append(change.requested_by)
    notification_send(
        recipients=people,
        kind=kind,
        data=change.knowledge_set.told_names,
        link=reverse("admin:evaluation_gatedchange_change", args=[change.pk]),
    )


def change_publish(*, scope: Scope, actor: User, change: GatedChange, reason: str = "") -> GatedChange:
    """Publish what has passed; with a reason also what has not.

    Call outside of transactions. Raises ChangeNotDecidableError where it is not measured yet, or over, or out of date,
    or lacks a reason; NotFoundError, NotAllowedError and what publishing raises: then it is open as before.
    """
    set_owned(scope=scope, set_id=change.knowledge_set_id)
    change = change_settle(change=change)
    with transaction.atomic():
        row = _locked(change)
        if row.state == State.MEASURING:
            raise ChangeNotDecidableError("measuring")
        if not row.is_open:
            raise ChangeNotDecidableError("over")
        if row.state == State.FAILED and not reason.strip():
            raise ChangeNotDecidableError("reason")
        if live_sha256(row.knowledge_set) != row.base_sha256:
            raise ChangeNotDecidableError("stale")
        before, is_override = row.state, row.state == State.FAILED
        row.reason = reason.strip() if is_override else ""
        remainder = KINDS[row.kind].publish(row, scope=scope, actor=actor)
        _decide(row, actor, State.OVERRIDDEN if is_override else State.PUBLISHED, reason.strip() if is_override else "")
        record = partial(_audit, row, actor, "change.override" if is_override else "change.publish", reason=row.reason)
        if remainder is None:
            record()
        else:
            transaction.on_commit(partial(_finish, row, remainder, record, before=before))
    return row


def _locked(change: GatedChange) -> GatedChange:
    """The change as it is now, locked with its set and with all changes that are one act with it.

    So of two people who publish the last two of an act at the same moment, the second one sees that it is the last.
    """
    act = Q(pk=change.pk) | Q(pk__in=changes_together(change).values("pk"))
    list(GatedChange.objects.select_for_update().filter(act).order_by("pk").values_list("pk", flat=True))
    rows = GatedChange.objects.select_for_update(of=("self", "knowledge_set")).select_related("knowledge_set")
    return rows.get(pk=change.pk)


def _finish(row: GatedChange, remainder: Callable[[], object], record: Callable[[], None], *, before: str) -> None:
    """Do what is left of an act, and record it. Where it fails, the change is open again. Raises what it raises.

    Where the process dies meanwhile the change stays published: who starts the act again is not held by it any more.
    """
    try:
        remainder()
    except Exception:
        published = GatedChange.objects.filter(pk=row.pk, state=row.state)
        published.update(state=before, reason="", decided_by=None, decided=None)
        raise
    record()


def change_discard(*, change: GatedChange, actor: User | None) -> GatedChange:
    """Give a draft up, and with it what is one act with it; the runs end. Raises ChangeNotDecidableError where it is
    over.
    """
    with transaction.atomic():
        row = _locked(change)
        if not row.is_open:
            raise ChangeNotDecidableError("over")
        together = changes_together(row).filter(state__in=OPEN).select_related("knowledge_set")
        for discarded in (row, *together.order_by("pk")):
            _runs_end(discarded, actor)
            _decide(discarded, actor, State.DISCARDED, "")
            _audit(discarded, actor, "change.discard")
        KINDS[row.kind].discard(row)
    return row


def _runs_end(change: GatedChange, actor: User | None) -> None:
    for run in change.runs.filter(state__in=(EvaluationRun.State.RUNNING, EvaluationRun.State.PAUSED)):
        if (by := actor or run.requested_by) is not None:  # without anybody to ask for a run ends by itself
            run_cancel(run=run, actor=by)


def _decide(row: GatedChange, actor: User | None, state: str, reason: str) -> None:
    row.state, row.reason, row.decided_by, row.decided = state, reason[:500], actor, timezone.now()
    row.save(update_fields=["state", "reason", "decided_by", "decided"])


def _audit(row: GatedChange, actor: User | None, action: str, **data: str) -> None:
    """In the log of the actor's tenant; what happened without anybody, in that of the set."""
    home = row.knowledge_set.tenant_id if actor is None else None
    event_add(
        actor=actor,
        tenant_id=home,
        action=action,
        target=row.knowledge_set.code,
        data={"change": row.pk, "kind": row.kind, **data},
    )


def changes_shown(*, scope: Scope) -> QuerySet[GatedChange]:
    """Changes of sets that the asker keeps, and those whose golden sets they see; newest first."""
    runs = EvaluationRun.objects.filter(golden_set__in=golden_sets_listed(scope=scope)).order_by().values("pk")
    sets = sets_managed(scope=scope).order_by().values("pk")
    rows = GatedChange.objects.filter(Q(runs__in=runs) | Q(knowledge_set__in=sets)).distinct()
    return rows.select_related("knowledge_set", "requested_by")

"""The gate before publishing: a draft is measured against what is live on the golden sets that guard it (D34, B8).

What can be guarded is a `GatedKind`: how its draft is asked, what of it is live, and how it is published. Options of a
knowledge set are the first kind; a lexicon, prompts, a reranker or an embedder become one with an entry in `KINDS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from django.db import transaction
from django.db.models import Count, QuerySet
from django.utils import timezone

from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from accounts.services import audit_record
from evaluation.errors import ChangeNotDecidableError
from evaluation.models import EvaluationRun, GatedChange, GoldenSet
from evaluation.selectors import golden_sets_listed
from evaluation.services.comparison import (
    Comparison,
    GateVerdict,
    configuration_means,
    configurations_compare,
    gate_judge,
)
from evaluation.services.runs import ConfigurationPlan, run_cancel, run_start
from knowledge.errors import MeasuredFirstError
from knowledge.models import KnowledgeSet, QueryAdapter
from knowledge.selectors import set_owned
from knowledge.selectors.options import QUERY_GROUPS
from knowledge.services.option_gate import GateNotice
from knowledge.services.options import ChangeNote, Given, options_merge, set_options_update
from knowledge.services.query_adapters import adapter_switch_on
from ragcore.options import options_sha256

LIVE, DRAFT = "live", "draft"
State = GatedChange.State


class GatedKind(Protocol):
    """One kind of change that is measured before it is published."""

    def draft(self, change: GatedChange) -> ConfigurationPlan:
        """How the draft is asked."""
        ...

    def live_sha256(self, change: GatedChange) -> str:
        """A fingerprint of what is live; when it is another one the measurement is out of date."""
        ...

    def publish(self, change: GatedChange, *, scope: Scope, actor: User) -> None:
        """Make it live. Raises what the service of its kind raises."""
        ...


class SetOptionsKind:
    """Options of a knowledge set; `payload`: {"options", "replaces"}."""

    def draft(self, change: GatedChange) -> ConfigurationPlan:
        return ConfigurationPlan(name=DRAFT, options=asked_options(change.knowledge_set, **change.payload))

    def live_sha256(self, change: GatedChange) -> str:
        return _fingerprint(change.knowledge_set.options)

    def publish(self, change: GatedChange, *, scope: Scope, actor: User) -> None:
        set_options_update(
            scope=scope,
            actor=actor,
            set_id=change.knowledge_set_id,
            options=change.payload["options"],
            replaces=change.payload["replaces"],
            why=ChangeNote(note=change.note, is_measured=True),
        )


class QueryAdapterKind:
    """Fitted query vectors of a knowledge set; `payload`: {"adapter", "number"}."""

    def draft(self, change: GatedChange) -> ConfigurationPlan:
        return ConfigurationPlan(name=DRAFT, options={"retrieval": {"query_adapter": change.payload["number"]}})

    def live_sha256(self, change: GatedChange) -> str:
        return adapter_sha256(change.knowledge_set)

    def publish(self, change: GatedChange, *, scope: Scope, actor: User) -> None:
        adapter_switch_on(scope=scope, actor=actor, adapter_id=change.payload["adapter"], reason=change.note)


def adapter_sha256(knowledge_set: KnowledgeSet) -> str:
    """A fingerprint of the query vectors in use, and of the settings that questions are asked with."""
    rows = QueryAdapter.objects.filter(knowledge_set=knowledge_set, state=QueryAdapter.State.LIVE)
    live = rows.values_list("number", flat=True).first() or 0
    return _fingerprint({**knowledge_set.options, "query_adapter": {"number": live}})


KINDS: Mapping[str, GatedKind] = {
    GatedChange.Kind.SET_OPTIONS: SetOptionsKind(),
    GatedChange.Kind.QUERY_ADAPTER: QueryAdapterKind(),
}


@dataclass(frozen=True, slots=True)
class _Options:
    options: Mapping[str, Any]


def _fingerprint(options: Given) -> str:
    return options_sha256(_Options(dict(options)))


def asked_options(row: KnowledgeSet, *, options: Given, replaces: bool) -> dict[str, dict[str, Any]]:
    """What of the options shapes answers and would change; None takes a value back. Empty: nothing to measure.

    How documents are read and chunked shows only after they have been re-processed, so it cannot be measured before.
    """
    before = row.options
    after = options_merge({} if replaces else before, options, layer=f"set {row.code}")
    changed: dict[str, dict[str, Any]] = {}
    for code in QUERY_GROUPS:
        old, new = before.get(code, {}), after.get(code, {})
        names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
        if names:
            changed[code] = {name: new.get(name) for name in names}
    return changed


def guarding_sets(*, knowledge_set: KnowledgeSet) -> QuerySet[GoldenSet]:
    """Golden sets with cases that ask this knowledge set alone and guard it."""
    rows = GoldenSet.objects.filter(tenant_id=knowledge_set.tenant_id, guards=True, sets=knowledge_set)
    alone = GoldenSet.objects.annotate(asked=Count("sets", distinct=True)).filter(asked=1).values("pk")
    return rows.filter(pk__in=alone, cases__isnull=False).distinct().order_by("name")


def change_of_options(
    *, actor: User, knowledge_set: KnowledgeSet, options: Given, replaces: bool, note: str
) -> GatedChange | None:
    """Measure a draft of options before it is published; None where nothing guards it, or nothing can be measured.

    An earlier draft of the set that is still open is discarded. Raises InvalidOptionsError.
    """
    golden_sets = list(guarding_sets(knowledge_set=knowledge_set))
    if not golden_sets or not asked_options(knowledge_set, options=options, replaces=replaces):
        return None
    kind = GatedChange.Kind.SET_OPTIONS
    for earlier in GatedChange.objects.filter(knowledge_set=knowledge_set, state__in=OPEN, kind=kind):
        change_discard(change=earlier, actor=actor)
    plain = {code: dict(values) for code, values in options.items()}
    with transaction.atomic():
        change = GatedChange.objects.create(
            knowledge_set=knowledge_set,
            payload={"options": plain, "replaces": replaces},
            base_sha256=_fingerprint(knowledge_set.options),
            note=note,
            requested_by=actor,
        )
        change_measure(change=change, golden_sets=golden_sets, actor=actor)
        audit_record(actor=actor, action="change.measure", target=knowledge_set.code, change=change.pk)
    return change


def change_of_adapter(*, actor: User, adapter: QueryAdapter, note: str = "") -> GatedChange | None:
    """Measure fitted query vectors before they are switched on; None where no golden set guards the knowledge set.

    An earlier draft of query vectors of the set that is still open is discarded.
    """
    home = adapter.knowledge_set
    golden_sets = list(guarding_sets(knowledge_set=home))
    if not golden_sets:
        return None
    kind = GatedChange.Kind.QUERY_ADAPTER
    for earlier in GatedChange.objects.filter(knowledge_set=home, state__in=OPEN, kind=kind):
        change_discard(change=earlier, actor=actor)
    with transaction.atomic():
        change = GatedChange.objects.create(
            kind=kind,
            knowledge_set=home,
            payload={"adapter": adapter.pk, "number": adapter.number},
            base_sha256=adapter_sha256(home),
            note=note,
            requested_by=actor,
        )
        change_measure(change=change, golden_sets=golden_sets, actor=actor)
        audit_record(actor=actor, action="change.measure", target=home.code, change=change.pk)
    return change


def raise_if_guarded(*, actor: User, knowledge_set: KnowledgeSet, options: Given, note: str) -> None:
    """Measure options that another service is about to publish. Call it outside of a transaction.

    Raises MeasuredFirstError where a golden set guards the knowledge set, InvalidOptionsError.
    """
    change = change_of_options(actor=actor, knowledge_set=knowledge_set, options=options, replaces=False, note=note)
    if change is not None:
        raise MeasuredFirstError(change=change.pk)


OPEN = (State.MEASURING, State.PASSED, State.FAILED)


def change_measure(*, change: GatedChange, golden_sets: Sequence[GoldenSet], actor: User) -> None:
    """Start the runs of a change: what is live against the draft, with the rights of the actor."""
    plans = [ConfigurationPlan(name=LIVE), KINDS[change.kind].draft(change)]
    for golden_set in golden_sets:
        run = run_start(scope=scope_for(actor), user=actor, golden_set=golden_set, configurations=plans)
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
    comparison = configurations_compare(live, draft)
    verdict = gate_judge(means=configuration_means(draft), floors=run.golden_set.floors, comparison=comparison)
    return GateResult(run=run, comparison=comparison, verdict=verdict)


def change_settle(*, change: GatedChange) -> GatedChange:
    """Passed or not, once all runs are over; a run that was cancelled or has failed does not pass."""
    if change.state != State.MEASURING:
        return change
    runs = list(change.runs.all())
    if any(run.is_open for run in runs):
        return change
    results = change_results(change=change)
    passed = bool(results) and all(one.verdict is not None and one.verdict.has_passed for one in results)
    state = State.PASSED if passed else State.FAILED
    GatedChange.objects.filter(pk=change.pk, state=State.MEASURING).update(state=state)
    change.refresh_from_db()
    return change


def change_publish(*, scope: Scope, actor: User, change: GatedChange, reason: str = "") -> GatedChange:
    """Publish what has passed; with a reason also what has not.

    Raises ChangeNotDecidableError where it is not measured yet, or over, or out of date, or lacks a reason;
    NotFoundError, NotAllowedError and what publishing raises.
    """
    set_owned(scope=scope, set_id=change.knowledge_set_id)
    change = change_settle(change=change)
    with transaction.atomic():
        row = GatedChange.objects.select_for_update().select_related("knowledge_set").get(pk=change.pk)
        if row.state == State.MEASURING:
            raise ChangeNotDecidableError("measuring")
        if not row.is_open:
            raise ChangeNotDecidableError("over")
        if row.state == State.FAILED and not reason.strip():
            raise ChangeNotDecidableError("reason")
        kind = KINDS[row.kind]
        if kind.live_sha256(row) != row.base_sha256:
            raise ChangeNotDecidableError("stale")
        is_override = row.state == State.FAILED
        kind.publish(row, scope=scope, actor=actor)
        _decide(row, actor, State.OVERRIDDEN if is_override else State.PUBLISHED, reason.strip() if is_override else "")
        action = "change.override" if is_override else "change.publish"
        audit_record(actor=actor, action=action, target=row.knowledge_set.code, change=row.pk, reason=row.reason)
    return row


def change_discard(*, change: GatedChange, actor: User) -> GatedChange:
    """Give a draft up; its runs end. Raises ChangeNotDecidableError where it is over."""
    with transaction.atomic():
        row = GatedChange.objects.select_for_update().select_related("knowledge_set").get(pk=change.pk)
        if not row.is_open:
            raise ChangeNotDecidableError("over")
        for run in row.runs.filter(state__in=(EvaluationRun.State.RUNNING, EvaluationRun.State.PAUSED)):
            run_cancel(run=run, actor=actor)
        _decide(row, actor, State.DISCARDED, "")
        audit_record(actor=actor, action="change.discard", target=row.knowledge_set.code, change=row.pk)
    return row


def _decide(row: GatedChange, actor: User, state: str, reason: str) -> None:
    row.state, row.reason, row.decided_by, row.decided = state, reason[:500], actor, timezone.now()
    row.save(update_fields=["state", "reason", "decided_by", "decided"])


def changes_shown(*, scope: Scope) -> QuerySet[GatedChange]:
    """Changes whose golden sets the asker sees, newest first."""
    runs = EvaluationRun.objects.filter(golden_set__in=golden_sets_listed(scope=scope))
    return GatedChange.objects.filter(runs__in=runs).distinct().select_related("knowledge_set", "requested_by")


class OptionsGate:
    """What stands before `knowledge.services.options.set_options_update`."""

    def hold(self, *, actor: User, row: KnowledgeSet, options: Given, replaces: bool, note: str) -> int | None:
        change = change_of_options(actor=actor, knowledge_set=row, options=options, replaces=replaces, note=note)
        return None if change is None else change.pk

    def notice(self, *, row: KnowledgeSet) -> GateNotice:
        kind = GatedChange.Kind.SET_OPTIONS
        change = GatedChange.objects.filter(knowledge_set=row, state__in=OPEN, kind=kind).first()
        names = tuple(one.name for one in guarding_sets(knowledge_set=row))
        return GateNotice(guards=names, change=None if change is None else change.pk)

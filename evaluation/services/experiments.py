"""Experiments online: a share of the people who ask a knowledge set gets a candidate's settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Case, Count, Exists, F, FloatField, OuterRef, Q, QuerySet, Sum, Value, When
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from accounts.services import audit_record
from chat.answering.experiments import allowed_options
from chat.models import Experiment, TurnFigures
from evaluation.errors import ExperimentError
from evaluation.services.gated_kinds import experiment_note_published
from evaluation.services.gates import raise_if_guarded
from feedback.models import Signal, Vote
from knowledge.models import OptionsChange
from knowledge.selectors import set_owned, sets_managed
from knowledge.services.options import ChangeNote, options_merge, set_options_update
from ragcore.metrics.sequential import ArmComparison, ArmFigures

ALPHA = 0.05  # of all outcomes of an experiment together
LEAST_SHARE, MOST_SHARE = 1, 90  # percent; part of the people always keep what is live
COMPLAINTS = (Signal.Kind.REWORD, Signal.Kind.STOP, Signal.Kind.WRONG_SOURCE)
OUTCOMES = {
    "votes": _("Votes “helpful”"),
    "calm": _("No rewording, stop or report"),
    "supported": _("Supported sentences"),
    "answered": _("Answered"),
}
State = Experiment.State


@transaction.atomic
def experiment_start(
    *, actor: User, set_id: int, name: str, options: Mapping[str, Mapping[str, Any]], share: int
) -> Experiment:
    """Begin to answer a share of the people, in percent, with other settings of a set; nothing else changes.

    Settings that give rights or raise limits are no part of a candidate and are refused. Raises NotFoundError,
    NotAllowedError, InvalidOptionsError, and ExperimentError: nothing differs, one runs already, or the share.
    """
    scope = scope_for(actor)
    asked = set_owned(scope=scope, set_id=set_id)
    allowed = allowed_options(options)
    if allowed != {code: dict(values) for code, values in options.items() if values}:
        raise ExperimentError("forbidden")
    merged = options_merge(asked.options, allowed, layer=f"set {asked.code}")
    if not allowed or merged == asked.options:
        raise ExperimentError("nothing")
    if not LEAST_SHARE <= share <= MOST_SHARE:
        raise ExperimentError("share", least=LEAST_SHARE, most=MOST_SHARE)
    try:
        with transaction.atomic():
            started = Experiment.objects.create(
                tenant_id=asked.tenant_id,
                knowledge_set=asked,
                name=name.strip()[:100] or asked.name[:100],
                options=allowed,
                share=share,
                created_by=actor,
            )
    except IntegrityError as error:
        raise ExperimentError("running", name=asked.name) from error
    audit_record(
        actor=actor, action="experiment.start", target=asked.code, experiment=started.pk, share=share, options=allowed
    )
    return started


@transaction.atomic
def experiment_stop(*, actor: User, experiment_id: int) -> Experiment:
    """End it: everybody gets the settings of the set again at the next question. Twice changes nothing.

    Raises NotFoundError.
    """
    experiment = _locked(actor, experiment_id)
    if experiment.state == State.RUNNING:
        experiment_end(experiment, State.STOPPED)
        home = experiment.knowledge_set
        audit_record(actor=actor, action="experiment.stop", target=home.code, experiment=experiment.pk)
    return experiment


def experiment_publish(*, actor: User, experiment_id: int) -> Experiment:
    """Make the settings of the candidate those of the set. Twice changes nothing.

    Raises NotFoundError, ExperimentError for one that was rolled back, MeasuredFirstError where golden sets guard the
    knowledge set, and what changing settings raises.
    """
    experiment = experiments_of(scope=scope_for(actor)).filter(pk=experiment_id).first()
    if experiment is not None and experiment.state not in (State.PUBLISHED, State.ROLLED_BACK):
        raise_if_guarded(
            actor=actor,
            knowledge_set=experiment.knowledge_set,
            options=experiment.options,
            note=_note(experiment),
            origin={"experiment": experiment.pk},
        )
    return _publish(actor=actor, experiment_id=experiment_id)


def _note(experiment: Experiment) -> str:
    return str(_("Experiment: %(name)s") % {"name": experiment.name})


@transaction.atomic
def _publish(*, actor: User, experiment_id: int) -> Experiment:
    experiment = _locked(actor, experiment_id)
    if experiment.state == State.PUBLISHED:
        return experiment
    if experiment.state == State.ROLLED_BACK:
        raise ExperimentError("ended")
    before = experiment.knowledge_set.options
    set_options_update(
        scope=scope_for(actor),
        actor=actor,
        set_id=experiment.knowledge_set_id,
        options=experiment.options,
        why=ChangeNote(note=_note(experiment), is_measured=True),
    )
    experiment_note_published(experiment, before=before)
    home = experiment.knowledge_set
    audit_record(actor=actor, action="experiment.publish", target=home.code, experiment=experiment.pk)
    return experiment


@transaction.atomic
def experiment_roll_back(*, actor: User, experiment_id: int) -> Experiment:
    """Undo what the experiment has changed: a running one is stopped; of a published one the settings that it changed
    become what they were. What somebody has changed since then stays, also of these. Twice changes nothing.

    Raises NotFoundError.
    """
    experiment = _locked(actor, experiment_id)
    if experiment.state == State.PUBLISHED:
        before, now = experiment.before or {}, experiment.knowledge_set.options
        options = {
            code: {
                name: before.get(code, {}).get(name)
                for name, value in values.items()
                if now.get(code, {}).get(name) == value
            }
            for code, values in experiment.options.items()
        }
        set_options_update(
            scope=scope_for(actor),
            actor=actor,
            set_id=experiment.knowledge_set_id,
            options=options,
            why=ChangeNote(
                kind=OptionsChange.Kind.UNDO,  # restoring what was is never held back
                note=str(_("Experiment rolled back: %(name)s") % {"name": experiment.name}),
            ),
        )
    if experiment.state in (State.RUNNING, State.PUBLISHED):
        experiment_end(experiment, State.ROLLED_BACK)
        home = experiment.knowledge_set
        audit_record(actor=actor, action="experiment.roll_back", target=home.code, experiment=experiment.pk)
    return experiment


def experiments_of(*, scope: Scope) -> QuerySet[Experiment]:
    """Experiments of the sets that the person keeps, the latest first."""
    sets = sets_managed(scope=scope).order_by().values("pk")
    return Experiment.objects.filter(knowledge_set__in=sets).select_related("knowledge_set", "created_by")


def _locked(actor: User, experiment_id: int) -> Experiment:
    if not experiments_of(scope=scope_for(actor)).filter(pk=experiment_id).exists():
        raise NotFoundError("experiment")
    return Experiment.objects.select_for_update(of=("self",)).select_related("knowledge_set").get(pk=experiment_id)


def experiment_end(experiment: Experiment, state: str) -> None:
    """End one that the caller has locked; who asks next gets the settings of the set."""
    experiment.state, experiment.ended = state, experiment.ended or timezone.now()
    experiment.save(update_fields=["state", "ended"])


# ── figures ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One outcome of an experiment; higher is better."""

    code: str  # of OUTCOMES
    comparison: ArmComparison

    @property
    def name(self) -> str:
        return str(OUTCOMES[self.code])


def experiment_outcomes(experiment: Experiment) -> Sequence[Outcome]:
    """Votes, signals, support and answers of both arms. The bounds of all outcomes hold together at 95 %."""
    rows = TurnFigures.objects.filter(experiment=experiment).exclude(status="conversation").order_by()
    vote_up = Case(When(vote=Vote.Direction.UP, then=Value(1.0)), default=Value(0.0), output_field=FloatField())
    complaint = Signal.objects.filter(message=OuterRef("message"), kind__in=COMPLAINTS)
    answered = Case(
        When(status__in=("answered", "degraded"), then=Value(1.0)), default=Value(0.0), output_field=FloatField()
    )
    votes = Vote.objects.filter(message__figures__in=rows).order_by()
    calm = Case(When(Exists(complaint), then=Value(0.0)), default=Value(1.0), output_field=FloatField())
    figures = [
        ("votes", _by_person(votes, vote_up, arm="message__figures__arm", person="user_id")),
        ("calm", _by_person(rows.annotate(value=calm), F("value"))),
        ("supported", _by_person(rows.exclude(supported=None), F("supported"))),
        ("answered", _by_person(rows, answered)),
    ]
    alpha = ALPHA / len(figures)
    return [
        Outcome(
            code=code,
            comparison=ArmComparison(
                live=arms[TurnFigures.Arm.LIVE], candidate=arms[TurnFigures.Arm.CANDIDATE], alpha=alpha
            ),
        )
        for code, arms in figures
    ]


def _by_person(rows: QuerySet[Any], value: Any, *, arm: str = "arm", person: str = "user_id") -> dict[str, ArmFigures]:
    """For each arm the number and the sum of the values of each person."""
    people: dict[str, list[tuple[int, float]]] = {name: [] for name in TurnFigures.Arm.values}
    for row in rows.filter(~Q(**{arm: ""})).values(arm, person).annotate(number=Count("pk"), total=Sum(value)):
        people[row[arm]].append((row["number"], float(row["total"] or 0.0)))
    return {name: ArmFigures(people=sums) for name, sums in people.items()}

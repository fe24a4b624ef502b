"""Experiments end by themselves at their sequential bounds: worse is stopped and rolled back, better is told.

The bounds hold at every look together (`ragcore.metrics.sequential`), so looking often makes no error likelier. An
experiment is worse when one of its outcomes is, whatever the others say; it is better when one is and none is worse.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.urls import reverse
from django.utils.translation import gettext_noop

from accounts.audit.events import event_add
from accounts.models import AuditEvent, User
from chat.models import Experiment
from evaluation.services.experiments import OUTCOMES, experiment_end, experiment_outcomes
from notifications.kinds import notification_kind
from notifications.services import notification_send

WORSE, BETTER = "experiment.worse", "experiment.better"  # in the audit log
State = Experiment.State


def outcome_words(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The codes of outcomes as words; earlier versions stored words."""
    codes = data.get("outcomes")
    if not isinstance(codes, list):
        return data
    return {**data, "outcomes": ", ".join(str(OUTCOMES.get(code, code)) for code in codes)}


EXPERIMENT_WORSE = notification_kind(
    "experiment_worse",
    gettext_noop("The experiment “%(name)s” on “%(set)s” was stopped: its candidate is worse (%(outcomes)s)."),
    words=outcome_words,
)
EXPERIMENT_BETTER = notification_kind(
    "experiment_better",
    gettext_noop(
        "The candidate of the experiment “%(name)s” on “%(set)s” is better (%(outcomes)s). You can publish it."
    ),
    words=outcome_words,
)


def experiments_watch() -> int:
    """Look at every running experiment; how many ended or were found better now. Safe to run twice."""
    running = Experiment.objects.filter(state=State.RUNNING).order_by("pk").values_list("pk", flat=True)
    return sum(experiment_look(experiment_id=pk) for pk in list(running))


@transaction.atomic
def experiment_look(*, experiment_id: int) -> bool:
    """Whether something was decided: it is rolled back, or its owners hear for the first time that it wins."""
    rows = Experiment.objects.select_for_update(of=("self",)).select_related("knowledge_set")
    experiment = rows.filter(pk=experiment_id, state=State.RUNNING).first()
    if experiment is None:
        return False
    outcomes = experiment_outcomes(experiment)
    if worse := [outcome.code for outcome in outcomes if outcome.comparison.verdict == "worse"]:
        experiment_end(experiment, State.ROLLED_BACK)
        _decided(experiment, WORSE, worse)
        return True
    better = [outcome.code for outcome in outcomes if outcome.comparison.verdict == "better"]
    events = AuditEvent.objects.filter(action=BETTER, tenant_id=experiment.tenant_id)
    is_known = events.filter(data__experiment=experiment.pk).exists()
    if not better or is_known:
        return False
    _decided(experiment, BETTER, better)
    return True


def _decided(experiment: Experiment, action: str, outcomes: list[str]) -> None:
    """Record it, with nobody as its actor, and tell those who own the set and who started the experiment."""
    home = experiment.knowledge_set
    data = {"experiment": experiment.pk, "outcomes": outcomes}
    event_add(actor=None, tenant_id=experiment.tenant_id, action=action, target=home.code, data=data)
    people = {user.pk: user for user in home.owners.all()}
    if experiment.created_by is not None:
        people[experiment.created_by.pk] = experiment.created_by
    recipients: list[User] = list(people.values())
    notification_send(
        recipients=recipients,
        kind=EXPERIMENT_WORSE if action == WORSE else EXPERIMENT_BETTER,
        data={"name": experiment.name, **home.told_names, "outcomes": outcomes},
        link=reverse("admin:evaluation_experiments"),
    )

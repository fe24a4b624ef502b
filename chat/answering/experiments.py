"""Which settings a person's questions to a knowledge set are answered with while an experiment runs (D34).

The candidate's settings stand in the place of those of the set, in the layers of options of one question. They are
search and answer options only: rights, readers, clearance and prompts of clients are read from the set itself, and
limits of cost and time can only become smaller.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from accounts.scope import Scope
from chat.models import Experiment, TurnFigures
from knowledge.models import KnowledgeSet
from knowledge.options_draft import is_draft_in_force, set_options_in_force

GROUPS = ("answer", "retrieval")  # of options that a candidate may have
KEPT = {"answer": frozenset({"own_prompts", "max_cost", "max_latency"})}  # that it may not have


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """The settings of one question to one set; `experiment`: "id:arm", empty where none runs."""

    options: Mapping[str, Any]
    experiment: str = ""
    retrieval: Mapping[str, Any] = field(default_factory=dict)  # what the candidate says of the search, above the set


def assign(*, scope: Scope, asked: KnowledgeSet) -> Assignment:
    """The settings that this person's questions to the set get now. Uses the ORM.

    Who tries a draft of options takes part in no experiment.
    """
    if is_draft_in_force():
        return Assignment(options=set_options_in_force(asked))
    running = Experiment.objects.filter(knowledge_set=asked, state=Experiment.State.RUNNING).first()
    if running is None:
        return Assignment(options=asked.options)
    arm = arm_of(running, user_id=scope.user_id)
    name = f"{running.pk}:{arm}"
    if arm == TurnFigures.Arm.LIVE:
        return Assignment(options=asked.options, experiment=name)
    options = candidate_options(asked.options, running.options)
    return Assignment(options=options, experiment=name, retrieval=allowed_options(running.options).get("retrieval", {}))


def arm_of(experiment: Experiment, *, user_id: int) -> str:
    """The arm of a person: the same for all their questions while the experiment runs, and independent of others."""
    digest = hashlib.sha256(f"{experiment.salt}:{user_id}".encode()).digest()
    place = int.from_bytes(digest[:8], "big") / 2**64
    return TurnFigures.Arm.CANDIDATE if place * 100 < experiment.share else TurnFigures.Arm.LIVE


def candidate_options(own: Mapping[str, Any], candidate: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a set with those of a candidate above them; what a candidate may not have stays the set's."""
    merged = dict(own)
    for group, wanted in allowed_options(candidate).items():
        merged[group] = {**(own.get(group) or {}), **wanted}
    return merged


def allowed_options(candidate: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What of the options a candidate may have, by group; groups without any are left out."""
    found = {}
    for group in GROUPS:
        kept = KEPT.get(group, frozenset())
        wanted = {name: value for name, value in (candidate.get(group) or {}).items() if name not in kept}
        if wanted:
            found[group] = wanted
    return found

"""Assigns a person's questions to an arm of a running experiment, with that arm's settings.

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
from ragcore.options import RetrievalOptions, for_comparing

GROUPS = ("answer", "retrieval")  # of options that a candidate may have
KEPT = {  # that it may not have
    "answer": frozenset({"own_prompts", "max_cost", "max_latency"}),
    "retrieval": for_comparing(RetrievalOptions),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """The settings of one question to one set; `experiment`: "id:arm", empty where none runs."""

    options: Mapping[str, Any]
    experiment: str = ""
    retrieval: Mapping[str, Any] = field(default_factory=dict)  # what the candidate says of the search, above the set


def assign(*, scope: Scope, knowledge_set: KnowledgeSet) -> Assignment:
    """The settings that this person's questions to the set get now. Uses the ORM."""
    running = Experiment.objects.filter(knowledge_set=knowledge_set, state=Experiment.State.RUNNING).first()
    if running is None:
        return Assignment(options=knowledge_set.options)
    arm = arm_of(running, user_id=scope.user_id)
    name = f"{running.pk}:{arm}"
    if arm == TurnFigures.Arm.LIVE:
        return Assignment(options=knowledge_set.options, experiment=name)
    options = candidate_options(knowledge_set.options, running.options)
    return Assignment(options=options, experiment=name, retrieval=allowed_options(running.options).get("retrieval", {}))


def arm_of(experiment: Experiment, *, user_id: int) -> str:
    """The arm of a person: the same for all their questions while the experiment runs, and independent of others."""
    digest = hashlib.sha256(f"{experiment.salt}:{user_id}".encode()).digest()
    place = int.from_bytes(digest[:8], "big") / 2**64
    return TurnFigures.Arm.CANDIDATE if place * 100 < experiment.share else TurnFigures.Arm.LIVE


def candidate_options(of_set: Mapping[str, Any], candidate: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a set with those of a candidate above them; what a candidate may not have stays the set's."""
    merged = dict(of_set)
    for group, values in allowed_options(candidate).items():
        merged[group] = {**(of_set.get(group) or {}), **values}
    return merged


def allowed_options(candidate: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What of the options a candidate may have, by group; groups without any are left out."""
    allowed = {}
    for group in GROUPS:
        fixed = KEPT.get(group, frozenset())
        values = {name: value for name, value in (candidate.get(group) or {}).items() if name not in fixed}
        if values:
            allowed[group] = values
    return allowed

"""Switching a set's ranking from use on and off: an option like others, measured like others."""

from __future__ import annotations

from accounts.models import User
from accounts.scope import Scope
from evaluation.errors import NotEnoughUseError
from feedback.ranking_from_use import ENOUGH_ANSWERS, ENOUGH_PEOPLE
from knowledge.models import KnowledgeSet, OptionsChange
from knowledge.selectors.use_evidence import use_summary_get
from knowledge.services.options import ChangeNote, set_options_update

STANDARD_SHIFT = 0.3


def use_ranking_switch(*, scope: Scope, actor: User, set_id: int, is_on: bool) -> KnowledgeSet:
    """Rank by use with the usual bound, or not at all. Off holds at once; on is measured first where a set is guarded.

    Raises NotFoundError, NotAllowedError, NotEnoughUseError, MeasuredFirstError.
    """
    _home, summary = use_summary_get(scope=scope, set_id=set_id)
    if is_on and (summary is None or not summary.is_enough):
        raise NotEnoughUseError("few", answers=ENOUGH_ANSWERS, people=ENOUGH_PEOPLE)
    why = ChangeNote() if is_on else ChangeNote(kind=OptionsChange.Kind.UNDO)
    options = {"retrieval": {"use_shift": STANDARD_SHIFT if is_on else 0.0}}
    return set_options_update(scope=scope, actor=actor, set_id=set_id, options=options, why=why)

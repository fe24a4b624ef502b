"""Steps of an answer in the words of a reader."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy

from ragcore.answering.types import Step

SHOWN = 200  # characters of a question that a step shows
_STRATEGIES = {
    "direct": _lazy("Direct"),
    "hyde": _lazy("Hypothetical answer (HyDE)"),
    "decomposition": _lazy("Sub-questions"),
    "iterative": _lazy("Several steps"),
    "hybrid": _lazy("Several wordings"),
}


def told(step: Step) -> dict[str, Any]:
    """The data of a `step` event: name, a sentence, the round and plain details."""
    sentence = _SENTENCES.get(step.name, _named)
    return {"name": step.name, "detail": sentence(step), "round": step.round, "data": dict(step.detail)}


def _named(step: Step) -> str:
    return step.name.replace("_", " ").capitalize()


def _standalone(step: Step) -> str:
    return _("Understood as: %(question)s") % {"question": _text(step.detail, "standalone")}


def _rewrite(step: Step) -> str:
    forms = step.detail.get("rewrites") or ()
    return _("Also looking for: %(forms)s") % {"forms": "; ".join(str(form) for form in forms)[:SHOWN]}


def _search(step: Step) -> str:
    return _("Round %(round)s: searching for %(question)s") % {
        "round": step.round,
        "question": _text(step.detail, "query"),
    }


def _judge(step: Step) -> str:
    return _("Round %(round)s: judging the passages") % {"round": step.round}


def _answer(step: Step) -> str:
    return _("Round %(round)s: writing") % {"round": step.round}


def _grade(step: Step) -> str:
    return _("Round %(round)s: checking the answer") % {"round": step.round}


def _refine(step: Step) -> str:
    return _("Round %(round)s: asking more precisely") % {"round": step.round}


def _analysis(step: Step) -> str:
    return _("Difficulty of the question: %(difficulty)s of 10") % {"difficulty": step.detail.get("difficulty", 1)}


def _plan(step: Step) -> str:
    return _("Way chosen: %(strategy)s") % {"strategy": _STRATEGIES.get(_text(step.detail, "strategy"), "")}


def _hop(step: Step) -> str:
    return _("Next: %(question)s") % {"question": _text(step.detail, "query")}


def _stop(step: Step) -> str:
    return _("No more rounds")


def _text(detail: Mapping[str, Any], key: str) -> str:
    return str(detail.get(key, ""))[:SHOWN]


_SENTENCES: dict[str, Callable[[Step], str]] = {
    "standalone": _standalone,
    "rewrite": _rewrite,
    "search": _search,
    "judge": _judge,
    "answer": _answer,
    "grade": _grade,
    "refine": _refine,
    "analysis": _analysis,
    "plan": _plan,
    "hop": _hop,
    "stop": _stop,
}

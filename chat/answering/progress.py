"""Steps of an answer as events, in words for the reader."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy

from ragcore.types.answering import Step

SHOWN = 200  # characters of a question that a step shows
_STRATEGIES = {
    "direct": _lazy("Direct"),
    "hyde": _lazy("Hypothetical answer (HyDE)"),
    "decomposition": _lazy("Sub-questions"),
    "iterative": _lazy("Several steps"),
    "hybrid": _lazy("Several wordings"),
}
_TIERS = {"fast": _lazy("Fast"), "standard": _lazy("Standard"), "advanced": _lazy("Advanced")}
# Codes of Analysis.reasons and RoutingDecision.reasons; others are for the trace only.
_REASONS = {
    "kind:simple_fact": _lazy("one fact is asked for"),
    "kind:comparison": _lazy("things are compared"),
    "kind:aggregation": _lazy("several things are collected"),
    "kind:multi_hop": _lazy("the answer takes several steps"),
    "kind:complex_reasoning": _lazy("reasons are asked for"),
    "kind:open_ended": _lazy("the question is open"),
    "flag:several_sources": _lazy("several sources are needed"),
    "flag:time": _lazy("the answer depends on a time"),
    "flag:calculation": _lazy("something is to be calculated"),
    "simple": _lazy("the question is simple"),
    "medium": _lazy("the question is of medium complexity"),
    "complex": _lazy("the question is complex"),
    "missing": _lazy("the tier that would fit has no model"),
    "local": _lazy("a model of this server is preferred"),
    "api": _lazy("a model of a service was chosen"),
    "latency": _lazy("others would take longer than is allowed"),
    "too_slow": _lazy("none is as fast as is wanted, this one is the fastest"),
    "cost": _lazy("others would cost more than is allowed"),
    "price_unknown": _lazy("its price is not known"),
    "too_expensive": _lazy("every model would cost more than is allowed"),
}


def explain_reasons(codes: Iterable[str]) -> str:
    """Why a strategy or tier was chosen, in words; "" where none of the codes is for people."""
    words = [_reason(code.replace("model:", "kind:", 1)) for code in codes]
    return "; ".join(dict.fromkeys(word for word in words if word))


def tier_step(reasons: Sequence[str], tier: str = "") -> Step:
    """That a tier was chosen; "" where none fits."""
    return Step(name="tier", detail={"tier": tier, "reasons": list(reasons)})


def _reason(code: str) -> str:
    name, _separator, value = code.partition(":")
    if name == "difficulty":
        return _("difficulty %(difficulty)s of 10") % {"difficulty": value}
    return str(_REASONS.get(code, ""))


def step_event(step: Step) -> dict[str, Any]:
    """The data of a `step` event: name, a sentence, the round and plain details."""
    sentence = _SENTENCES.get(step.name, _named)
    return {"name": step.name, "detail": sentence(step), "round": step.round, "data": dict(step.detail)}


def _named(step: Step) -> str:
    return step.name.replace("_", " ").capitalize()


def _standalone(step: Step) -> str:
    return _("Understood as: %(question)s") % {"question": _text(step.detail, "standalone")}


def _rewrite(step: Step) -> str:
    if step.detail.get("begins"):
        return _("Writing a possible answer to search with")
    forms = step.detail.get("queries") or ()
    if not forms:  # what was made to search with reads like no question
        return _("Query expanded")
    return _("Also looking for: %(forms)s") % {"forms": "; ".join(str(form) for form in forms)[:SHOWN]}


def _search(step: Step) -> str:
    return _("Round %(round)s: searching for %(question)s") % {
        "round": step.round,
        "question": _text(step.detail, "query"),
    }


def _judge(step: Step) -> str:
    if step.detail.get("unfit"):
        words = _("Round %(round)s: grading passages by rules; by its exam, %(model)s cannot judge")
        return words % {"round": step.round, "model": _text(step.detail, "unfit")}
    return _("Round %(round)s: grading passages") % {"round": step.round}


def _answer(step: Step) -> str:
    return _("Round %(round)s: writing") % {"round": step.round}


def _grade(step: Step) -> str:
    if step.detail.get("unfit"):
        words = _("Round %(round)s: checking the answer by rules; by its exam, %(model)s cannot judge")
        return words % {"round": step.round, "model": _text(step.detail, "unfit")}
    return _("Round %(round)s: checking the answer") % {"round": step.round}


def _refine(step: Step) -> str:
    return _("Round %(round)s: refining the query") % {"round": step.round}


def _analysis(step: Step) -> str:
    return _("Difficulty of the question: %(difficulty)s of 10") % {"difficulty": step.detail.get("difficulty", 1)}


def _plan(step: Step) -> str:
    chosen = _("Strategy: %(strategy)s") % {"strategy": _STRATEGIES.get(_text(step.detail, "strategy"), "")}
    return _because(chosen, step)


def _tier(step: Step) -> str:
    tier = _TIERS.get(_text(step.detail, "tier"))
    chosen = _("Model chosen: %(tier)s") % {"tier": tier} if tier else _("No model chosen")
    return _because(chosen, step)


def _because(chosen: str, step: Step) -> str:
    reasons = explain_reasons(step.detail.get("reasons") or ())
    return _("%(chosen)s (%(reasons)s)") % {"chosen": chosen, "reasons": reasons} if reasons else chosen


def _hop(step: Step) -> str:
    return _("Next: %(question)s") % {"question": _text(step.detail, "query")}


def _stop(step: Step) -> str:
    return _("Search complete")


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
    "tier": _tier,
    "hop": _hop,
    "stop": _stop,
}

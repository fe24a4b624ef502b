"""What the exam of a language model means: what the model may do here, why, and what follows for users, in words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import mean

from django.utils.translation import gettext as _

from knowledge.model_exam_words import WAYS
from ragcore.grounding.trusted_writing import PLAIN_TOKENS, READ_SECONDS
from ragcore.llm.exam import PLAIN_SKILLS, TRUSTED_FACTS, TRUSTED_MARKS, TRUSTED_PLAIN, TRUSTED_REFUSALS
from ragcore.llm.model_profile import READING_RESERVE, ModelProfile
from ragcore.options.groups import AnswerOptions

NO_LIMIT = 1e6  # seconds: reading is not cut short
PASSAGE_TOKENS = 400  # of a passage of usual size
SLOW_ANSWER_SECONDS = 30.0  # before the first word, from which a smaller model serves users better


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One sentence, its reasons, and what follows from it."""

    title: str
    reasons: Sequence[str]
    consequences: Sequence[str]


def verdict_of(profile: ModelProfile, *, overrides: Collection[str] = ()) -> Verdict:
    """The verdict on a model that was examined. `overrides`: fields of the profile that a person has set."""
    is_set = "way" in overrides
    reasons = [_("A person has set this by hand.")] if is_set else [_way_reason(profile)]
    follows = [_reading_words(profile), _time_words(profile), _alternative_words(profile)]
    return Verdict(title=str(WAYS[profile.way]), reasons=reasons, consequences=[words for words in follows if words])


def refusals_reason(profile: ModelProfile) -> str:
    """Why what it refuses is believed or not."""
    if profile.believes_refusals:
        return _("it refuses where the sources do not tell, and cites where they do")
    if profile.way != "marks":
        return _("only a model that cites its sources itself decides this; here it is decided before it is asked")
    values = {"share": _percent(profile, "refusal"), "least": _share(TRUSTED_REFUSALS)}
    return _("it refused in %(share)s of the tasks that cannot be answered; %(least)s are needed") % values


def _way_reason(profile: ModelProfile) -> str:
    values = {
        "marks": _percent(profile, "marks"),
        "least_marks": _share(TRUSTED_MARKS),
        "plain": _share(mean(profile.scores.get(skill, 0.0) for skill in PLAIN_SKILLS)),
        "least_plain": _share(TRUSTED_PLAIN),
        "facts": _percent(profile, "facts"),
        "least_facts": _share(TRUSTED_FACTS),
    }
    if profile.way == "marks":
        words = _("It answered and cited the right source in %(marks)s of its tasks; %(least_marks)s are needed.")
        return words % values if profile.scores.get("marks", 0.0) >= TRUSTED_MARKS else _nothing_known()
    citing = _("It answered and cited the right source in %(marks)s of its tasks; %(least_marks)s are needed.")
    if profile.scores.get("marks", 0.0) >= TRUSTED_MARKS:
        citing = _("It cites its sources, but did not answer where a document contains an order.")
    plain = {
        "plain": _(
            "In plain sentences, with tables, and in both languages it was right in %(plain)s; %(least_plain)s are "
            "needed."
        ),
        "fill": _(
            "In plain sentences, with tables, and in both languages it was right in %(plain)s; %(least_plain)s are "
            "needed. From sentences chosen for it, it was right in %(facts)s; %(least_facts)s are needed."
        ),
    }
    return f"{citing} {plain.get(profile.way, plain['fill'])}" % values


def _nothing_known() -> str:
    return _("It said the same to every task, so that nothing is known of it; what it writes is checked all the same.")


def _reading_words(profile: ModelProfile) -> str:
    """How much of the sources it reads."""
    if profile.way == "quote":
        return _("It reads no sources: its longest prompt limits nothing.")
    if profile.way == "fill":
        return _("It reads only the sentences that it chooses among: its longest prompt limits nothing.")
    budget = PLAIN_TOKENS if profile.way == "plain" else AnswerOptions().context_tokens
    tokens = profile.source_tokens(budget, seconds=READ_SECONDS if profile.way == "plain" else NO_LIMIT)
    values = {"passages": max(1, tokens // PASSAGE_TOKENS), "tokens": tokens}
    if tokens < budget:
        is_short = profile.context_tokens is not None and profile.context_tokens - READING_RESERVE <= tokens
        more = _("a longer prompt would allow more") if is_short else _("a faster machine would allow more")
        return _("It reads about %(passages)s passages (%(tokens)s tokens); %(more)s.") % {**values, "more": more}
    return _("It reads about %(passages)s passages (%(tokens)s tokens), as many as an answer uses.") % values


def _time_words(profile: ModelProfile) -> str:
    seconds = _answer_seconds(profile)
    if profile.way == "quote" or seconds is None:
        return ""
    if profile.thinks:
        return _("It thinks before it answers: users wait longer for the first word.")
    return _("The first word comes after about %(seconds)s s.") % {"seconds": max(1, round(seconds))}


def _answer_seconds(profile: ModelProfile) -> float | None:
    """Until the first word of a usual answer."""
    if profile.way == "fill":
        return profile.first_token_seconds
    budget = PLAIN_TOKENS if profile.way == "plain" else AnswerOptions().context_tokens
    return profile.reading_seconds(profile.source_tokens(budget, seconds=NO_LIMIT))


def _alternative_words(profile: ModelProfile) -> str:
    """When no model, or another one, would serve users better."""
    if profile.way == "quote":
        return _("Users would read the same without a model. A bigger model that passes the exam writes answers.")
    if profile.way == "fill":
        return _(
            "Without a model users would read quotations, too, chosen without it. A bigger model that passes the exam "
            "writes answers."
        )
    seconds = _answer_seconds(profile)
    if seconds is not None and seconds > SLOW_ANSWER_SECONDS:
        return _("A smaller model, or one on a faster machine, would answer sooner.")
    return ""


def _percent(profile: ModelProfile, skill: str) -> str:
    return _share(profile.scores.get(skill, 0.0))


def _share(value: float) -> str:
    return f"{value:.0%}"

"""The profile of a language model, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from ragcore.llm.model_profile import ModelProfile

WAYS: Mapping[str, Any] = {
    "marks": _("It writes answers and cites its sources itself."),
    "plain": _("It writes plain sentences from the sources; the citations are added and checked here."),
    "fill": _("It chooses among quoted sentences; the one that answers is shown as it stands in the document."),
    "quote": _("Its answers are not used: the documents are quoted."),
}
SHORT_WAYS: Mapping[str, Any] = {
    "marks": _("It writes answers and cites its sources"),
    "plain": _("It writes answers; citations are added here"),
    "fill": _("It chooses a sentence; answers are quoted"),
    "quote": _("It is not used; answers are quoted"),
}
JSON_WAYS: Mapping[str, Any] = {
    "schema": _("by a schema"),
    "object": _("as a JSON object"),
    "asked": _("when asked for it"),
    "none": _("no"),
}
OVERFLOWS: Mapping[str, Any] = {
    "cuts": _("The server cuts them without saying so. Raise its context length (Ollama: num_ctx) and examine again."),
    "refuses": _("The server refuses them."),
}
SKILLS: Mapping[str, Any] = {
    "marks": _("Answers with citations"),
    "refusal": _("Refuses what is not there"),
    "plain": _("Answers in plain sentences"),
    "facts": _("Writes from given facts"),
    "table": _("Reads tables"),
    "language": _("Answers in the language of the question"),
    "form": _("Keeps to a form"),
    "order": _("Answers in spite of orders in documents"),
    "system": _("Follows the system message"),
    "grade": _("Grades passages"),
    "stated": _("Tells whether a text answers"),
    "json_schema": _("JSON by a schema"),
    "json_object": _("JSON object"),
    "json_asked": _("JSON when asked"),
    "context": _("Reads long texts"),
}
LANGUAGES: Mapping[str, Any] = {"en": _("English"), "zh": _("Chinese")}
PROBLEMS: Mapping[str, Any] = {
    "not_offered": _("The server does not offer it."),
    "left_out": _("Not asked: a shorter text was too much."),
    "slow": _("No answer in time."),
    "rejected": _("The server refused it."),
    "rejected_said": _("The server refused it."),
    "out_of_context": _("Longer than the context of the model."),
}


def profile_rows(profile: ModelProfile) -> list[tuple[Any, Any]]:
    """(label, value) of what a profile says and changes."""
    return [row for _title, rows in profile_groups(profile) for row in rows]


def profile_groups(
    profile: ModelProfile, *, results: Sequence[Mapping[str, Any]] = (), refusals_reason: str = ""
) -> list[tuple[Any, list[tuple[Any, Any]]]]:
    """(title, rows) of a profile. `results`: of its exam, as they are stored; `refusals_reason`: why or why not."""
    groups = [
        (pgettext_lazy("part of a profile", "Writing"), _writing_rows(profile, refusals_reason)),
        (_("Languages"), _language_rows(profile, results)),
        (pgettext_lazy("part of a profile", "Reading"), _reading_rows(profile)),
        (_("Abilities"), _ability_rows(profile)),
        (_("Speed"), _speed_rows(profile)),
    ]
    return [(title, rows) for title, rows in groups if rows]


def _writing_rows(profile: ModelProfile, refusals_reason: str) -> list[tuple[Any, Any]]:
    refusals = _yes_no(profile.believes_refusals)
    if refusals_reason:
        refusals = format_lazy("{}: {}", refusals, refusals_reason)
    rows = [(_("Way of writing"), WAYS[profile.way]), (_("Its refusals are believed"), refusals)]
    return rows + _score_rows(profile, ("marks", "plain", "facts", "refusal", "form"))


def _language_rows(profile: ModelProfile, results: Sequence[Mapping[str, Any]]) -> list[tuple[Any, Any]]:
    rows = []
    for code, label in LANGUAGES.items():
        verdicts = [result["is_right"] for result in results if _is_of_language(result, code)]
        if verdicts:
            values = {"right": sum(verdicts), "tasks": len(verdicts)}
            rows.append((label, format_lazy(_("{right} of {tasks} tasks right"), **values)))
    return rows + _score_rows(profile, ("language",))


def _is_of_language(result: Mapping[str, Any], code: str) -> bool:
    return result.get("language") == code and result["skill"] in ("marks", "refusal", "plain", "facts", "table")


def _reading_rows(profile: ModelProfile) -> list[tuple[Any, Any]]:
    rows: list[tuple[Any, Any]] = []
    if profile.context_tokens is not None:
        rows.append((_("Longest prompt read"), format_lazy(_("{tokens} tokens"), tokens=profile.context_tokens)))
    if profile.overflow:
        rows.append((_("Longer prompts"), OVERFLOWS[profile.overflow]))
    return rows + _score_rows(profile, ("context", "table"))


def _ability_rows(profile: ModelProfile) -> list[tuple[Any, Any]]:
    rows: list[tuple[Any, Any]] = [
        (_("Its grades are used"), _yes_no(profile.judges)),
        (_("Is asked whether a quotation answers"), _yes_no(profile.checks)),
        (_("JSON"), JSON_WAYS[profile.json]),
        (_("Follows orders in documents"), _yes_no(profile.obeys_documents)),
        (_("Thinks before it answers"), _yes_no(profile.thinks)),
    ]
    if profile.left_out:
        rows.append((_("Left out of requests"), ", ".join(profile.left_out)))
    skills = ("grade", "stated", "order", "system", "json_schema", "json_object", "json_asked")
    return rows + _score_rows(profile, skills)


def _speed_rows(profile: ModelProfile) -> list[tuple[Any, Any]]:
    rows: list[tuple[Any, Any]] = []
    if profile.first_token_seconds is not None:
        rows.append((_("First word"), format_lazy(_("after {seconds} s"), seconds=profile.first_token_seconds)))
    if profile.reading_speed is not None:
        rows.append((_("Reads"), format_lazy(_("{speed} tokens a second"), speed=profile.reading_speed)))
    if profile.writing_speed is not None:
        rows.append((_("Writes"), format_lazy(_("{speed} tokens a second"), speed=profile.writing_speed)))
    return rows


def _score_rows(profile: ModelProfile, skills: Sequence[str]) -> list[tuple[Any, Any]]:
    scores = profile.scores
    return [
        (SKILLS[skill], format_lazy(_("{share} right"), share=f"{scores[skill]:.0%}"))
        for skill in skills
        if skill in scores
    ]


def _yes_no(value: bool) -> Any:
    return _("yes") if value else _("no")

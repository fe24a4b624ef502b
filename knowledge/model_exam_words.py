"""The profile of a language model, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from ragcore.llm.model_profile import ModelProfile

WAYS: Mapping[str, Any] = {
    "marks": _("It writes answers and cites its sources itself."),
    "plain": _("It writes plain sentences from the sources; the citations are added and checked here."),
    "fill": _("It chooses among quoted sentences; the one that answers is shown as it stands in the document."),
    "quote": _("Its answers are not used: the documents are quoted."),
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
    "order": _("Ignores orders in documents"),
    "system": _("Follows the system message"),
    "grade": _("Grades passages"),
    "stated": _("Tells whether a text answers"),
    "json_schema": _("JSON by a schema"),
    "json_object": _("JSON object"),
    "json_asked": _("JSON when asked"),
    "context": _("Reads long texts"),
}
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
    yes, no = _("yes"), _("no")
    rows: list[tuple[Any, Any]] = [
        (_("Way of writing"), WAYS[profile.way]),
        (_("Its refusals are believed"), yes if profile.believes_refusals else no),
        (_("Its grades are used"), yes if profile.judges else no),
        (_("Is asked whether a quotation answers"), yes if profile.checks else no),
        (_("JSON"), JSON_WAYS[profile.json]),
        (_("Follows orders in documents"), yes if profile.obeys_documents else no),
        (_("Thinks before it answers"), yes if profile.thinks else no),
    ]
    if profile.context_tokens is not None:
        rows.append((_("Longest prompt read"), format_lazy(_("{tokens} tokens"), tokens=profile.context_tokens)))
    if profile.overflow:
        rows.append((_("Longer prompts"), OVERFLOWS[profile.overflow]))
    if profile.first_token_seconds is not None:
        rows.append((_("First word"), format_lazy(_("after {seconds} s"), seconds=profile.first_token_seconds)))
    if profile.reading_speed is not None:
        rows.append((_("Reads"), format_lazy(_("{speed} tokens a second"), speed=profile.reading_speed)))
    if profile.writing_speed is not None:
        rows.append((_("Writes"), format_lazy(_("{speed} tokens a second"), speed=profile.writing_speed)))
    if profile.left_out:
        rows.append((_("Left out of requests"), ", ".join(profile.left_out)))
    rows += [(SKILLS[skill], f"{score:.0%}") for skill, score in profile.scores.items() if skill in SKILLS]
    return rows

"""Change what the prompts of a knowledge set say to the language model: as a draft."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from evaluation.models import OptionsDraft
from evaluation.services.remedies.base import About, Done, Field, Offer, Values, remedy
from evaluation.services.remedies.drafts import DraftRemedy, draft_sets, set_field
from evaluation.services.remedies.generation import is_written_wrongly
from knowledge import model_registry

TEXT = "persona"  # the text of a set that stands in each of its prompts
MAX_CHARACTERS = 256  # of that field
# sub-cause → the sentence that is added to the persona of the set
SENTENCES: Mapping[str, Any] = {
    "numerical error": _("Copies numbers and units from the sources exactly."),
    "chronological inconsistency": _("Copies dates from the sources exactly."),
    "incomplete answer": _("Names every condition, step and exception that the sources name."),
    "abstention failure": _("Answers whenever a source states the answer, if only in part."),
    "contextual misalignment": _("Cites only the source that speaks of the very thing asked about."),
}
OF_ANY_OTHER = _("States only what a source says, in the words of that source.")


@remedy
class ChangePrompt(DraftRemedy):
    code = "prompt"
    label = _("Draft a change of the prompt")
    help = _(
        "The persona stands in every prompt when this set is asked alone. The question is answered both ways, of this "
        "set alone; golden sets evaluate the draft before it is published."
    )

    def offer(self, about: About) -> Offer | None:
        sets = draft_sets(about)
        if not sets or about.case.expects_refusal or model_registry.chat_model() is None:
            return None
        subcause = about.diagnosis.subcause if about.diagnosis else ""
        text = f"{sets[0].persona} {SENTENCES.get(subcause, OF_ANY_OTHER)}".strip()
        return Offer(
            fields=(
                set_field(sets, _("knowledge set")),
                Field(name=TEXT, label=_("persona"), value=text[:MAX_CHARACTERS], rows=3, longest=MAX_CHARACTERS),
            ),
            is_advised=is_written_wrongly(about),
        )

    def apply(self, about: About, values: Values) -> Done:
        texts = {TEXT: values[TEXT]}
        return Done(before={"set": int(values["set"]), "group": OptionsDraft.Group.TEXTS, "options": texts})

"""Change how answers are written from a knowledge set: less freedom, or fewer passages; as a draft."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from evaluation.services.remedies.base import About, Done, Field, Offer, Values, remedy
from evaluation.services.remedies.drafts import (
    Change,
    DraftRemedy,
    change_label,
    changes_of,
    draft_sets,
    set_field,
    value_of,
)
from knowledge import model_registry

GROUP = "answer"
COOLER = tuple(Change(name="temperature", value=value, lowers=True) for value in (0.1, 0.2))
FEWER = (Change(name="context_tokens", factor=0.5), Change(name="max_chunks", factor=0.5))
# sub-causes for which fewer passages help more than a lower temperature: the model read another one than the right one
OF_TOO_MUCH_CONTEXT: Mapping[str, str] = {
    "contextual misalignment": "max_chunks",
    "misinterpretation": "context_tokens",
    "incomplete answer": "context_tokens",
}


@remedy
class ChangeWriting(DraftRemedy):
    code = "writing"
    label = _("Draft a change of how answers are written")
    help = _(
        "A lower temperature keeps to the wording of the sources; fewer passages leave less to confuse. The question "
        "is answered both ways, of this set alone; golden sets evaluate the draft before it is published."
    )

    def offer(self, about: About) -> Offer | None:
        sets = draft_sets(about)
        if not sets or about.case.expects_refusal:
            return None
        proposed = FEWER if model_registry.chat_model() is None else (*COOLER, *FEWER)
        changes = {f"{name}={value}": (name, value) for name, value in changes_of(sets[0], GROUP, proposed)}
        if not changes:
            return None
        best = OF_TOO_MUCH_CONTEXT.get(about.diagnosis.subcause if about.diagnosis else "", "")
        is_best = (key for key, (name, _value) in changes.items() if name == best)
        choices = tuple((key, change_label(GROUP, *change)) for key, change in changes.items())
        return Offer(
            fields=(
                set_field(sets, _("knowledge set")),
                Field(name="change", label=_("setting"), value=next(is_best, next(iter(changes))), choices=choices),
            ),
            is_advised=is_written_wrongly(about),
        )

    def apply(self, about: About, values: Values) -> Done:
        name, value = value_of(GROUP, values["change"])
        return Done(before={"set": int(values["set"]), "group": GROUP, "options": {name: value}})


def is_written_wrongly(about: About) -> bool:
    """Whether the diagnosis blames the text of the language model."""
    return about.diagnosis is not None and about.diagnosis.cause == "generation" and about.detail == "model"

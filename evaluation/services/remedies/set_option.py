"""Change one option of a knowledge set: as a draft, which is measured before it can be published."""

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

GROUP = "retrieval"
# sub-cause beneath the class → option and its new value
ADVISED: Mapping[str, Change] = {
    "score gap": Change(name="cliff", value=False),
    "limit": Change(name="top_k", factor=2.0),
    "duplicate": Change(name="deduplicate", value=False),
    "reranker": Change(name="rerank", value=False),
    "weak match": Change(name="fused_limit", factor=2.0),
}
CHANGES = (*ADVISED.values(), Change(name="neighbours", value=1), Change(name="fuzzy", value=True))
# where the question should have been refused: higher thresholds refuse more
CHANGES_OF_REFUSALS = (Change(name="min_cosine", factor=1.25), Change(name="min_match", factor=1.25))


@remedy
class ChangeOption(DraftRemedy):
    code = "option"
    label = _("Draft a change of a setting")
    help = _("A draft is tested with this question, and evaluated on the golden sets before it is published.")

    def offer(self, about: About) -> Offer | None:
        sets = draft_sets(about)
        if not sets:
            return None
        proposed = CHANGES_OF_REFUSALS if about.case.expects_refusal else CHANGES
        changes = {f"{name}={value}": (name, value) for name, value in changes_of(sets[0], GROUP, proposed)}
        if not changes:
            return None
        advised = ADVISED.get(about.detail)
        is_named = (key for key, (name, _value) in changes.items() if advised and name == advised.name)
        choices = tuple((key, _label(*change)) for key, change in changes.items())
        return Offer(
            fields=(
                set_field(sets, _("knowledge set")),
                Field(name="change", label=_("setting"), value=next(is_named, next(iter(changes))), choices=choices),
            ),
            is_advised=about.case.expects_refusal or about.wanted_remedy == self.code,
        )

    def apply(self, about: About, values: Values) -> Done:
        name, value = value_of(GROUP, values["change"])
        return Done(before={"set": int(values["set"]), "group": GROUP, "options": {name: value}})


def _label(name: str, value: object) -> str:
    text = {True: _("on"), False: _("off")}[value] if isinstance(value, bool) else value
    return change_label(GROUP, name, text)

"""Change one option of a knowledge set: as a draft, which is measured before it can be published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext_lazy as _

from evaluation.models import OptionsDraft, RemedyApplication
from evaluation.services.options_drafts import draft_discard, draft_try
from evaluation.services.remedies.base import About, Done, Field, Offer, Remedy, Values, remedy
from knowledge.models import KnowledgeSet
from knowledge.selectors import sets_managed
from knowledge.selectors.options import option_label, site_options
from ragcore.options import RetrievalOptions, option_fields, resolve

MOST_SETS = 100
# sub-cause beneath the class → option and its new value; a number is a factor
ADVISED: Mapping[str, tuple[str, Any]] = {
    "score gap": ("cliff", False),
    "limit": ("top_k", 2.0),
    "duplicate": ("deduplicate", False),
    "reranker": ("rerank", False),
    "weak match": ("fused_limit", 2.0),
}
CHANGES: tuple[tuple[str, Any], ...] = (
    *ADVISED.values(),
    ("neighbours", 1),
    ("fuzzy", True),
)
# where the question should have been refused: higher thresholds refuse more
CHANGES_OF_REFUSALS: tuple[tuple[str, Any], ...] = (("min_cosine", 1.25), ("min_match", 1.25))


@remedy
class ChangeOption(Remedy):
    code = "option"
    label = _("Draft a change of a setting")
    help = _("A draft is tested with this question, and evaluated on the golden sets before it is published.")
    changes_search = False

    def offer(self, about: About) -> Offer | None:
        sets = _sets(about)
        if not sets or OptionsDraft.objects.filter(application__case=about.case, state="open").exists():
            return None
        first = sets[0]
        wished = CHANGES_OF_REFUSALS if about.case.expects_refusal else CHANGES
        changes = {f"{name}={value}": name for name, value in _changes(first, wished)}
        if not changes:
            return None
        advised = ADVISED.get(about.detail, ("", None))[0]
        value = next((key for key, name in changes.items() if name == advised), next(iter(changes)))
        return Offer(
            fields=(
                Field(
                    name="set",
                    label=_("knowledge set"),
                    value=str(first.pk),
                    choices=tuple((str(one.pk), one.shown_name) for one in sets),
                ),
                Field(
                    name="change",
                    label=_("setting"),
                    value=value,
                    choices=tuple((key, _label(key, name)) for key, name in changes.items()),
                ),
            ),
            is_advised=about.case.expects_refusal or about.wanted_remedy == self.code,
        )

    def apply(self, about: About, values: Values) -> Done:
        name, _equals, text = values["change"].partition("=")
        kind = option_fields(RetrievalOptions)[name].kind
        value = text == "True" if kind is bool else kind(text)
        return Done(before={"set": int(values["set"]), "options": {name: value}})

    def applied(self, about: About, application: RemedyApplication) -> None:
        """Store the draft with what was recorded, and try it with the question."""
        draft = OptionsDraft.objects.create(
            application=application,
            knowledge_set_id=application.before["set"],
            options=application.before["options"],
        )
        draft_try(scope=about.scope, viewer=about.actor, draft=draft, case=about.case)

    def undo(self, about: About, application: RemedyApplication) -> None:
        draft = OptionsDraft.objects.filter(application=application).first()
        if draft is not None:
            draft_discard(scope=about.scope, actor=about.actor, draft=draft)


def _sets(about: About) -> list[KnowledgeSet]:
    """Sets that the person owns, those of the passage or the question first."""
    mine = list(sets_managed(scope=about.scope).filter(tenant_id=about.scope.tenant_id).order_by("pk")[:MOST_SETS])
    near = set(about.case.message.conversation.sets.values_list("pk", flat=True))
    if about.document is not None:
        near |= set(about.document.sets.values_list("pk", flat=True))
    return [one for one in mine if one.pk in near]


def _changes(row: KnowledgeSet, wished: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Options with another value than the one in force."""
    site = site_options(tenant_id=row.tenant_id).get("retrieval", {})
    now = resolve(RetrievalOptions, ("site", site), ("set", row.options.get("retrieval", {}))).value
    for name, change in wished:
        value = change
        if isinstance(change, float):
            high, kind = option_fields(RetrievalOptions)[name].option.high, option_fields(RetrievalOptions)[name].kind
            raised = min(getattr(now, name) * change, high or getattr(now, name) * change)
            value = round(raised, 2) if kind is float else int(raised)
        if value != getattr(now, name):
            yield name, value


def _label(key: str, name: str) -> str:
    text = key.partition("=")[2]
    shown = {"True": _("on"), "False": _("off")}.get(text, text)
    return f"{option_label('retrieval', name)}: {shown}"

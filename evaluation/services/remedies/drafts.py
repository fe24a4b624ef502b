"""What remedies that draft settings have in common: sets of the person, values in force, the draft itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.models import OptionsDraft, RemedyApplication
from evaluation.services.options_drafts import draft_discard, draft_try
from evaluation.services.remedies.base import About, Field, Remedy
from knowledge.models import KnowledgeSet
from knowledge.selectors import sets_managed
from knowledge.selectors.options import QUERY_GROUPS, option_label, site_options
from ragcore.options import option_fields, resolve

MOST_SETS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One option and its new value. `factor`: the value is this times the one in force, within the option's range.

    `lowers`: only where the value is below the one in force.
    """

    name: str
    value: Any = None
    factor: float | None = None
    lowers: bool = False


class DraftRemedy(Remedy):
    """A remedy whose change waits as a draft until somebody publishes it."""

    changes_search = False

    def applied(self, about: About, application: RemedyApplication) -> None:
        """Store the draft with what was recorded, and try it with the question."""
        before = application.before
        draft = OptionsDraft.objects.create(
            application=application, knowledge_set_id=before["set"], group=before["group"], options=before["options"]
        )
        draft_try(scope=about.scope, viewer=about.actor, draft=draft, case=about.case)

    def undo(self, about: About, application: RemedyApplication) -> None:
        draft = OptionsDraft.objects.filter(application=application).first()
        if draft is not None:
            draft_discard(scope=about.scope, actor=about.actor, draft=draft)


def draft_sets(about: About) -> list[KnowledgeSet]:
    """Sets that the person owns, of the passage or the question; none while a draft of the case is open."""
    if OptionsDraft.objects.filter(application__case=about.case, state=OptionsDraft.State.OPEN).exists():
        return []
    managed = sets_managed(scope=about.scope).filter(tenant_id=about.scope.tenant_id).order_by("pk")[:MOST_SETS]
    near = set(about.case.message.conversation.sets.values_list("pk", flat=True))
    if about.document is not None:
        near |= set(about.document.sets.values_list("pk", flat=True))
    return [row for row in managed if row.pk in near]


def set_field(sets: Sequence[KnowledgeSet], label: Any) -> Field:
    """The field in which one of the sets is chosen."""
    choices = tuple((str(row.pk), row.shown_name) for row in sets)
    return Field(name="set", label=label, value=choices[0][0], choices=choices)


def changes_of(row: KnowledgeSet, group: str, proposed: Sequence[Change]) -> Iterator[tuple[str, Any]]:
    """Options with another value than the one in force in a set."""
    site = site_options(tenant_id=row.tenant_id).get(group, {})
    current: Any = resolve(QUERY_GROUPS[group], ("site", site), ("set", row.options.get(group, {}))).value
    for change in proposed:
        in_force = getattr(current, change.name)
        value = change.value if change.factor is None else _scaled(group, change, in_force)
        if value != in_force and not (change.lowers and value > in_force):
            yield change.name, value


def _scaled(group: str, change: Change, current: float) -> float:
    field = option_fields(QUERY_GROUPS[group])[change.name]
    scaled = current * (change.factor or 1)
    if field.option.high is not None:
        scaled = min(scaled, field.option.high)
    if field.option.low is not None:
        scaled = max(scaled, field.option.low)
    return round(scaled, 2) if field.kind is float else int(scaled)


def change_label(group: str, name: str, value: Any) -> str:
    """`name` with its value, as the list of changes shows it."""
    return f"{option_label(group, name)}: {value}"


def value_of(group: str, change: str) -> tuple[str, Any]:
    """Option and value of `name=value`, as a form sends it."""
    name, _equals, text = change.partition("=")
    kind = option_fields(QUERY_GROUPS[group])[name].kind
    return name, text == "True" if kind is bool else kind(text)

"""Summaries of filters for the chat page: per question and for the composer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from accounts.scope import Scope
from chat.models import Conversation, Message
from knowledge.models import KnowledgeSet, name_in_language
from knowledge.selectors import sets_listed, sets_readable
from knowledge.selectors.filters import attribute_names, document_names, filters_known
from knowledge.types import Filters


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterSummary:
    """The filters of one question."""

    values: str  # JSON as the page sends it
    words: Sequence[str]
    searched: int | None  # passages that they left; None: not known


def filters_of(message: Message) -> Filters:
    """What the question was asked with."""
    stored: Mapping[str, Any] = message.request.get("filters") or {}
    return Filters(
        axis=stored.get("axis"),
        capability=tuple(stored.get("capability", ())),
        organisation=tuple(stored.get("organisation", ())),
        tags=tuple(stored.get("tags", ())),
        metadata=stored.get("metadata", {}),
        documents=tuple(stored.get("documents", ())),
        related_to=stored.get("related_to"),
        relations=tuple(stored.get("relations") or ()),
    )


def filter_summaries(*, scope: Scope, messages: Sequence[Message]) -> dict[Any, FilterSummary]:
    """Message → its filters, for those that have some."""
    filtered = {message.pk: filters for message in messages if (filters := filters_of(message))}
    ids = sorted({number for filters in filtered.values() for number in _named(filters)})
    names = _names(scope, documents=ids) if filtered else {}
    return {
        message.pk: FilterSummary(
            values=json.dumps(_plain(filtered[message.pk])),
            words=list(_words(filtered[message.pk], names)),
            searched=message.trace.get("searched"),
        )
        for message in messages
        if message.pk in filtered
    }


def _named(filters: Filters) -> list[int]:
    """Documents whose titles say what was searched."""
    return [*filters.documents, *([filters.related_to] if filters.related_to else [])]


def sets_asked_in(*, scope: Scope, messages: Sequence[Message]) -> dict[Any, list[str]]:
    """Message → names of the knowledge sets to which its search was narrowed; none for all that the reader may ask."""
    sets_of_message = {message.pk: set(message.request.get("sets") or ()) for message in messages}
    sets_of_message = {pk: ids for pk, ids in sets_of_message.items() if ids}
    if not sets_of_message:
        return {}
    readable = set(sets_readable(scope=scope).values_list("pk", flat=True))
    set_ids = set().union(*sets_of_message.values())
    listed = sets_listed(scope=scope).filter(tenant_id=scope.tenant_id, pk__in=set_ids)
    names = dict(listed.order_by("pk").values_list("pk", name_in_language()))
    return {
        pk: [names[number] for number in sorted(ids) if number in names]
        for pk, ids in sets_of_message.items()
        if not ids >= readable
    }


def initial_filters(
    *, scope: Scope, conversation: Conversation | None, documents: Sequence[int] = ()
) -> dict[str, Any]:
    """What the script of the page begins with: the filters of the last question, and names for all that it shows.

    `documents`: ids to which a new conversation is limited; those that the asker may not ask are left out.
    """
    last = _last_turn(conversation) if conversation else None
    last_filters = filters_of(last) if last else Filters(documents=tuple(documents))
    valid = filters_known(scope=scope, filters=last_filters)
    return {"chosen": _plain(valid), "names": _names(scope, documents=valid.documents)}


def _last_turn(conversation: Conversation) -> Message | None:
    """The last turn of the branch that is shown."""
    return conversation.leaf or conversation.messages.order_by("created").last()


def _names(scope: Scope, *, documents: Sequence[int]) -> dict[str, dict[str, str]]:
    listed = sets_listed(scope=scope).filter(tenant_id=scope.tenant_id)
    return {
        "axes": {axis.value: str(axis.label) for axis in KnowledgeSet.Axis},
        "sets": dict(listed.values_list("code", name_in_language())),
        "attributes": attribute_names(scope=scope),
        "documents": document_names(scope=scope, ids=documents),
    }


def _plain(filters: Filters) -> dict[str, Any]:
    """Only what narrows, in the form of the API."""
    every = {
        "axis": filters.axis,
        "capability": list(filters.capability),
        "organisation": list(filters.organisation),
        "tags": list(filters.tags),
        "metadata": dict(filters.metadata),
        "documents": list(filters.documents),
        "related_to": filters.related_to,
        "relations": list(filters.relations),
    }
    return {name: value for name, value in every.items() if value}


def _words(filters: Filters, names: Mapping[str, Mapping[str, str]]) -> list[str]:
    axis = [names["axes"].get(filters.axis, filters.axis)] if filters.axis else []
    by_category = {
        KnowledgeSet.Axis.CAPABILITY: filters.capability,
        KnowledgeSet.Axis.ORGANISATION: filters.organisation,
    }
    codes = [
        _("%(kind)s: %(name)s") % {"kind": category.label, "name": names["sets"].get(code, code)}
        for category, codes in by_category.items()
        for code in codes
    ]
    attributes = [
        f"{names['attributes'].get(name, name)}: {_condition(condition)}"
        for name, condition in filters.metadata.items()
    ]
    titles = [names["documents"].get(str(number), _("a document")) for number in filters.documents]
    if filters.related_to:
        related = names["documents"].get(str(filters.related_to), _("a document"))
        titles.append(_("%(kind)s: %(name)s") % {"kind": _("related to"), "name": related})
    return [*axis, *codes, *titles, *(f"#{tag}" for tag in filters.tags), *attributes]


def _condition(condition: Any) -> str:
    if isinstance(condition, Mapping):
        low, high = condition.get("gte", condition.get("gt")), condition.get("lte", condition.get("lt"))
        if low is None or high is None:
            return _("from %(low)s") % {"low": low} if high is None else _("until %(high)s") % {"high": high}
        return f"{low} – {high}"
    values = condition if isinstance(condition, (list, tuple)) else [condition]
    return ", ".join(value if isinstance(value, str) else json.dumps(value) for value in values)

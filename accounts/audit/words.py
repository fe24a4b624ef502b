"""Details of audit events in words: names of what was recorded, and values as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

LABELS = {
    "address": gettext_lazy("network address"),
    "after": gettext_lazy("after"),
    "before": gettext_lazy("before"),
    "case": gettext_lazy("feedback case"),
    "changes": gettext_lazy("changes"),
    "chunk": gettext_lazy("passage"),
    "clearance": gettext_lazy("clearance"),
    "conversation": gettext_lazy("conversation"),
    "document": gettext_lazy("document"),
    "documents": gettext_lazy("documents"),
    "editors": gettext_lazy("editors"),
    "expires": gettext_lazy("expires"),
    "fields": gettext_lazy("changed fields"),
    "filters": gettext_lazy("filters"),
    "from_set": gettext_lazy("from set"),
    "groups": gettext_lazy("user groups"),
    "job": gettext_lazy("job"),
    "key": gettext_lazy("API key"),
    "kind": gettext_lazy("kind"),
    "method": gettext_lazy("sign-in with"),
    "name": gettext_lazy("name"),
    "note": gettext_lazy("note"),
    "number": gettext_lazy("number"),
    "options": gettext_lazy("options"),
    "owners": gettext_lazy("owners"),
    "person": gettext_lazy("person"),
    "reason": gettext_lazy("reason"),
    "role": gettext_lazy("role"),
    "scopes": gettext_lazy("scopes"),
    "second_factor": gettext_lazy("with second step"),
    "sessions": gettext_lazy("sessions"),
    "set": gettext_lazy("knowledge set"),
    "sets": gettext_lazy("knowledge sets"),
    "source": gettext_lazy("source"),
    "sources": gettext_lazy("sources"),
    "tags": gettext_lazy("tags"),
    "tenant": gettext_lazy("tenant"),
    "title": gettext_lazy("title"),
    "to_set": gettext_lazy("to set"),
    "user": gettext_lazy("user"),
    "users": gettext_lazy("users"),
    "version": gettext_lazy("version"),
    "visibility": gettext_lazy("visibility"),
    "weight": gettext_lazy("weight"),
}
# what an event is about → the page of it; the first one that the event names
PAGES = {
    "case": "admin:feedback_badcase_change",
    "document": "admin:knowledge_document_change",
    "source": "admin:knowledge_source_change",
    "job": "admin:knowledge_ingestjob_change",
    "set": "admin:knowledge_knowledgeset_change",
}


def details_in_words(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Name and value of every detail, nested ones opened; a name without a label is shown as it is."""
    return list(_lines("", data))


def _lines(prefix: str, data: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for name, value in data.items():
        words = str(LABELS.get(name, name.replace("_", " ")))
        label = f"{prefix}: {words}" if prefix else words
        if isinstance(value, Mapping):
            yield from _lines("" if name == "changes" else label, value)
        elif prefix == "" and isinstance(value, list) and len(value) == 2 and _is_change(data, name):
            yield label, f"{_value(value[0])} → {_value(value[1])}"
        else:
            yield label, _value(value)


def _is_change(data: Mapping[str, Any], name: str) -> bool:
    """Whether all values beside it are pairs, too: `changes` maps each field to its value before and after."""
    return all(isinstance(value, list) and len(value) == 2 for value in data.values())


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if value in (None, "", []):
        return _("none")
    if isinstance(value, list):
        return ", ".join(_value(one) for one in value)
    return str(LABELS.get(value, value)) if isinstance(value, str) else str(value)

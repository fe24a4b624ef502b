"""Details of audit events in words: names of what was recorded, and values as people read them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

LABELS = {
    "given": gettext_lazy("handed over"),
    "accepted": gettext_lazy("accepted"),
    "adapter": gettext_lazy("query adapter"),
    "address": gettext_lazy("network address"),
    "after": gettext_lazy("after"),
    "announcement": gettext_lazy("announcement"),
    "answer": gettext_lazy("approved answer"),
    "assignee": gettext_lazy("reviewer"),
    "before": gettext_lazy("before"),
    "case": gettext_lazy("feedback case"),
    "cases": gettext_lazy("cases"),
    "cause": gettext_lazy("cause"),
    "changes": gettext_lazy("changes"),
    "chunk": gettext_lazy("passage"),
    "clearance": gettext_lazy("clearance"),
    "code": gettext_lazy("code"),
    "codes": gettext_lazy("result of each server"),
    "configurations": gettext_lazy("configurations"),
    "conversation": gettext_lazy("conversation"),
    "days": gettext_lazy("days"),
    "decision": gettext_lazy("decision"),
    "document": gettext_lazy("document"),
    "documents": gettext_lazy("documents"),
    "draft": gettext_lazy("draft"),
    "edit": gettext_lazy("edit"),
    "editors": gettext_lazy("editors"),
    "enabled": gettext_lazy("enabled"),
    "experiment": gettext_lazy("experiment"),
    "expires": gettext_lazy("expires"),
    "faults": gettext_lazy("lines with errors"),
    "fields": gettext_lazy("changed fields"),
    "file": gettext_lazy("file"),
    "filters": gettext_lazy("filters"),
    "fit": gettext_lazy("fit of the reranker"),
    "editors_removed": gettext_lazy("editors removed"),
    "floor": gettext_lazy("lowest clearance"),
    "for_owners": gettext_lazy("for owners only"),
    "former": gettext_lazy("previous model"),
    "from_set": gettext_lazy("from set"),
    "groups": gettext_lazy("user groups"),
    "issuer": gettext_lazy("identity provider"),
    "items": gettext_lazy("files"),
    "job": gettext_lazy("job"),
    "key": gettext_lazy("API key"),
    "kind": gettext_lazy("kind"),
    "left": gettext_lazy("codes left"),
    "members_added": gettext_lazy("members added"),
    "members_removed": gettext_lazy("members removed"),
    "message": gettext_lazy("answer"),
    "method": gettext_lazy("sign-in with"),
    "minutes": gettext_lazy("minutes"),
    "mode": gettext_lazy("mode"),
    "model": gettext_lazy("model"),
    "name": gettext_lazy("name"),
    "note": gettext_lazy("note"),
    "number": gettext_lazy("number"),
    "options": gettext_lazy("options"),
    "origin": gettext_lazy("origin of the page"),
    "origins": gettext_lazy("kinds of pairs"),
    "other": gettext_lazy("other entity"),
    "other_document": gettext_lazy("other document"),
    "owner": gettext_lazy("owner"),
    "owner_added": gettext_lazy("new owner"),
    "owners": gettext_lazy("owners"),
    "owners_removed": gettext_lazy("owners removed"),
    "embed_key": gettext_lazy("key"),
    "pages": gettext_lazy("origins of the pages"),
    "pair": gettext_lazy("pair"),
    "passages": gettext_lazy("passages"),
    "person": gettext_lazy("person"),
    "proposal": gettext_lazy("proposal"),
    "reason": gettext_lazy("reason"),
    "relation": gettext_lazy("kind of relation"),
    "recovers": gettext_lazy("recovers at"),
    "rejected": gettext_lazy("rejected"),
    "removed": gettext_lazy("removed"),
    "request": gettext_lazy("request"),
    "resolution": gettext_lazy("resolution"),
    "role": gettext_lazy("role"),
    "run": gettext_lazy("run"),
    "scopes": gettext_lazy("scopes"),
    "second_factor": gettext_lazy("with second step"),
    "service_owner": gettext_lazy("responsible person"),
    "sessions": gettext_lazy("sessions"),
    "set": gettext_lazy("knowledge set"),
    "set_name": gettext_lazy("knowledge set"),
    "servers": gettext_lazy("servers"),
    "sets": gettext_lazy("knowledge sets"),
    "share": gettext_lazy("share of the questions"),
    "shared_by": gettext_lazy("shared by"),
    "source": gettext_lazy("source"),
    "sources": gettext_lazy("sources"),
    "state": gettext_lazy("state"),
    "status": gettext_lazy("status"),
    "tags": gettext_lazy("tags"),
    "taken_from": gettext_lazy("taken from"),
    "tenant": gettext_lazy("tenant"),
    "term": gettext_lazy("term"),
    "terms": gettext_lazy("terms"),
    "title": gettext_lazy("title"),
    "to": gettext_lazy("to"),
    "to_set": gettext_lazy("to set"),
    "training": gettext_lazy("training"),
    "triples": gettext_lazy("facts"),
    "user": gettext_lazy("user"),
    "users": gettext_lazy("users"),
    "version": gettext_lazy("version"),
    "visibility": gettext_lazy("visibility"),
    "wanted": gettext_lazy("how many"),
    "weight": gettext_lazy("weight"),
    "whole": gettext_lazy("whole conversation"),
    "with_answer": gettext_lazy("with the answer"),
}
# values that are recorded as codes
VALUES: dict[str, Any] = {
    "answered": gettext_lazy("Answered"),
    "approved": gettext_lazy("Approved"),
    "candidate": gettext_lazy("Suggested"),
    "closed": gettext_lazy("Closed"),
    "conversation": gettext_lazy("Small talk"),
    "degraded": gettext_lazy("Extractive (no LLM)"),
    "alone": gettext_lazy("alone"),
    "fused": gettext_lazy("together"),
    "everyone": gettext_lazy("everyone"),
    "in_work": gettext_lazy("In progress"),
    "members": gettext_lazy("members"),
    "nowhere": gettext_lazy("nowhere"),
    "open": pgettext_lazy("state of a case", "Open"),
    "refused": gettext_lazy("Not in the documents"),
    "rejected": gettext_lazy("Rejected"),
    "search_results": gettext_lazy("Search results"),
}
UUID_TEXT = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ID_SHOWN = 8  # characters
# what an event is about → the page of it; the first one that the event names
PAGES = {
    "case": "admin:feedback_badcase_change",
    "document": "admin:knowledge_document_change",
    "source": "admin:knowledge_source_change",
    "job": "admin:knowledge_ingestjob_change",
    "set": "admin:knowledge_knowledgeset_change",
}


def outcome_in_words(action: str, data: Mapping[str, Any]) -> str:
    """What an act came to, where its event says so: `Open → Closed`, `failed`; "" for the others."""
    if "before" in data and "after" in data and not isinstance(data["after"], (Mapping, list)):
        return f"{_value(data['before'])} → {_value(data['after'])}"
    codes = data.get("codes", {"": data["code"]} if "code" in data else None)
    if not action.endswith("model.test") or not isinstance(codes, Mapping):
        return ""
    return _("passed") if codes and set(codes.values()) == {"ok"} else _("failed")


def target_in_words(target: str) -> str:
    """The target as people read it: of an id that nobody can read only the beginning."""
    return f"#{target[:ID_SHOWN]}…" if UUID_TEXT.fullmatch(target) else target


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
        return ", ".join(_value(item) for item in value)
    return str(VALUES.get(value) or LABELS.get(value) or value) if isinstance(value, str) else str(value)

"""Clearance and readers of a document as its source says, through the field map or a rule of its handler.

The targets `clearance` and `readers` are no attributes: what stands there is who may read. A clearance is never below
the floors of the source and of its folder, nor below what a sender asked for by name. A value that cannot be read takes
the strictest that the source gives without it, and the owner of the source is told. A rule may set the clearance, too;
of both the stricter one holds.

`Document.handled["security"]` remembers what was written, so that a later value of the source takes its place. Where
keepers have changed the clearance since, the source only raises it.

What a source says together with another content counts at once where it is stricter. Where it lets more people in, it
counts from when that content is live: until then the content before it is what they would read (`security_hold`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext_noop

from accounts.audit.events import event_add
from accounts.models import MAX_CLEARANCE
from knowledge.models import Document, ReaderList, Source
from knowledge.seeds import seed_security_levels
from knowledge.services.floors import source_floor
from knowledge.services.handlers.rules import CLEARANCE, READERS, SECURITY_TARGETS
from knowledge.services.reader_lists import NamedReaders, item_readers_ensure, source_readers_ensure
from knowledge.types import SourceOptions, strictly
from notifications.kinds import notification_kind
from notifications.models import Notification
from notifications.services import notification_send

LIVE = "live"  # in the notes: whom the source named for the live version, while a newer one is on its way
UNREAD = notification_kind(
    "source.security_unread",
    gettext_noop("Source “%(source)s” gives security levels that cannot be read, such as “%(value)s”."),
)
UNKNOWN = notification_kind(
    "source.readers_unknown",
    gettext_noop("Source “%(source)s” names readers who are unknown here, such as “%(value)s”. They have no access."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecuritySaid:
    """What a source says about a document; None: nothing. `rule`: the clearance that a rule has set."""

    clearance: Any = None
    readers: Any = None
    rule: Any = None
    maps_readers: bool = False
    item: list[str] | None = None  # readers as the connector names them; None: it says nothing


def security_said(
    document: Document, field_map: Mapping[str, str], metadata: Mapping[str, Any], *, rule: Any = None
) -> SecuritySaid:
    """The values of the fields that are mapped to the clearance and the readers; of several the last that is there.

    Names of readers are taken out of the attributes of the document, which all of its readers see, and remembered.
    """
    noted = document.handled.get("security", {})
    clearance, readers = None, noted.get("acl")
    for theirs, ours in field_map.items():
        if ours == CLEARANCE and metadata.get(theirs) not in (None, ""):
            clearance = metadata[theirs]
        elif ours == READERS and theirs in document.metadata:
            readers = document.metadata.pop(theirs)
    return SecuritySaid(
        clearance=clearance,
        readers=readers,
        rule=rule,
        maps_readers=READERS in field_map.values(),
        item=noted.get("item"),
    )


def level_read(value: Any, *, levels: Mapping[str, int] | None = None) -> int | None:
    """A clearance from 0 to 4 by number or name, in the words of a source first; None: it cannot be read."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if not isinstance(value, str):
        return int(value) if value in range(MAX_CLEARANCE + 1) else None
    word = _folded(value)
    of_source = {_folded(name): level for name, level in (levels or {}).items()}
    level = of_source.get(word, _levels().get(word))
    return level if level is not None else level_read(int(word)) if word in "01234" and len(word) == 1 else None


def _folded(word: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", word).casefold().replace("_", " ").replace("-", " ").split())


@lru_cache(maxsize=1)
def _levels() -> Mapping[str, int]:
    return {_folded(word): int(level) for level, words in seed_security_levels().items() for word in words}


# ── writing ─────────────────────────────────────────────────────────────────────────────────────


def says_anything(document: Document, field_map: Mapping[str, str], *, rule: Any = None) -> bool:
    """Whether the source of a document says, or has said, who may read it."""
    return rule is not None or "security" in document.handled or bool(SECURITY_TARGETS & set(field_map.values()))


def security_hold(document: Document) -> None:
    """Other content of a locked document arrives: until it is live, nobody new reads what is live now. Not saved."""
    noted = document.handled.get("security")
    if noted and document.live_version_id is not None and LIVE not in noted:
        readers = {name: noted[name] for name in ("item", "acl") if name in noted}
        document.handled = {**document.handled, "security": {**noted, LIVE: readers}}


def security_release(document: Document) -> bool:
    """The end of security_hold, once the newest version is the live one; whether anything ended. Not saved."""
    noted = document.handled.get("security", {})
    if LIVE not in noted:
        return False
    newest = document.versions.filter(withdrawn=None).order_by("-number").values_list("pk", flat=True).first()
    if newest != document.live_version_id:
        return False
    rest = {name: value for name, value in noted.items() if name != LIVE}
    document.handled = {**document.handled, "security": rest}
    return True


def security_write(document: Document, security: SecuritySaid, *, sent_clearance: int | None = None) -> None:
    """Write on a locked document what its source says about who may read it. Idempotent.

    `sent_clearance`: the clearance that a sender asked for now, below which nothing is read.
    """
    noted: Mapping[str, Any] = document.handled.get("security", {})
    sent_clearance = max(sent_clearance or 0, noted.get("sent", 0))
    clearance, unread = _clearance(document, security, noted, sent_clearance)
    before = (document.clearance, document.source_readers_id)
    document.clearance = clearance[0]
    row = document.source_readers = _readers(document, security, noted.get(LIVE))
    record = {
        "sent": sent_clearance,
        "wrote": clearance[1],
        "rule": security.rule,
        "unread": unread,
        "acl": security.readers,
        "item": security.item,
        LIVE: noted.get(LIVE),
    }
    record = {name: value for name, value in record.items() if value not in (None, "", 0) or name == "wrote"}
    document.handled = {name: value for name, value in document.handled.items() if name != "security"}
    if any(value is not None for value in record.values()):
        document.handled["security"] = record
    document.save(update_fields=["clearance", "source_readers", "metadata", "handled", "updated"])
    if before != (document.clearance, document.source_readers_id):
        _note(document, before)
    if unread and unread != noted.get("unread"):
        _tell(document.source, UNREAD, unread)
    if row is not None and row.unknown and row.pk != before[1]:
        _tell(document.source, UNKNOWN, row.unknown[0])


def _readers(document: Document, security: SecuritySaid, live: Mapping[str, Any] | None) -> ReaderList | None:
    """The list of those whom the source names: by its connector, by a field that its handler maps, or by both."""
    field_value = security.readers if security.maps_readers else None
    before = None
    if live is not None:
        before = NamedReaders(item=live.get("item"), field_value=live.get("acl") if security.maps_readers else None)
    if security.item is None and before in (None, NamedReaders(field_value=field_value), NamedReaders()):
        return source_readers_ensure(tenant_id=document.tenant_id, value=field_value)
    readers = NamedReaders(item=security.item, field_value=field_value)
    return item_readers_ensure(source=document.source, readers=readers, live=before)


def _clearance(
    document: Document, security: SecuritySaid, noted: Mapping[str, Any], sent_clearance: int
) -> tuple[tuple[int, int | None], str]:
    """(The clearance of the document, what the source has written of it), and a value that cannot be read."""
    options = strictly(SourceOptions, document.source.options)
    floor = max(source_floor(document.source), sent_clearance)
    usual = max(options.clearance, floor)
    values = [value for value in (security.clearance, security.rule) if value is not None]
    levels = [level_read(value, levels=options.levels) for value in values]
    unread = next((str(value)[:200] for value, level in zip(values, levels, strict=True) if level is None), "")
    readable_levels = [level for level in levels if level is not None]
    wrote = noted.get("wrote")
    if not values and wrote is None:
        return (max(document.clearance, floor), None), ""
    clearance = max([floor if values and not unread else usual, *readable_levels])
    is_theirs = document.clearance == (usual if wrote is None else wrote)  # nobody has changed it since
    if is_theirs and LIVE in noted:
        clearance = max(clearance, document.clearance)
        return (clearance, clearance), unread
    return (clearance if is_theirs else max(document.clearance, clearance), clearance if values else None), unread


def _note(document: Document, before: tuple[int, int | None]) -> None:
    """An event in the audit log, without an actor: the source has said so."""
    event_add(
        actor=None,
        tenant_id=document.tenant_id,
        action="document.security",
        target=document.title,
        data={
            "document": document.pk,
            "source": document.source.name,
            "before": {"clearance": before[0], "readers": before[1]},
            "after": {"clearance": document.clearance, "readers": document.source_readers_id},
        },
    )


def _tell(source: Source, kind: str, value: str) -> None:
    """Tell the owner of the source, once until it is read."""
    link = reverse("admin:knowledge_source_change", args=[source.pk])
    waiting = Notification.objects.filter(recipient=source.owner_id, kind=kind, link=link, read=None)
    if source.owner is not None and not waiting.exists():
        notification_send(recipients=[source.owner], kind=kind, data={"source": source.name, "value": value}, link=link)

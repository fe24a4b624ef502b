"""What is known of the items of a source, so that most of a long list needs no statement of its own.

A whole list touches every document, so their stamps are read at once, as numbers: some hundred bytes of each document.
Of a list of changes the first items are looked up one by one, and all only where it turns out to be long.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, KeysView
from json.encoder import encode_basestring

from django.db.models.fields.json import KeyTextTransform, KeyTransform

from knowledge.connectors.items import Item, Stamp
from knowledge.models import Document, DocumentRelation, Source
from knowledge.services.relations.connectors import stated_by_item

ONE_BY_ONE = 200  # items of a list of changes
ROWS_AT_ONCE = 2000
_text = json.JSONEncoder(ensure_ascii=False).encode
MOST_FORMS = 100
_forms: dict[tuple[str, ...], tuple[tuple[str, str], ...]] = {}  # by the keys of stamps; a connector has one or two


class KnownItems:
    """Whether items are as they were at the last run."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._one_by_one = ONE_BY_ONE if source.cursor else 0
        self._stamps: dict[int, int | None] | None = None  # None: a document without a stamp
        self._readers: dict[int, int] = {}
        self._relations: dict[int, int] = {}
        self._new: set[int] = set()  # of which there was no document

    def is_unchanged(self, item: Item) -> bool:
        """Its stamp is that of the last run, and so are its readers where it names some."""
        stamps = self._loaded()
        if stamps is None or not item.stamp or item.was:
            return False
        key = hash(item.external_id)
        if stamps.get(key) != hash(_stamp_text(item.stamp)):
            return False
        return item.readers is None or self._readers.get(key) == hash(_text(readers_of_item(item)))

    def is_related_alike(self, item: Item) -> bool:
        """It states the relations that are stored; False also where nobody has looked yet."""
        if self._stamps is None or item.was:
            return False
        stored = self._relations.get(hash(item.external_id), 0)
        if not item.relations:
            return not stored
        return stored == _sum(stated_by_item(source_id=self._source.pk, item=item))

    def document(self, external_id: str) -> Document | None:
        """The document of an item, with its stamp. What was not there before is looked up from the second time on."""
        key = hash(external_id)
        if self._stamps is not None and key not in self._stamps and key not in self._new:
            self._new.add(key)
            return None
        rows = Document.objects.filter(source=self._source, external_id=external_id, deleted=None)
        return rows.only("pk", "sha256", "handled", "tenant_id").first()

    @property
    def keys(self) -> KeysView[int] | None:
        """Of all documents of the source that have an id there; None: the list was short, nobody has looked."""
        return None if self._stamps is None else self._stamps.keys()

    def _loaded(self) -> dict[int, int | None] | None:
        """Stamps by key; None while items are looked up one by one. Called once for each item."""
        if self._stamps is None:
            if self._one_by_one > 0:
                self._one_by_one -= 1
            else:
                self._stamps = self._load()
        return self._stamps

    def _load(self) -> dict[int, int | None]:
        stamps: dict[int, int | None] = {}
        rows = Document.objects.filter(source=self._source, deleted=None)
        texts = (KeyTextTransform("seen", "handled"), KeyTextTransform("item", KeyTransform("security", "handled")))
        columns = rows.values_list("external_id", *texts)
        for external_id, stamp, readers in columns.iterator(chunk_size=ROWS_AT_ONCE):
            key = hash(external_id)
            stamps[key] = hash(stamp) if stamp else None
            if readers is not None:
                self._readers[key] = hash(readers)
        for external_id, kind, target_key in self._stored_relations():
            key = hash(external_id)
            self._relations[key] = self._relations.get(key, 0) ^ hash((kind, target_key))
        return stamps

    def _stored_relations(self) -> Iterator[tuple[str, str, str]]:
        """What the source has stated, each once, however many documents answer it."""
        rows = DocumentRelation.objects.filter(
            source__source=self._source, source__deleted=None, origin=DocumentRelation.Origin.CONNECTOR
        )
        columns = rows.order_by().values_list("source__external_id", "kind", "target_key").distinct()
        return columns.iterator(chunk_size=ROWS_AT_ONCE)


def readers_of_item(item: Item) -> list[str] | None:
    """The names of readers as they are stored: each once, in order."""
    return None if item.readers is None else sorted(set(item.readers))


def stamp_of(document: Document | None) -> Stamp:
    """The stamp that was stored with a document."""
    stamp: Stamp = document.handled.get("seen", {}) if document else {}
    return stamp


def item_key(external_id: str) -> int:
    """64 bits of a hash, the same within a process: a million items take some tens of megabytes."""
    return hash(external_id)


def _sum(stated: set[tuple[str, str]]) -> int:
    """A number of a set, whatever its order."""
    total = 0
    for statement in stated:
        total ^= hash(statement)
    return total


def _stamp_text(stamp: Stamp) -> str:
    """A stamp as PostgreSQL writes it: short keys first. One that it writes otherwise is looked up by itself."""
    names = tuple(stamp)
    form = _forms.get(names) or _form(names)
    parts = []
    for name, beginning in form:
        value = stamp[name]
        if type(value) is int:
            parts.append(f"{beginning}{value}")
        elif type(value) is str:
            parts.append(beginning + encode_basestring(value))
        else:
            return _text({name: stamp[name] for name, _beginning in form})
    return "{" + ", ".join(parts) + "}"


def _form(names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The keys of a stamp in the order of PostgreSQL, each with what stands before its value."""
    order = sorted(names, key=lambda name: (len(name), name))
    form = tuple((name, f"{encode_basestring(name)}: ") for name in order)
    if len(_forms) < MOST_FORMS:
        _forms[names] = form
    return form

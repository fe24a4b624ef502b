"""What is known of the items of a source, so that most of a long list needs no statement of its own.

The first items of a run are looked up one by one. Once a list turns out to be long, the stamps of all documents of the
source are read at once, as numbers: some twenty bytes of each document.
"""

from __future__ import annotations

import json
from typing import Any

from django.db.models.fields.json import KeyTextTransform, KeyTransform

from knowledge.connectors.items import Item, Stamp
from knowledge.models import Document, Source

ONE_BY_ONE = 200  # items
ROWS_AT_ONCE = 2000


class KnownItems:
    """Whether items are as they were at the last run."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._asked = 0
        self._stamps: dict[int, int] | None = None
        self._readers: dict[int, int] = {}

    def is_unchanged(self, item: Item) -> bool:
        """Its stamp is that of the last run, and so are its readers where it names some."""
        if not item.stamp or item.was:
            return False
        self._asked += 1
        if self._stamps is None:
            if self._asked <= ONE_BY_ONE:
                return False
            self._load()
        key = item_key(item.external_id)
        if (self._stamps or {}).get(key) != hash(_stamp_text(item.stamp)):
            return False
        return item.readers is None or self._readers.get(key) == hash(_text(readers_of_item(item)))

    def document(self, external_id: str) -> Document | None:
        """The document of an item, with its stamp."""
        rows = Document.objects.filter(source=self._source, external_id=external_id, deleted=None)
        return rows.only("pk", "sha256", "handled", "tenant_id").first()

    def _load(self) -> None:
        self._stamps = {}
        rows = Document.objects.filter(source=self._source, deleted=None).exclude(external_id="")
        texts = (KeyTextTransform("seen", "handled"), KeyTextTransform("item", KeyTransform("security", "handled")))
        columns = rows.values_list("external_id", *texts)
        for external_id, stamp, readers in columns.iterator(chunk_size=ROWS_AT_ONCE):
            if stamp:
                key = item_key(external_id)
                self._stamps[key] = hash(stamp)
                if readers is not None:
                    self._readers[key] = hash(readers)


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


def _stamp_text(stamp: Stamp) -> str:
    """A stamp as PostgreSQL writes it: short keys first. One that it writes otherwise is looked up by itself."""
    return _text({key: stamp[key] for key in sorted(stamp, key=lambda key: (len(key), key))})


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)

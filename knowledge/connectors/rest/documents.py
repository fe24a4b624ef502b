"""One object of a REST source as a document: its HTML with comments, or the bytes of a file."""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from django.conf import settings
from jmespath.exceptions import JMESPathError

from knowledge.connectors.items import FetchedItem, Item, ItemRelation, Listed, Stamp, UnreadableItem
from knowledge.connectors.rest.description import Attachments, Comments, Expression, ItemList
from knowledge.connectors.rest.moments import moment_of
from knowledge.connectors.rest.pages import PageReader
from knowledge.connectors.rest.templates import (
    filled,
    filled_address,
    filled_html,
    strict_value_of,
    text_of,
    texts_of,
    value_of,
)
from knowledge.connectors.rest.texts import FORMATS
from knowledge.rest_errors import RestItemError
from ragcore.errors import UrlTooLargeError
from ragcore.parsing import format_of

MAX_ID = 512  # characters of an external id
MAX_NAME = 120  # characters of a file name without its ending
_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*\u200b-\u200f\u202a-\u202e\u2066-\u2069]+')
Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentMaker:
    """Makes items of the objects of one list. `digest`: of the description; other texts come of another one."""

    item_list: ItemList
    pages: PageReader
    values: Values
    digest: str
    has_comments: bool

    def item(self, raw: Any) -> Item | UnreadableItem:
        """The document of an object; unreadable where it has no id."""
        described = self.item_list
        own_id = text_of(value_of(described.id, raw))
        if not own_id:
            error = RestItemError("no_id", list=described.name, expression=described.id)
            return UnreadableItem(path=described.name, error=error)
        external_id = self.external_id(own_id)
        if len(external_id) > MAX_ID:
            return UnreadableItem(path=external_id[:MAX_ID], error=RestItemError("long_id", limit=MAX_ID))
        values = {**self.values, "item": raw, "id": own_id}
        title = filled(described.title, values)
        version = text_of(value_of(described.version or described.changed, raw))
        stamp: Stamp = self._stamp(version)
        if not stamp and self._is_whole():
            stamp = self._content(values, title).stamp
        parent = text_of(value_of(described.parent, raw))
        relations = (ItemRelation(kind="belongs_to", external_id=self.external_id(parent, described.parent_list)),)
        read = partial(self._file if described.file else self._text, values, title, stamp)
        return Item(
            external_id=external_id,
            name=self._name(values, title),
            stamp=stamp,
            read=read,
            title=title[:512],
            metadata=self._metadata(raw, values),
            tags=tuple(texts_of(value_of(described.tags, raw))),
            readers=self._readers(raw),
            relations=relations if parent else (),
        )

    def external_id(self, own_id: str, list_name: str = "") -> str:
        """Of an object of this list, or of another one."""
        each = f"{self.values['each']}/" if self.item_list.id_per_each else ""
        return f"{list_name or self.item_list.name}/{each}{own_id}"

    def attachments(self, raw: Any, item: Item) -> list[Listed]:
        """The files of an object, each a document that belongs to it. Raises as PageReader.objects."""
        described = self.item_list.attachments
        if described is None:
            return []
        values = {**self.values, "item": raw, "id": text_of(value_of(self.item_list.id, raw))}
        holder = raw
        if described.request is not None:
            holder = self.pages.detail(described.request, values, list_name=self.item_list.name)
        files = value_of(described.items, holder)
        return [self._attachment(described, file, item, values) for file in files or []]

    # ── what a read brings ──────────────────────────────────────────────────────────────────────

    def _is_whole(self) -> bool:
        """Whether the text comes with the list: then nothing has to be asked for to know whether it has changed."""
        described = self.item_list
        asks = described.detail is not None or (
            described.comments is not None and described.comments.request is not None
        )
        return not described.file and not asks

    def _text(self, values: Values, title: str, stamp: Stamp, last: Stamp) -> FetchedItem | None:
        if stamp and last == stamp:
            return None
        fetched = self._content(values, title)
        fetched = replace(fetched, stamp=stamp) if stamp else fetched
        return None if last == fetched.stamp else fetched

    def _content(self, values: Values, title: str) -> FetchedItem:
        """The HTML of an object, and the hash of it as its stamp."""
        described = self.item_list
        detail: Any = None
        if described.detail is not None:
            detail = self.pages.detail(described.detail, values, list_name=described.name)
        values = {**values, "detail": detail}
        text = filled_html(described.text, values, formats=FORMATS)
        comments = self._comments(described.comments, values) if described.comments and self.has_comments else ""
        head = f"<title>{html.escape(title)}</title>" if title else ""
        headline = f"<h1>{html.escape(title)}</h1>\n" if title else ""
        content = (
            f'<!DOCTYPE html>\n<html><head><meta charset="utf-8">{head}</head>\n'
            f"<body>\n{headline}{text}\n{comments}</body></html>\n"
        ).encode()
        stamp = {"sha256": hashlib.sha256(content).hexdigest()}
        return FetchedItem(name=self._name(values, title), content=content, stamp=stamp)

    def _comments(self, comments: Comments, values: Values) -> str:
        """Each with its author and day, below a heading; empty where there are none."""
        if comments.request is not None:
            holder = self.pages.detail(comments.request, values, list_name=self.item_list.name)
        else:
            holder = values["detail"] if values["detail"] is not None else values["item"]
        texts = []
        for comment in value_of(comments.items, holder) or []:
            text = filled_html(comments.text, {**values, "item": comment}, formats=FORMATS).strip()
            who = ", ".join(filter(None, (text_of(value_of(comments.author, comment)), _day(comments.date, comment))))
            if text:
                texts.append(f"<p><strong>{html.escape(who)}</strong></p>\n{text}\n" if who else f"{text}\n")
        return f"<h2>Comments · 评论</h2>\n{''.join(texts)}" if texts else ""

    def _file(self, values: Values, title: str, stamp: Stamp, last: Stamp) -> FetchedItem | None:
        described, raw = self.item_list, values["item"]
        size = value_of(described.size, raw)
        address = filled_address(described.file, values)
        return self._bytes(address, name=self._name(values, title), size=size, stamp=stamp, last=last)

    def _bytes(self, address: str, *, name: str, size: Any, stamp: Stamp, last: Stamp) -> FetchedItem | None:
        """Raises UnsupportedFormatError and UrlTooLargeError before anything is fetched, as far as that is known."""
        if stamp and last == stamp:
            return None
        format_of(name)
        if text_of(size).isdigit() and int(text_of(size)) > settings.MAX_UPLOAD_BYTES:
            raise UrlTooLargeError(limit_bytes=settings.MAX_UPLOAD_BYTES)
        if not address:
            raise RestItemError("address")
        content = self.pages.client.file(address).content
        stamp = stamp or {"sha256": hashlib.sha256(content).hexdigest()}
        return None if last == stamp else FetchedItem(name=name, content=content, stamp=stamp)

    def _attachment(self, described: Attachments, raw: Any, item: Item, values: Values) -> Listed:
        own_id = text_of(value_of(described.id, raw))
        name = safe_name(text_of(value_of(described.name, raw)) or own_id)
        external_id = f"{item.external_id}/{own_id}"
        if not own_id or len(external_id) > MAX_ID:
            error = RestItemError("no_id", list=f"{self.item_list.name}.attachments", expression=described.id)
            return UnreadableItem(path=external_id[:MAX_ID], error=error)
        stamp = self._stamp(text_of(value_of(described.version, raw)) or own_id)
        address = filled_address(described.file, {**values, "item": raw})
        size = value_of(described.size, raw)
        return Item(
            external_id=external_id,
            name=name,
            stamp=stamp,
            read=lambda last: self._bytes(address, name=name, size=size, stamp=stamp, last=last),
            metadata={key: value for key, value in item.metadata.items() if key in ("link", "path")},
            readers=item.readers,
            relations=(ItemRelation(kind="belongs_to", external_id=item.external_id),),
        )

    # ── parts ───────────────────────────────────────────────────────────────────────────────────

    def _readers(self, raw: Any) -> tuple[str, ...] | None:
        """Nobody where what the system says about readers cannot be read."""
        try:
            return readers_of(strict_value_of(self.item_list.readers, raw))
        except JMESPathError:
            return ()

    def _stamp(self, version: str) -> dict[str, str]:
        return {"version": version, "description": self.digest} if version else {}

    def _name(self, values: Values, title: str) -> str:
        name = text_of(value_of(self.item_list.file_name, values["item"])) or title or values["id"]
        return safe_name(name) if self.item_list.file else f"{safe_name(name)}.html"

    def _metadata(self, raw: Any, values: Values) -> dict[str, Any]:
        described = self.item_list
        names = texts_of(value_of(described.path, raw))
        if described.path_separator:
            names = [part for name in names for part in name.split(described.path_separator)[:-1] if part]
        path = "/".join(name.replace("/", "／") for name in names)  # noqa: RUF001 (a slash that parts nothing)
        metadata: dict[str, Any] = {"path": path, "link": filled_address(described.link, values)}
        metadata["changed"] = _day(described.changed, raw)
        for name, expression in described.attributes.items():
            value = value_of(expression, raw)
            metadata[name] = value if isinstance(value, (bool, int, float)) else text_of(value)[:1000]
        return {name: value for name, value in metadata.items() if value not in ("", None)}


def readers_of(value: Any) -> tuple[str, ...] | None:
    """Who may read: a list of names; of several lists the names that stand in each. None where nothing is said."""
    if not isinstance(value, list):
        return None
    levels = [texts_of(entry) for entry in value if isinstance(entry, list) and entry]
    names = [entry for entry in value if not isinstance(entry, (list, type(None)))]
    levels += [texts_of(names)] if names else []
    if not levels:
        return None
    return tuple(name for name in levels[0] if all(name in level for level in levels[1:]))


def safe_name(name: str) -> str:
    """A file name in any script, without what file systems and readers take for something else."""
    clean = _UNSAFE.sub("_", name).strip(". ") or "_"
    ending = PurePosixPath(clean).suffix if len(PurePosixPath(clean).suffix) <= 10 else ""
    return clean if len(clean) <= MAX_NAME else clean[: MAX_NAME - len(ending)] + ending


def _day(expression: Expression, raw: Any) -> str:
    """The day of a moment."""
    moment = moment_of(value_of(expression, raw))
    return moment.date().isoformat() if moment else ""

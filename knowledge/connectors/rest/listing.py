"""What a described system has now, or what has changed there since the last list."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from knowledge.connectors.items import Item, Listed, ListEnd, RemovedItem, UnreadableItem
from knowledge.connectors.rest.description import Description, ItemList
from knowledge.connectors.rest.documents import DocumentMaker
from knowledge.connectors.rest.moments import moment_of, moment_text
from knowledge.connectors.rest.pages import PageReader
from knowledge.connectors.rest.templates import filled, filled_address, text_of, texts_of, value_of
from knowledge.rest_errors import RestAnswerError, RestItemError

# reasons for which a list, or the rest of it, is not known, and other lists go on
HIDING = ("loop", "pages", "forbidden", "not_there")


def now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class _State:
    """Where one list stands: the newest change, or the address from which a delta goes on; JSON in the cursor."""

    since: str = ""
    delta: str = ""

    def json(self) -> dict[str, str]:
        return {name: value for name, value in (("since", self.since), ("delta", self.delta)) if value}

    @classmethod
    def of(cls, stored: Any) -> _State:
        plain = stored if isinstance(stored, Mapping) else {}
        return cls(since=str(plain.get("since", "")), delta=str(plain.get("delta", "")))


@dataclass(slots=True, kw_only=True)
class Listing:
    """One run over all lists of a description. `values`: the parameters of the source, for templates."""

    description: Description
    pages: PageReader
    values: Mapping[str, Any]
    digest: str
    has_attachments: bool = True
    has_comments: bool = True
    _ids: set[int] = field(default_factory=set)
    _states: dict[str, dict[str, str]] = field(default_factory=dict)
    _is_full: bool = True
    _hidden: RestAnswerError | None = None  # the first error of a list

    def items(self, cursor: Mapping[str, Any]) -> Iterator[Listed]:
        """All items, or those since `cursor`, from time to time all of them again; a ListEnd comes last.

        Raises RestAnswerError, RestBusyError, UrlNotAllowedError, UrlUnreachableError, …
        """
        full, stored = moment_of(cursor.get("full")), cursor.get("lists", {})
        is_due = full is None or now() - full >= timedelta(hours=self.description.full_hours)
        lists = [entry for entry in self.description.lists if self.has_attachments or not entry.attached]
        for item_list in lists:
            for each in self._each(item_list):
                key = f"{item_list.name}:{each}" if item_list.each else item_list.name
                state = _State() if is_due else _State.of(stored.get(key))
                yield from self._list(item_list, each, state)
                if plain := state.json():
                    self._states[key] = plain
        if self._hidden is not None and not self._ids:
            raise self._hidden
        begin = now() if is_due or full is None else full
        cursor = {"full": begin.isoformat(timespec="seconds"), "lists": self._states} if self._states else {}
        yield ListEnd(cursor=cursor, is_full=self._is_full)

    def _each(self, item_list: ItemList) -> list[str]:
        if item_list.each is None:
            return [""]
        entered = self.values.get(item_list.each.parameter) or []
        if entered or item_list.each.request is None:
            return texts_of(entered) or ([] if item_list.each.skip_empty else [""])
        values = {**self.values, "each": ""}
        return texts_of(self.pages.detail(item_list.each.request, values, list_name=item_list.name))

    def _list(self, item_list: ItemList, each: str, state: _State) -> Iterator[Listed]:
        """One list; `state` is moved on. What ends it too early is said as an item that hides others."""
        values = {**self.values, "each": each}
        maker = DocumentMaker(
            item_list=item_list, pages=self.pages, values=values, digest=self.digest, has_comments=self.has_comments
        )
        try:
            yield from self._objects(item_list, values, state, maker)
        except RestAnswerError as error:
            if error.reason == "not_there" and state.delta:  # the system knows this delta no more: all over again
                state.delta = ""
                yield from self._list(item_list, each, state)
                return
            if error.reason not in HIDING:
                raise
            if item_list.optional and error.reason in ("forbidden", "not_there"):
                return
            self._hidden = self._hidden or error
            path = f"{item_list.name}:{each}" if each else item_list.name
            yield UnreadableItem(path=path, error=error, hides=True)

    def _objects(
        self, item_list: ItemList, values: Mapping[str, Any], state: _State, maker: DocumentMaker
    ) -> Iterator[Listed]:
        query, start = dict[str, str](), state.delta
        request = item_list.request
        if item_list.since is not None and (since := moment_of(state.since)):
            since -= timedelta(minutes=item_list.since.overlap_minutes)
            values = {**values, "since": moment_text(since, item_list.since.format)}
            query = item_list.since.query
            start = filled_address(item_list.since.address, values)
        is_partial = bool(query or start)
        self._is_full &= not is_partial
        waiting, parents = deque([query]), set[str]()
        while waiting:
            query = waiting.popleft()
            for page in self.pages.objects(request, values, list_name=item_list.name, query=query, start=start):
                in_page = set[int]()
                for raw in page:
                    yield from self._object(item_list, raw, maker, in_page, state, is_partial)
                    waiting.extend(self._children(item_list, raw, values, query, parents))
            state.delta = self.pages.delta or state.delta
            start = ""

    def _object(
        self, item_list: ItemList, raw: Any, maker: DocumentMaker, in_page: set[int], state: _State, is_partial: bool
    ) -> Iterator[Listed]:
        if item_list.removed and value_of(item_list.removed, raw):
            own_id = text_of(value_of(item_list.id, raw))
            if is_partial and own_id:
                yield RemovedItem(external_id=maker.external_id(own_id))
            return
        if item_list.only and not value_of(item_list.only, raw):
            return
        item = maker.item(raw)
        changed = moment_of(value_of(item_list.changed, raw))
        if item_list.since is not None and changed is not None:
            newest = moment_of(state.since)
            state.since = changed.isoformat() if newest is None or changed > newest else state.since
        if isinstance(item, UnreadableItem):
            yield item
            return
        key = _key(item.external_id)
        if key in in_page:
            error = RestItemError("same_id", list=item_list.name, id=item.external_id)
            yield UnreadableItem(path=item.external_id, error=error)
            return
        in_page.add(key)
        if key in self._ids:
            return  # it came with the page before, too: something was added meanwhile
        self._ids.add(key)
        yield item
        if self.has_attachments and item_list.attachments is not None:
            yield from self._attachments(raw, item, maker)

    def _attachments(self, raw: Any, item: Item, maker: DocumentMaker) -> Iterator[Listed]:
        """Where the list of files cannot be read, the others are; nothing is missing for certain."""
        try:
            files = maker.attachments(raw, item)
        except RestAnswerError as error:
            yield UnreadableItem(path=f"{item.external_id}/", error=error, hides=True)
            return
        yield from files

    @staticmethod
    def _children(
        item_list: ItemList, raw: Any, values: Mapping[str, Any], query: Mapping[str, str], parents: set[str]
    ) -> Iterator[dict[str, str]]:
        """The query for what lies below an object, once for each."""
        children = item_list.children
        if children is None or not value_of(children.when, raw):
            return
        own_id = text_of(value_of(item_list.id, raw))
        if own_id and own_id not in parents:
            parents.add(own_id)
            yield {name: filled(template, {**values, "item": raw}) for name, template in children.query.items()}


def _key(external_id: str) -> int:
    return int.from_bytes(hashlib.blake2b(external_id.encode(), digest_size=8).digest(), "big")

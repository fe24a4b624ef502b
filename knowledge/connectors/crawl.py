"""A website from its start addresses along its links, as its robots.txt allows and not faster than that says.

Links are only followed to the hosts of the source. Pages are asked for with what their server said of them last time;
their links are remembered in the workspace. A page that says that it is another one counts as that one.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from django.conf import settings as site
from django.utils.translation import gettext_lazy as _
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from knowledge.connector_errors import ConnectorError, ItemOfSourceError
from knowledge.connectors.base import Access, Connector, SettingField, connector
from knowledge.connectors.items import FetchedItem, Item, Listed, ListEnd, Stamp, UnreadableItem
from knowledge.connectors.web_pages import is_wanted, page_address, page_facts, shape_of
from knowledge.types import STRICT
from ragcore.errors import RagError, UrlNotAllowedError, UrlRefusedError, UrlUnreachableError
from ragcore.fetching import FetchedPage, Fetcher, FetchLimits

AGENT = "Ragsite"
MAX_ID = 512
MOST_ALIKE = 500  # pages whose addresses differ in numbers or values alone
LONGEST_PAUSE_SECONDS = 60.0  # that a robots.txt is granted
HTML = ("text/html", "application/xhtml+xml")
FORM = 1  # of the rows


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class CrawlSettings:
    """`hosts`: beside those of the start addresses; `depth`: links from there; `pages_per_minute`: of one host."""

    hosts: Annotated[tuple[Annotated[str, Field(max_length=255)], ...], Field(max_length=50)] = ()
    depth: Annotated[int, Field(ge=0, le=50)] = 5
    max_pages: Annotated[int, Field(ge=1, le=100_000)] = 1000
    pages_per_minute: Annotated[int, Field(ge=1, le=6000)] = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class _PageState:
    """A page as it was when it was read last."""

    id: str
    name: str
    digest: str
    etag: str = ""
    last_modified: str = ""
    links: list[str] = field(default_factory=list)
    is_listed: bool = True
    is_html: bool = True


@connector
class CrawlConnector(Connector):
    """See the module."""

    kind = "crawl"
    label = _("Website (follows links)")
    summary = _("Pages of a website, by following its links.")
    location_help = _("Addresses at which to begin, one per line, such as https://docs.example.com/.")
    settings_type = CrawlSettings
    setting_fields = (
        SettingField(
            name="hosts",
            label=_("further hosts"),
            kind="lines",
            help_text=_("Links are followed to the hosts of the start addresses and to these, one per line."),
        ),
        SettingField(name="depth", label=_("depth"), kind="number", help_text=_("Links from a start address.")),
        SettingField(name="max_pages", label=_("maximum pages"), kind="number"),
        SettingField(
            name="pages_per_minute",
            label=_("pages per minute"),
            kind="number",
            help_text=_("Of one host. A longer pause that its robots.txt asks for (Crawl-delay) is kept."),
        ),
    )

    @classmethod
    def host_of(cls, location: str) -> tuple[str, int] | None:
        return _host(_starts(location)[0])

    def allowed(self) -> None:
        """Each of the start addresses."""
        for start in _starts(self.location):
            with suppress(UrlUnreachableError):  # the name may be known by the time it is read
                self.access.host_check(*_host(start))

    def changes(self, cursor: Mapping[str, Any]) -> Iterator[Listed]:
        memory = _Memory(self.access.workspace)
        try:
            yield from _Crawl(_starts(self.location), settings=self.settings, access=self.access, memory=memory).items()
            yield ListEnd(cursor={}, is_full=True)
        finally:
            memory.close()


def _host(address: str) -> tuple[str, int]:
    parts = urlsplit(address)
    return str(parts.hostname), parts.port or (443 if parts.scheme == "https" else 80)


def _starts(location: str) -> list[str]:
    """One address a line. Raises ConnectorError."""
    starts = [page_address(line) for line in location.splitlines() if line.strip()]
    if not starts or not all(starts):
        raise ConnectorError("address")
    return list(dict.fromkeys(starts))


class _Crawl:
    """One run, page by page in the order of their distance."""

    def __init__(self, starts: list[str], *, settings: CrawlSettings, access: Access, memory: _Memory) -> None:
        self._starts, self._settings, self._memory = starts, settings, memory
        limits = FetchLimits(max_bytes=site.MAX_UPLOAD_BYTES)
        self._fetcher = Fetcher(agent=AGENT, allow=access.policy, limits=limits)
        start_hosts = {urlsplit(start).hostname for start in starts}
        self._hosts = start_hosts | {host.strip().lower() for host in settings.hosts}
        self._waiting = deque((start, 0) for start in starts)
        self._visited = set(starts)
        self._ids: set[str] = set()
        self._alike: Counter[str] = Counter()
        self._last_request: dict[str, float] = {}
        self._missing: dict[str, str] = {}  # host -> digest of what it shows for a page that is not there

    def items(self) -> Iterator[Item | UnreadableItem]:
        pages = 0
        while self._waiting:
            if pages >= self._settings.max_pages:
                yield UnreadableItem(
                    path=self._waiting[0][0][:MAX_ID], error=ItemOfSourceError("pages", limit=pages), hides=True
                )
                return
            url, depth = self._waiting.popleft()
            pages += 1
            yield from self._page(url, depth)
        for shape, count in self._alike.items():
            if count > MOST_ALIKE:
                yield UnreadableItem(
                    path=shape[:MAX_ID], error=ItemOfSourceError("alike", limit=MOST_ALIKE), hides=True
                )

    def _page(self, url: str, depth: int) -> Iterator[Item | UnreadableItem]:
        earlier = self._memory.get(url)
        try:
            page = self._fetched(
                url, etag=earlier.etag if earlier else "", modified=earlier.last_modified if earlier else ""
            )
        except (UrlRefusedError, UrlNotAllowedError) as error:  # gone, closed to programs, or led elsewhere
            self._memory.forget(url)
            if depth == 0 or isinstance(error, UrlNotAllowedError):
                yield UnreadableItem(path=url, error=error, hides=depth == 0)
            return
        except RagError as error:
            yield UnreadableItem(path=earlier.id if earlier else url, error=error, hides=earlier is None)
            if earlier is not None:
                self._ids.add(earlier.id)
                self._follow(earlier.links, depth)
            return
        if page.not_modified and earlier is not None:
            yield from self._item(url, earlier, depth, content=None)
        elif urlsplit(page.final_url).hostname in self._hosts:
            yield from self._read(url, page, depth)

    def _read(self, url: str, page: FetchedPage, depth: int) -> Iterator[Item]:
        final = page_address(page.final_url)
        if final != url:
            if final in self._visited:
                return
            self._visited.add(final)
        is_html = page.media_type in HTML
        facts = page_facts(page.content, url=final) if is_html else None
        digest = facts.digest if facts else hashlib.sha256(page.content).hexdigest()
        if is_html and digest == self._missing_digest(final):
            return
        canonical = facts.canonical if facts else ""
        is_own = canonical and urlsplit(canonical).hostname in self._hosts
        state = _PageState(
            id=canonical if is_own else final,
            name=page.name,
            digest=digest,
            etag=page.etag,
            last_modified=page.last_modified,
            links=list(facts.links) if facts else [],
            is_listed=facts.is_listed if facts else True,
            is_html=is_html,
        )
        self._memory.put(url, state)
        yield from self._item(url, state, depth, content=page.content)

    def _item(self, url: str, state: _PageState, depth: int, *, content: bytes | None) -> Iterator[Item]:
        self._follow(state.links, depth)
        if not state.is_listed or state.id in self._ids or len(state.id) > MAX_ID:
            return
        self._ids.add(state.id)
        yield Item(
            external_id=state.id,
            name=state.name,
            stamp={"text": state.digest},
            read=partial(self._content, url, state, content),
            metadata={"link": state.id},
        )

    def _content(self, url: str, state: _PageState, content: bytes | None, last: Stamp) -> FetchedItem | None:
        """What came with the list; asked for once more where that had not changed, but nobody has it."""
        stamp = {"text": state.digest}
        if last == stamp:
            return None
        if content is None:
            page = self._fetched(url)
            return FetchedItem(name=page.name, content=page.content, stamp=stamp)
        return FetchedItem(name=state.name, content=content, stamp=stamp)

    def _follow(self, links: list[str], depth: int) -> None:
        if depth >= self._settings.depth:
            return
        for link in links:
            if link in self._visited or urlsplit(link).hostname not in self._hosts or not is_wanted(link):
                continue
            self._visited.add(link)
            shape = shape_of(link)
            self._alike[shape] += bool(shape)
            if len(link) <= MAX_ID and self._alike[shape] <= MOST_ALIKE:
                self._waiting.append((link, depth + 1))

    # ── requests ────────────────────────────────────────────────────────────────────────────────

    def _fetched(self, url: str, *, etag: str = "", modified: str = "") -> FetchedPage:
        host = urlsplit(url).netloc
        pause = max(60 / self._settings.pages_per_minute, self._fetcher.crawl_delay(url))
        wait = self._last_request.get(host, 0.0) + min(pause, LONGEST_PAUSE_SECONDS) - time.monotonic()
        if host in self._last_request and wait > 0:
            time.sleep(wait)
        try:
            return self._fetcher.fetch(url, etag=etag, last_modified=modified)
        finally:
            self._last_request[host] = time.monotonic()

    def _missing_digest(self, url: str) -> str:
        """Some servers send a page with the status 200 for what they do not have."""
        parts = urlsplit(url)
        if parts.netloc not in self._missing:
            name = f"ragsite-{hashlib.sha256(parts.netloc.encode()).hexdigest()[:12]}"
            nowhere = f"{parts.scheme}://{parts.netloc}/{name}"
            try:
                page = self._fetched(nowhere)
            except RagError:
                self._missing[parts.netloc] = ""
            else:
                is_moved = page_address(page.final_url) != nowhere  # to the front page, mostly
                digest = "" if is_moved else page_facts(page.content, url=nowhere).digest
                self._missing[parts.netloc] = digest
        return self._missing[parts.netloc]


class _Memory:
    """Pages of the last run; may be lost at any time."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._rows = sqlite3.connect(folder / f"crawl-{FORM}.sqlite")
        self._rows.execute("CREATE TABLE IF NOT EXISTS page (url TEXT PRIMARY KEY, page TEXT NOT NULL)")

    def get(self, url: str) -> _PageState | None:
        row = self._rows.execute("SELECT page FROM page WHERE url = ?", (url,)).fetchone()
        return _PageState(**json.loads(row[0])) if row else None

    def put(self, url: str, page: _PageState) -> None:
        with self._rows:
            self._rows.execute("INSERT OR REPLACE INTO page VALUES (?, ?)", (url, json.dumps(asdict(page))))

    def forget(self, url: str) -> None:
        with self._rows:
            self._rows.execute("DELETE FROM page WHERE url = ?", (url,))

    def close(self) -> None:
        self._rows.close()

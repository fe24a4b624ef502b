"""News feeds (RSS, Atom): each entry is a document with its link, date and author.

A feed shows its latest entries only. What has left it stays here: only the first list counts as a whole one.
"""

from __future__ import annotations

import hashlib
import html
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import date
from functools import partial
from typing import Any, ClassVar
from urllib.parse import urlsplit

from django.conf import settings as site
from django.utils.translation import gettext_lazy as _
from pydantic.dataclasses import dataclass as checked_dataclass

from knowledge.connector_errors import ConnectorError, ItemOfSourceError
from knowledge.connectors.base import Connector, SettingField, connector
from knowledge.connectors.items import FetchedItem, Item, Listed, ListEnd, Stamp, UnreadableItem
from knowledge.connectors.web_pages import page_address
from knowledge.types import STRICT
from ragcore.errors import UrlUnreachableError
from ragcore.fetching import Fetcher, FetchLimits

AGENT = "Ragsite"
MAX_ID = 512
MAX_NAME = 100
FEED_BYTES = 20 * 1024 * 1024


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class FeedSettings:
    """`pages`: the page that an entry links to, instead of what the feed says of it."""

    pages: bool = False


@connector
class FeedConnector(Connector):
    """See the module."""

    kind = "feed"
    label = _("News feed (RSS, Atom)")
    summary = _("Entries of a feed, or the pages behind them.")
    location_help = _("Addresses of RSS or Atom, one per line, such as https://www.example.com/news.xml.")
    settings_type = FeedSettings
    setting_fields = (
        SettingField(
            name="pages",
            label=_("linked pages"),
            kind="switch",
            help_text=_("Fetch the page of each entry. Otherwise the text in the feed is taken, often an excerpt."),
        ),
    )
    credential_fields: ClassVar = ()

    @classmethod
    def host_of(cls, location: str) -> tuple[str, int] | None:
        return _host(_addresses(location)[0])

    def allowed(self) -> None:
        """Each of the feeds."""
        for address in _addresses(self.location):
            with suppress(UrlUnreachableError):  # the name may be known by the time it is read
                self.access.host_check(*_host(address))

    def changes(self, cursor: Mapping[str, Any]) -> Iterator[Listed]:
        import feedparser  # by those that read feeds, not by every process

        fetcher = Fetcher(
            agent=AGENT, allow=self.access.policy, limits=FetchLimits(max_bytes=min(FEED_BYTES, site.MAX_UPLOAD_BYTES))
        )
        ids = set[str]()
        for address in _addresses(self.location):
            page = fetcher.fetch(address)
            feed = feedparser.parse(
                page.content,
                response_headers={"content-location": page.final_url, "content-type": page.media_type},
                sanitize_html=True,
            )
            if not feed.get("version"):
                raise ConnectorError("no_feed")
            for entry in feed.entries:
                yield from self._listed(fetcher, entry, ids)
        yield ListEnd(cursor={"read": True}, is_full=not cursor)

    def _listed(self, fetcher: Fetcher, entry: Any, ids: set[str]) -> Iterator[Item | UnreadableItem]:
        link = page_address(entry.get("link", ""))
        entry_id = (entry.get("id") or link).strip().replace("\x00", "")
        entry_id = entry_id if len(entry_id) <= MAX_ID else hashlib.sha256(entry_id.encode()).hexdigest()
        if not entry_id:
            yield UnreadableItem(path=entry.get("title", "")[:MAX_ID], error=ItemOfSourceError("no_id"))
        if not entry_id or entry_id in ids:
            return
        ids.add(entry_id)
        title = " ".join(entry.get("title", "").split())[:500]
        attributes = {
            "link": link,
            "author": entry.get("author", "")[:500],
            "published": _date(entry.get("published_parsed") or entry.get("updated_parsed")),
        }
        name = f"{_file_stem(title) or 'entry'}.html"
        content = _document(entry, title)
        stamp = {"entry": hashlib.sha256(content + attributes["published"].encode()).hexdigest()}
        if self.settings.pages and link:
            read = partial(_page_read, fetcher, link, stamp)
        else:
            read = partial(_entry_read, FetchedItem(name=name, content=content, stamp=stamp))
        yield Item(
            external_id=entry_id,
            name=name,
            stamp=stamp,
            read=read,
            title=title,
            metadata={key: value for key, value in attributes.items() if value},
            tags=tuple(tag["term"][:64] for tag in entry.get("tags", ())[:20] if tag.get("term")),
        )


def _host(address: str) -> tuple[str, int]:
    parts = urlsplit(address)
    return str(parts.hostname), parts.port or (443 if parts.scheme == "https" else 80)


def _addresses(location: str) -> list[str]:
    """One a line. Raises ConnectorError."""
    addresses = [page_address(line) for line in location.splitlines() if line.strip()]
    if not addresses or not all(addresses):
        raise ConnectorError("address")
    return list(dict.fromkeys(addresses))


def _document(entry: Any, title: str) -> bytes:
    """The richest text that the feed has of an entry, as a page; scripts and the like are gone from it."""
    texts = [part.get("value", "") for part in entry.get("content", ())] + [entry.get("summary", "")]
    body = max(texts, key=len)
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title>'
    return f"<!doctype html><html><head>{head}</head><body><h1>{html.escape(title)}</h1>{body}</body></html>".encode()


def _entry_read(item: FetchedItem, last: Stamp) -> FetchedItem | None:
    return None if last == item.stamp else item


def _page_read(fetcher: Fetcher, link: str, stamp: Stamp, last: Stamp) -> FetchedItem | None:
    """The page is asked for anew when the feed says something else about it."""
    if last == stamp:
        return None
    page = fetcher.fetch(link)
    return FetchedItem(name=page.name, content=page.content, stamp=stamp)


def _date(parsed: time.struct_time | None) -> str:
    return date(*parsed[:3]).isoformat() if parsed else ""


def _file_stem(title: str) -> str:
    return "".join("_" if sign in '/\\:*?"<>|\x00' else sign for sign in title)[:MAX_NAME].strip(". ")

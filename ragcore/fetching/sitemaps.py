"""The pages that a site lists in its sitemap (sitemaps.org protocol)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain

from ragcore.errors import CorruptDocumentError, UrlNotAllowedError, UrlTooLargeError
from ragcore.fetching.addresses import check_url
from ragcore.fetching.connection import inflate
from ragcore.fetching.fetcher import Fetcher

MAX_ENTRIES = 50_000  # of all files together; the protocol allows as many in one
MAX_SITEMAPS = 100
MAX_SITEMAP_BYTES = 50 * 1024 * 1024  # as in the protocol
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapEntry:
    """A page that a site offers."""

    url: str
    last_modified: datetime | None = None  # aware


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitemap:
    """What a site offers. `is_complete` False: there was more than is read, so what is not listed may be there."""

    entries: tuple[SitemapEntry, ...]
    is_complete: bool


def sitemap_urls(url: str, *, fetcher: Fetcher, max_entries: int = MAX_ENTRIES) -> Sitemap:
    """The pages of a sitemap, or of all sitemaps that an index names, in their order, each once.

    Raises what `Fetcher.fetch` raises, and CorruptDocumentError for what is no sitemap, also for files that an index
    names: a list with a hole would look as if pages had been removed. Further files than MAX_SITEMAPS are not read.
    """
    waiting = deque([url])
    visited = {url}
    entries: dict[str, SitemapEntry] = {}
    for _ in range(MAX_SITEMAPS):
        if not waiting or len(entries) >= max_entries:
            break
        indexed, pages = _read_sitemap(
            _decompress(fetcher.fetch(waiting.popleft()).content), max_entries - len(entries)
        )
        for entry in pages:
            entries.setdefault(entry.url, entry)
        new = [address for address in indexed if address not in visited]
        visited.update(new)
        waiting.extend(new)
    is_complete = not waiting and len(entries) < max_entries
    return Sitemap(entries=tuple(entries.values())[:max_entries], is_complete=is_complete)


def _decompress(content: bytes) -> bytes:
    if not content.startswith(_GZIP):
        return content
    unpacked = bytearray()
    for part in inflate([content], max_bytes=MAX_SITEMAP_BYTES):
        unpacked += part
        if len(unpacked) > MAX_SITEMAP_BYTES:
            raise UrlTooLargeError(limit_bytes=MAX_SITEMAP_BYTES)
    return bytes(unpacked)


def _read_sitemap(content: bytes, limit: int) -> tuple[list[str], list[SitemapEntry]]:
    """Addresses of further sitemaps, and pages. A file of plain lines is a sitemap too."""
    head = content[:1024].removeprefix(b"\xef\xbb\xbf").lstrip()
    if not head.startswith(b"<"):
        lines = content.decode("utf-8", "replace").split()[: limit + 1]
        return [], [entry for line in lines if (entry := _entry(line.lstrip("\ufeff"), "")) is not None]
    indexed: list[str] = []
    pages: list[SitemapEntry] = []
    for name, address, modified in _locations(content):
        entry = _entry(address, modified)
        if entry is not None and name == "sitemap":
            indexed.append(entry.url)
        elif entry is not None:
            pages.append(entry)
        if len(pages) >= limit or len(indexed) >= MAX_SITEMAPS:
            break
    return indexed, pages


def _locations(content: bytes) -> Iterator[tuple[str, str, str]]:
    """("url" or "sitemap", address, date) of each entry. Entities are refused, nothing outside is read."""
    from lxml import etree  # only where a sitemap is read

    if b"<!ENTITY" in content or b"<!DOCTYPE" in content[:4096]:
        raise CorruptDocumentError("sitemap_entities")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as problem:
        raise CorruptDocumentError("not_a_sitemap", problem=str(problem)[:200]) from problem
    if etree.QName(root).localname not in ("urlset", "sitemapindex"):
        raise CorruptDocumentError("not_a_sitemap")
    for node in chain(root.iterfind("{*}url"), root.iterfind("{*}sitemap")):
        yield etree.QName(node).localname, node.findtext("{*}loc") or "", node.findtext("{*}lastmod") or ""


def _entry(address: str, modified: str) -> SitemapEntry | None:
    try:
        return SitemapEntry(url=str(check_url(address)), last_modified=_parse_time(modified.strip()))
    except UrlNotAllowedError:
        return None


def _parse_time(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

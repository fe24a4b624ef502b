"""Fetching with redirects, robots.txt and conditional requests, and file names for what came."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from urllib.parse import unquote
from urllib.robotparser import RobotFileParser

import httpx

from ragcore.errors import UrlRefusedError, UrlUnreachableError
from ragcore.fetching.addresses import AddressPolicy, Resolver, check_url, system_resolve
from ragcore.fetching.connection import REDIRECTS, Deadline, HttpConnections, HttpReply
from ragcore.parsing import MEDIA_TYPE_ENDINGS

MAX_NAME_CHARACTERS = 120

# texts whose ending says more than the type under which servers send them
_REFINED = {".txt": (".md", ".markdown", ".csv", ".tsv", ".log", ".rst"), ".html": (".htm",), ".jpg": (".jpeg",)}
_REFINED[".tiff"] = (".tif",)
_UNKNOWN = ("", "application/octet-stream", "binary/octet-stream", "application/force-download")
_SIGNATURES = ((b"%PDF-", ".pdf"), (b"\x89PNG", ".png"), (b"\xff\xd8\xff", ".jpg"), (b"GIF8", ".gif"))
_HTML = re.compile(rb"<(?:!doctype html|html|head|body)\b", re.IGNORECASE)
_QUOTED = re.compile(r'filename\s*=\s*(?:"([^"]{1,300})"|([^;\s]{1,300}))', re.IGNORECASE)
_ENCODED = re.compile(r"filename\*\s*=\s*utf-8'[^']*'([^;\s]{1,900})", re.IGNORECASE)

ROBOTS_BYTES = 512 * 1024
TRY_LATER = (408, 425, 429)
_ACCEPT = "text/html,application/xhtml+xml,application/pdf;q=0.9,text/plain;q=0.8,*/*;q=0.5"
_REASONS = {
    401: "sign_in",
    404: "not_found",
    410: "gone",
}


def media_type_of(content_type: str) -> str:
    """`text/html` of `Text/HTML; charset=utf-8`."""
    return content_type.partition(";")[0].strip().lower()


def file_name(url: httpx.URL, media_type: str, disposition: str, content: bytes) -> str:
    """A file name: the one that the host gives, else the end of the path, else the host; its ending fits the type."""
    raw_name = _name_in_disposition(disposition) or unquote(PurePosixPath(url.path).name) or url.host
    clean = re.sub(r'[\x00-\x1f\x7f<>:"/\\|?*\u200b-\u200f\u202a-\u202e\u2066-\u2069]+', "_", raw_name).strip(". ")
    name = clean or url.host
    ending = _ending(name, media_type, content)
    suffix = PurePosixPath(name).suffix
    if suffix.lower() in (ending, *_REFINED.get(ending, ())) or not ending:
        return f"{name[: MAX_NAME_CHARACTERS - len(suffix)]}" if len(name) > MAX_NAME_CHARACTERS else name
    stem = name if name == url.host else PurePosixPath(name).stem if _is_program(suffix) else name
    return f"{stem[:MAX_NAME_CHARACTERS]}{ending}"


def _name_in_disposition(disposition: str) -> str:
    if match := _ENCODED.search(disposition):
        return unquote(match[1])
    match = _QUOTED.search(disposition)
    return (match[1] or match[2]) if match else ""


def _is_program(ending: str) -> bool:
    """Endings of programs on the server say nothing about what they send."""
    return ending.lower() in (".php", ".asp", ".aspx", ".jsp", ".jspx", ".do", ".action", ".cgi", ".shtml", ".xhtml")


def _ending(name: str, media_type: str, content: bytes) -> str:
    """The ending of the declared type; by the first bytes where the host does not know the type."""
    if media_type in MEDIA_TYPE_ENDINGS:
        return MEDIA_TYPE_ENDINGS[media_type]
    if media_type not in _UNKNOWN:
        return ""
    suffix = PurePosixPath(name).suffix.lower()
    if suffix in MEDIA_TYPE_ENDINGS.values() or any(suffix in endings for endings in _REFINED.values()):
        return suffix
    by_signature = next((ending for start, ending in _SIGNATURES if content.startswith(start)), "")
    return by_signature or (".html" if _HTML.search(content[:1024]) else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """What one address may cost."""

    max_bytes: int = 50 * 1024 * 1024  # after decompression
    total_seconds: float = 60.0  # with redirects and robots.txt
    step_seconds: float = 15.0  # to connect, to send, to wait for the next bytes
    redirects: int = 5


DEFAULT_FETCH_LIMITS = FetchLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedPage:
    """A page or file as a host gave it."""

    content: bytes = field(repr=False)
    name: str  # a file name whose ending fits the media type
    media_type: str  # lower case, without parameters; "" where the host says nothing
    final_url: str  # after redirects
    etag: str = ""
    last_modified: str = ""  # as the host wrote it, to be sent back
    not_modified: bool = False  # the host says that what the caller has is current; `content` is empty


class Fetcher:
    """Fetches the pages of one run; robots.txt is asked for once a host. Not for use by several threads."""

    def __init__(
        self,
        *,
        agent: str,
        allow: AddressPolicy | None = None,
        limits: FetchLimits = DEFAULT_FETCH_LIMITS,
        resolve: Resolver = system_resolve,
        respect_robots: bool = True,
    ) -> None:
        """`agent` is sent as User-Agent; its part before "/" is the name that robots.txt knows us by."""
        self._agent = agent
        self._limits = limits
        self._connections = HttpConnections(
            allow=allow or AddressPolicy(), resolve=resolve, step_seconds=limits.step_seconds
        )
        self._respect_robots = respect_robots
        self._robots: dict[str, RobotFileParser] = {}

    def fetch(self, url: str, *, etag: str = "", last_modified: str = "") -> FetchedPage:
        """The page behind an address; with `etag` or `last_modified` of an earlier answer, only if it has changed.

        Raises UrlNotAllowedError, UrlUnreachableError, UrlRefusedError or UrlTooLargeError.
        """
        headers = {"If-None-Match": etag, "If-Modified-Since": last_modified}
        deadline = Deadline(self._limits.total_seconds)
        target, reply = self._followed(check_url(url), headers, deadline, self._limits.max_bytes, robots=True)
        return _to_page(target, reply, url)

    def crawl_delay(self, url: str) -> float:
        """Seconds between two requests that the robots.txt of its host asks for, as far as that has been read."""
        target = check_url(url)
        rules = self._robots.get(_origin(target))
        return float(rules.crawl_delay(self._agent) or 0) if rules is not None else 0.0

    def _followed(
        self, target: httpx.URL, headers: Mapping[str, str], deadline: Deadline, max_bytes: int, *, robots: bool
    ) -> tuple[httpx.URL, HttpReply]:
        """The first reply that is no redirect, and its address. Every address on the way is checked."""
        request_headers = {
            "User-Agent": self._agent,
            "Accept": _ACCEPT,
            **{key: value for key, value in headers.items() if value},
        }
        for _ in range(self._limits.redirects + 1):
            if robots and self._respect_robots and not self._is_welcome(target, deadline):
                raise UrlRefusedError("robots", url=str(target))
            reply = self._connections.get(target, headers=request_headers, deadline=deadline, max_bytes=max_bytes)
            place = reply.headers.get("location", "")
            if reply.status not in REDIRECTS or not place:
                return target, reply
            target = _resolve_redirect(target, place)
        raise UrlRefusedError("redirect_loop", url=str(target))

    def _is_welcome(self, target: httpx.URL, deadline: Deadline) -> bool:
        origin = _origin(target)
        if origin not in self._robots:
            self._robots[origin] = self._read_robots(origin, deadline)
        return self._robots[origin].can_fetch(self._agent, str(target))

    def _read_robots(self, origin: str, deadline: Deadline) -> RobotFileParser:
        """The rules of a host (RFC 9309): none where it has no such file; unreachable where it is out of order."""
        rules = RobotFileParser()
        _, reply = self._followed(check_url(f"{origin}/robots.txt"), {}, deadline, ROBOTS_BYTES, robots=False)
        if reply.status >= 500 or reply.status in TRY_LATER:
            raise UrlUnreachableError(url=f"{origin}/robots.txt", status=reply.status)
        rules.parse(reply.content.decode("utf-8", "replace").splitlines() if reply.status == 200 else [])
        return rules


def fetch(
    url: str,
    *,
    limits: FetchLimits = DEFAULT_FETCH_LIMITS,
    agent: str,
    allow: AddressPolicy,
    etag: str = "",
    last_modified: str = "",
) -> FetchedPage:
    """One page; several of a run share a `Fetcher`. Raises what `Fetcher.fetch` raises."""
    return Fetcher(agent=agent, allow=allow, limits=limits).fetch(url, etag=etag, last_modified=last_modified)


def _origin(target: httpx.URL) -> str:
    return f"{target.scheme}://{target.netloc.decode('ascii')}"


def _resolve_redirect(target: httpx.URL, place: str) -> httpx.URL:
    try:
        joined = str(target.join(place))
    except (httpx.InvalidURL, ValueError):
        joined = place
    return check_url(joined)


def _to_page(target: httpx.URL, reply: HttpReply, url: str) -> FetchedPage:
    if reply.status == 304:
        content, unchanged = b"", True
    elif 200 <= reply.status < 300:
        content, unchanged = reply.content, False
    elif reply.status >= 500 or reply.status in TRY_LATER:
        raise UrlUnreachableError(url=url, status=reply.status)
    else:
        raise UrlRefusedError(_REASONS.get(reply.status, ""), url=url, status=reply.status)
    media_type = media_type_of(reply.headers.get("content-type", ""))
    return FetchedPage(
        content=content,
        name=file_name(target, media_type, reply.headers.get("content-disposition", ""), content),
        media_type=media_type,
        final_url=str(target),
        etag=reply.headers.get("etag", ""),
        last_modified=reply.headers.get("last-modified", ""),
        not_modified=unchanged,
    )

"""What a crawler wants to know of a page: links, its own address, whether it may be listed, a digest of its text."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit, urlunsplit

import httpx
from lxml import etree

from ragcore.errors import UrlNotAllowedError
from ragcore.fetching.addresses import check_url

MOST_LINKS = 2000  # of a page
MOST_BYTES = 4 * 1024 * 1024  # of a page in which links are looked for
MOST_SAME_SEGMENTS = 3  # /a/b/a/b/a/b: a page whose relative links lead ever deeper
_OF_VISITS = re.compile(r"utm_\w+|gclid|fbclid|msclkid|phpsessid|jsessionid|sessionid|sid", re.IGNORECASE)
_NUMBERS = re.compile(r"\d+")
_SPACES = re.compile(r"\s+")
_PARTS_OF_PAGES = re.compile(
    r"""\.(?:css|m?js|json|xml|rss|atom|ico|png|jpe?g|gif|svg|webp|avif|woff2?|ttf|eot|mp[34]|m4a|webm|ogg|wav|avi|mov
    |zip|t?gz|bz2|xz|7z|rar|exe|msi|dmg|iso|apk|jar|deb|rpm)""",
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """`canonical`: "" where the page does not say; `digest`: of its visible text, without the address itself."""

    links: Sequence[str] = ()
    canonical: str = ""
    digest: str = ""
    is_listed: bool = True


def page_facts(content: bytes, *, url: str) -> PageFacts:
    """Never fails: what cannot be read has no links."""
    tree = _tree(content)
    if tree is None:
        return PageFacts(digest=hashlib.sha256(content).hexdigest())
    base_tag = tree.find(".//base[@href]")
    base = urljoin(url, base_tag.get("href")) if base_tag is not None else url
    rules = ",".join(
        tag.get("content", "").lower() for tag in tree.iter("meta") if tag.get("name", "").lower() == "robots"
    )
    is_followed = "nofollow" not in rules and "none" not in rules
    return PageFacts(
        links=list(dict.fromkeys(_links(tree, base))) if is_followed else (),
        canonical=_canonical(tree, base),
        digest=_digest(tree, url),
        is_listed="noindex" not in rules and "none" not in rules,
    )


def page_address(address: str) -> str:
    """The address without what says nothing about the page: fragment, marks of a visit. "" for what is none."""
    try:
        url = check_url(address)
    except UrlNotAllowedError:
        return ""
    query = url.query.decode("ascii", "ignore")
    if query and _OF_VISITS.search(query):
        pairs = [(name, value) for name, value in parse_qsl(query, keep_blank_values=True) if not _is_of_visit(name)]
        url = url.copy_with(query=urlencode(pairs).encode() or None)
    parts = urlsplit(str(url))
    return urlunsplit(parts if parts.path else parts._replace(path="/"))


def is_wanted(address: str) -> bool:
    """Whether a page or a document may be there: no picture, no style, no path that repeats itself."""
    parts = urlsplit(address)
    if _PARTS_OF_PAGES.fullmatch(PurePosixPath(parts.path).suffix):
        return False
    segments = [segment for segment in parts.path.split("/") if segment]
    return all(segments.count(segment) <= MOST_SAME_SEGMENTS for segment in set(segments))


def shape_of(address: str) -> str:
    """What addresses of the same kind have in common, such as the days of a calendar; "" for one without numbers."""
    parts = urlsplit(address)
    keys = "&".join(sorted({name for name, _value in parse_qsl(parts.query, keep_blank_values=True)}))
    if not keys and len(_NUMBERS.findall(parts.path)) < 2:
        return ""
    return f"{parts.netloc}{_NUMBERS.sub('0', parts.path)}?{keys}"


def _is_of_visit(name: str) -> bool:
    return _OF_VISITS.fullmatch(name) is not None


def _tree(content: bytes) -> etree._Element | None:
    parser = etree.HTMLParser(no_network=True, huge_tree=False, remove_comments=True)
    try:
        return etree.fromstring(content[:MOST_BYTES], parser)
    except (etree.XMLSyntaxError, etree.ParserError, ValueError):
        return None


def _links(tree: etree._Element, base: str) -> Iterator[str]:
    for place, tag in enumerate(tree.iter("a", "area")):
        if place >= MOST_LINKS:
            return
        target = tag.get("href", "").strip()
        if not target or target.startswith("#") or "nofollow" in tag.get("rel", "").lower():
            continue
        if address := page_address(_joined(base, target)):
            yield address


def _canonical(tree: etree._Element, base: str) -> str:
    for tag in tree.iter("link"):
        if "canonical" in tag.get("rel", "").lower().split():
            return page_address(_joined(base, tag.get("href", "")))
    return ""


def _joined(base: str, target: str) -> str:
    try:
        return str(httpx.URL(base).join(target))
    except (httpx.InvalidURL, ValueError, TypeError):
        return ""


def _digest(tree: etree._Element, url: str) -> str:
    etree.strip_elements(tree, "script", "style", "noscript", "template", with_tail=False)
    body = tree.find("body")
    text = _SPACES.sub(" ", " ".join((body if body is not None else tree).itertext())).strip()
    for address in (url, urlsplit(url).path.strip("/")):  # as pages for what is missing repeat it
        text = text.replace(address, "") if len(address) > 8 else text
    return hashlib.sha256(f"{(tree.findtext('.//title') or '').strip()}\n{text}".encode("utf-8", "replace")).hexdigest()

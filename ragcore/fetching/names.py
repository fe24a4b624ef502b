"""File names for what came from the web, so that the right parser takes it."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from urllib.parse import unquote

import httpx

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


def media_type_of(content_type: str) -> str:
    """`text/html` of `Text/HTML; charset=utf-8`."""
    return content_type.partition(";")[0].strip().lower()


def file_name(url: httpx.URL, media_type: str, disposition: str, content: bytes) -> str:
    """A file name: the one that the host gives, else the end of the path, else the host; its ending fits the type."""
    said = _name_in_disposition(disposition) or unquote(PurePosixPath(url.path).name) or url.host
    clean = re.sub(r'[\x00-\x1f\x7f<>:"/\\|?*\u200b-\u200f\u202a-\u202e\u2066-\u2069]+', "_", said).strip(". ")
    name = clean or url.host
    ending = _ending(name, media_type, content)
    own = PurePosixPath(name).suffix
    if own.lower() in (ending, *_REFINED.get(ending, ())) or not ending:
        return f"{name[: MAX_NAME_CHARACTERS - len(own)]}" if len(name) > MAX_NAME_CHARACTERS else name
    stem = name if name == url.host else PurePosixPath(name).stem if _is_program(own) else name
    return f"{stem[:MAX_NAME_CHARACTERS]}{ending}"


def _name_in_disposition(disposition: str) -> str:
    if found := _ENCODED.search(disposition):
        return unquote(found[1])
    found = _QUOTED.search(disposition)
    return (found[1] or found[2]) if found else ""


def _is_program(ending: str) -> bool:
    """Endings of programs on the server say nothing about what they send."""
    return ending.lower() in (".php", ".asp", ".aspx", ".jsp", ".jspx", ".do", ".action", ".cgi", ".shtml", ".xhtml")


def _ending(name: str, media_type: str, content: bytes) -> str:
    """The ending of the declared type; by the first bytes where the host does not know the type."""
    if media_type in MEDIA_TYPE_ENDINGS:
        return MEDIA_TYPE_ENDINGS[media_type]
    if media_type not in _UNKNOWN:
        return ""
    own = PurePosixPath(name).suffix.lower()
    if own in MEDIA_TYPE_ENDINGS.values() or any(own in endings for endings in _REFINED.values()):
        return own
    known = next((ending for start, ending in _SIGNATURES if content.startswith(start)), "")
    return known or (".html" if _HTML.search(content[:1024]) else "")

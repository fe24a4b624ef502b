"""The items of a source, by its kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from knowledge.models import Source
from knowledge.services.sources.folders import folder_allowed, folder_items
from knowledge.services.sources.items import Item, Unlisted
from knowledge.services.sources.web import page_items, sitemap_items

Kind = Source.Kind
LISTED = frozenset({Kind.FOLDER, Kind.URL, Kind.SITEMAP})  # the others send what they have


def items_of(source: Source, *, trusted_folders: bool = False) -> Iterator[Item | Unlisted]:
    """What a source has now; nothing for kinds that send their documents themselves.

    Raises FolderNotAllowedError, FolderUnreadableError, UrlNotAllowedError, UrlUnreachableError.
    """
    match source.kind:
        case Kind.FOLDER:
            root = Path(source.location).resolve() if trusted_folders else folder_allowed(source.location)
            yield from folder_items(root)
        case Kind.URL:
            yield from page_items(source)
        case Kind.SITEMAP:
            yield from sitemap_items(source)

"""What a source lists, by its kind; and what it would bring in, before anything is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from django.conf import settings

from knowledge.connectors import Access, Connector, Listed, connector_kinds
from knowledge.errors import SourceSettingsError
from knowledge.models import Source
from knowledge.services.places import folder_allowed
from knowledge.services.sources.credentials import credentials_decrypt
from knowledge.services.sources.folders import folder_items
from knowledge.services.sources.web import page_items, policy_of, sitemap_items


def connector_of(source: Source, *, for_owner: bool = False, pace: Callable[[], None] = lambda: None) -> Connector:
    """The connector of a source; `for_owner`: see folder_allowed, `pace`: see Access.

    Raises SourceSettingsError for kinds without one, InvalidOptionsError, CredentialsUnreadableError.
    """
    kind = connector_kinds().get(source.kind)
    if kind is None:
        raise SourceSettingsError("no_settings")
    access = Access(
        policy=policy_of(source),
        folder_allowed=partial(folder_allowed, tenant_id=source.tenant_id, for_owner=for_owner),
        workspace=workspace_of(source),
        secrets=credentials_decrypt(source.credentials),
        pace=pace,
    )
    return kind(location=source.location, settings=source.settings, access=access)


def workspace_of(source: Source) -> Path:
    """A folder for what a connector keeps between runs; it may be removed at any time."""
    folder: Path = settings.DATA_DIR / "connectors" / str(source.pk or 0)
    return folder


def listed_items(
    source: Source, *, trusted_folder: str = "", pace: Callable[[], None] = lambda: None
) -> Iterator[Listed]:
    """What a source has now, or what has changed there; nothing for kinds that send their documents themselves.

    `trusted_folder`: see run_open; `pace`: see Access. Raises FolderNotAllowedError, FolderUnreadableError,
    UrlNotAllowedError, UrlUnreachableError, ConnectorError, SourceUnreachableError, SourceBusyError.
    """
    if source.kind in connector_kinds():
        yield from connector_of(source, pace=pace).changes(source.cursor)
        return
    match source.kind:
        case Source.Kind.FOLDER:
            is_trusted = bool(trusted_folder) and source.location == trusted_folder
            here, home = source.location, source.tenant_id
            yield from folder_items(Path(here).resolve() if is_trusted else folder_allowed(here, tenant_id=home))
        case Source.Kind.URL:
            yield from page_items(source)
        case Source.Kind.SITEMAP:
            yield from sitemap_items(source)

"""What a source lists, by its kind; and what it would bring in, before anything is read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from django.conf import settings

from accounts.scope import Scope
from knowledge.connectors import Access, Connector, Listed, Preview, connector_kinds, preview_of
from knowledge.errors import SourceSettingsError
from knowledge.models import Source
from knowledge.selectors.sets import source_managed
from knowledge.services.places import folder_allowed
from knowledge.services.sources.credentials import credentials_decrypt
from knowledge.services.sources.folders import folder_items
from knowledge.services.sources.ownership import owner_check
from knowledge.services.sources.web import page_items, policy_of, sitemap_items

MOST_PREVIEWED = 100_000  # items that are counted
PREVIEW_SECONDS = 20.0


def connector_of(source: Source, *, for_owner: bool = False) -> Connector:
    """The connector of a source; `for_owner`: see folder_allowed.

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
    )
    return kind(location=source.location, settings=source.settings, access=access)


def workspace_of(source: Source) -> Path:
    """A folder for what a connector keeps between runs; it may be removed at any time."""
    folder: Path = settings.DATA_DIR / "connectors" / str(source.pk or 0)
    return folder


def listed_items(source: Source, *, trusted_folder: str = "") -> Iterator[Listed]:
    """What a source has now, or what has changed there; nothing for kinds that send their documents themselves.

    `trusted_folder`: see run_open. Raises FolderNotAllowedError, FolderUnreadableError, UrlNotAllowedError,
    UrlUnreachableError, ConnectorError, SourceUnreachableError.
    """
    if source.kind in connector_kinds():
        yield from connector_of(source).changes(source.cursor)
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


def source_preview(*, scope: Scope, source_id: int) -> Preview:
    """What a source would bring in now, all of it: a count and the first items; nothing is stored.

    Raises NotFoundError, NotAllowedError, SourceUnownedError, and as listed_items.
    """
    source = source_managed(scope=scope, source_id=source_id)
    owner_check(source)
    source.cursor = {}
    return preview_of(listed_items(source), most=MOST_PREVIEWED, seconds=PREVIEW_SECONDS)

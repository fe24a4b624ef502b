"""Files of a storage service: S3 and MinIO, Azure, Google, WebDAV, SFTP, HDFS and shares of Windows.

An item's id is its path below the place. Its stamp is what the service says about each version in its list, so that a
file is only read when it has changed; size and ending are checked before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from importlib import import_module
from pathlib import PurePosixPath
from typing import Annotated, Any, ClassVar
from urllib.parse import quote

from django.conf import settings as site
from django.utils.translation import gettext_lazy as _
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from knowledge.connector_errors import ConnectorError, ItemOfSourceError
from knowledge.connectors.base import Connector, SettingField, connector
from knowledge.connectors.items import FetchedItem, Item, Listed, ListEnd, Stamp, UnreadableItem
from knowledge.connectors.stores import FolderClosedError, Place, Store, StoredFile, is_hidden, place_of
from knowledge.errors import ItemUnreadableError, UploadTooLargeError
from knowledge.types import STRICT
from ragcore.parsing import format_of

MAX_PATH = 512
GOOGLE = "storage.googleapis.com"
SCHEMES = {"s3": 443, "gs": 443, "azure": 443, "webdav": 443, "webhdfs": 443, "sftp": 22, "smb": 445}
_STORES = {  # their libraries are loaded only where a source needs them
    "s3": ("s3", "S3Store"),
    "gs": ("s3", "S3Store"),
    "azure": ("azure", "AzureStore"),
    "webdav": ("webdav", "WebDavStore"),
    "webhdfs": ("webhdfs", "WebHdfsStore"),
    "sftp": ("sftp", "SftpStore"),
    "smb": ("smb", "SmbStore"),
}


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class StorageSettings:
    """`region`: of S3, "" for that of the address; `host_key`: of an SFTP server, "SHA256:…"."""

    region: Annotated[str, Field(max_length=64)] = ""
    host_key: Annotated[str, Field(max_length=128)] = ""


@connector
class StorageConnector(Connector):
    """See the module."""

    kind = "storage"
    label = _("Storage (S3, Azure, WebDAV, SFTP, SMB, HDFS)")
    summary = _("Files of a bucket, a share or a server folder.")
    location_help = _(
        "One of s3://s3.example.com/bucket/folder, gs://bucket/folder, "
        "azure://account.blob.core.windows.net/container, webdav://host/folder, sftp://host/folder, "
        "smb://host/share/folder, webhdfs://host:9871/folder. Keys or name and password stand under Sign-in."
    )
    settings_type = StorageSettings
    setting_fields = (
        SettingField(
            name="region",
            label=_("region"),
            help_text=_("Of S3. If empty, the region in the address, or us-east-1."),
        ),
        SettingField(
            name="host_key",
            label=_("host key"),
            help_text=_("Of an SFTP server: SHA256:… as ssh-keygen -lf shows it. The preview names the present one."),
        ),
    )
    credential_fields: ClassVar = (frozenset({"user", "password"}), frozenset({"token"}))

    @classmethod
    def host_of(cls, location: str) -> tuple[str, int] | None:
        place = _place(location)
        return place.host, place.port

    def changes(self, cursor: Mapping[str, Any]) -> Iterator[Listed]:
        place = _place(self.location)
        self.access.host_check(place.host, place.port)
        module, name = _STORES[place.scheme]
        store: Store = getattr(import_module(f"knowledge.connectors.stores.{module}"), name)(
            place=place, settings=self.settings, access=self.access
        )
        try:
            for file in store.files():
                if isinstance(file, UnreadableItem):
                    yield file
                elif not is_hidden(file.path):
                    yield _item(store, file)
            yield ListEnd(cursor={}, is_full=True)
        finally:
            store.close()


def _place(location: str) -> Place:
    """Google's buckets are named without their host. Raises ConnectorError."""
    stripped = location.strip()
    if stripped.startswith("gs://") and not stripped.startswith(f"gs://{GOOGLE}"):
        stripped = f"gs://{GOOGLE}/{stripped.removeprefix('gs://')}"
    return place_of(stripped, schemes=SCHEMES)


def _item(store: Store, file: StoredFile) -> Item | UnreadableItem:
    if not _is_text(file.path):
        path = file.path.encode("utf-8", "replace").decode().replace("\x00", "�")
        return UnreadableItem(path=path[:MAX_PATH], error=ItemOfSourceError("path"))
    attributes = {"changed": file.changed} if file.changed else {}
    if store.place.scheme == "webdav":
        whole = "/".join(filter(None, (store.place.path, file.path)))
        attributes["link"] = f"{store.place.origin}/{quote(whole)}"
    return Item(
        external_id=file.path,
        name=PurePosixPath(file.path).name,
        stamp=file.stamp,
        read=partial(_read, store, file),
        metadata=attributes,
    )


def _read(store: Store, file: StoredFile, last: Stamp) -> FetchedItem | None:
    """What is too large or of an unknown format is refused before it is read. Raises RagError, OSError."""
    if last == file.stamp:
        return None
    most, name = site.MAX_UPLOAD_BYTES, PurePosixPath(file.path).name
    if file.size_bytes > most:
        raise _too_large()
    format_of(name)
    try:
        content = store.content(file, most_bytes=most)
    except (FolderClosedError, ConnectorError):  # gone since it was listed, or closed to this account
        raise ItemUnreadableError from None
    if len(content) > most:
        raise _too_large()
    return FetchedItem(name=name, content=content, stamp=file.stamp)


def _too_large() -> UploadTooLargeError:
    return UploadTooLargeError("limit", limit_mb=site.MAX_UPLOAD_BYTES // (1024 * 1024))


def _is_text(path: str) -> bool:
    """Whether a path can be an id: not too long, without characters that no text has."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return len(path) <= MAX_PATH and "\x00" not in path

"""Azure Blob Storage: an account's key, a signature (SAS), or a container that everybody may read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from azure.core.exceptions import AzureError, ClientAuthenticationError, HttpResponseError, ResourceNotFoundError
from azure.core.pipeline.transport import RequestsTransport
from azure.storage.blob import ContainerClient

from knowledge.connector_errors import ConnectorError, SourceUnreachableError
from knowledge.connectors.base import Access
from knowledge.connectors.checked_http import session_of
from knowledge.connectors.items import UnreadableItem
from knowledge.connectors.stores import Place, Store, StoredFile

PAGE = 2000
REFUSED = (401, 403)
FOLDER_MARK = "hdi_isfolder"  # of accounts with real folders


class AzureStore(Store):
    """`user` and `password`: the name of the account and its key; `token`: a signature."""

    def __init__(self, *, place: Place, settings: Any, access: Access) -> None:
        super().__init__(place=place, settings=settings, access=access)
        container, folder = _container(place)
        self._prefix = f"{folder}/" if folder else ""
        secrets = access.secrets
        credential: dict[str, str] | str | None = None
        if "user" in secrets:
            credential = {"account_name": secrets["user"], "account_key": secrets["password"]}
        elif "token" in secrets:
            credential = secrets["token"].lstrip("?")
        try:
            self._client = ContainerClient(
                account_url=_account_url(place),
                container_name=container,
                credential=credential,
                transport=RequestsTransport(session=session_of(access), session_owner=False, use_env_settings=False),
                retry_total=2,
                connection_timeout=20,
                read_timeout=120,
            )
        except ValueError:
            raise ConnectorError("credentials") from None

    def files(self) -> Iterator[StoredFile | UnreadableItem]:
        with _coded_errors():
            blobs = self._client.list_blobs(
                name_starts_with=self._prefix or None, include=["metadata"], results_per_page=PAGE
            )
            for blob in blobs:
                if not blob.name.endswith("/") and FOLDER_MARK not in (blob.metadata or {}):
                    yield self._file(blob)

    def _file(self, blob: Any) -> StoredFile:
        return StoredFile(
            path=blob.name[len(self._prefix) :],
            size_bytes=blob.size,
            stamp={"etag": str(blob.etag).strip('"'), "size": blob.size},
            changed=blob.last_modified.date().isoformat() if blob.last_modified else "",
        )

    def content(self, file: StoredFile, *, most_bytes: int) -> bytes:
        with _coded_errors():
            length = min(file.size_bytes, most_bytes + 1)
            content: bytes = self._client.download_blob(self._prefix + file.path, offset=0, length=length).readall()
            return content

    def close(self) -> None:
        self._client.close()


def _container(place: Place) -> tuple[str, str]:
    """Behind a host that is no name of Azure (an emulator) the account comes first in the path."""
    first, rest = place.container()
    if _is_azure(place):
        return first, rest
    name, _slash, folder = rest.partition("/")
    if not name:
        raise ConnectorError("no_container")
    return name, folder


def _account_url(place: Place) -> str:
    return place.origin if _is_azure(place) else f"{place.origin}/{place.container()[0]}"


def _is_azure(place: Place) -> bool:
    return ".blob." in place.host


@contextmanager
def _coded_errors() -> Iterator[None]:
    try:
        yield
    except ClientAuthenticationError:
        raise ConnectorError("credentials") from None
    except ResourceNotFoundError:
        raise ConnectorError("no_place") from None
    except HttpResponseError as problem:
        if problem.status_code in REFUSED:
            raise ConnectorError("credentials") from None
        raise SourceUnreachableError("because", problem=_words(problem)) from problem
    except (AttributeError, TypeError):  # an answer of something else, which its library does not look at
        raise ConnectorError("address") from None
    except AzureError as problem:
        raise SourceUnreachableError("because", problem=_words(problem)) from problem


def _words(problem: AzureError) -> str:
    return " ".join(str(problem.message).split())[:200]

"""Amazon S3, MinIO and other services that speak it; Google Cloud Storage by its HMAC keys."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import botocore.session
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from knowledge.connector_errors import ConnectorError, SourceUnreachableError
from knowledge.connectors.base import Access
from knowledge.connectors.items import UnreadableItem
from knowledge.connectors.stores import Place, Store, StoredFile

USUAL_REGION = "us-east-1"  # services without regions take this name
REFUSED = ("AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidSecurity", "401", "403")
NOWHERE = ("NoSuchBucket", "NoSuchKey", "404", "PermanentRedirect", "AuthorizationHeaderMalformed", "InvalidBucketName")
PAGE = 1000  # the most that the protocol sends at once


class S3Store(Store):
    """Path-style addresses, which every one of these services knows."""

    def __init__(self, *, place: Place, settings: Any, access: Access) -> None:
        super().__init__(place=place, settings=settings, access=access)
        self._bucket, folder = place.container()
        self._prefix = f"{folder}/" if folder else ""
        self._client = _client(place, region=settings.region, access=access)

    def files(self) -> Iterator[StoredFile | UnreadableItem]:
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=self._bucket, Prefix=self._prefix, PaginationConfig={"PageSize": PAGE}
        )
        with _coded_errors():
            for page in pages:
                for entry in page.get("Contents", ()):
                    if not entry["Key"].endswith("/"):  # the sign of an empty folder
                        yield self._file(entry)

    def _file(self, entry: Any) -> StoredFile:
        return StoredFile(
            path=entry["Key"][len(self._prefix) :],
            size_bytes=entry["Size"],
            stamp={"etag": entry.get("ETag", "").strip('"'), "size": entry["Size"]},
            changed=str(entry.get("LastModified", ""))[:10],
        )

    def content(self, file: StoredFile, *, most_bytes: int) -> bytes:
        with _coded_errors():
            reply = self._client.get_object(Bucket=self._bucket, Key=self._prefix + file.path)
            with reply["Body"] as body:
                content: bytes = body.read(most_bytes + 1)
                return content

    def close(self) -> None:
        self._client.close()


def _client(place: Place, *, region: str, access: Access) -> Any:
    """A client that takes nothing from this machine: no keys, no settings, no proxies."""
    session = botocore.session.Session(include_builtin_handlers=True)
    for name in ("config_file", "credentials_file"):
        session.set_config_variable(name, os.devnull)
    session.set_config_variable("profile", None)
    # moments stay the text that the service sends (ISO): reading them is three quarters of the work of a long list
    session.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=str)
    user, password = access.secrets.get("user"), access.secrets.get("password")
    config = Config(
        signature_version="s3v4" if user else UNSIGNED,
        s3={"addressing_style": "path"},
        connect_timeout=20,
        read_timeout=120,
        retries={"mode": "standard", "total_max_attempts": 3},
        proxies={},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    client = session.create_client(
        "s3",
        region_name=region or _region(place.host),
        endpoint_url=place.origin,
        aws_access_key_id=user,
        aws_secret_access_key=password,
        config=config,
        verify=os.environ.get("SSL_CERT_FILE") or None,
    )

    def host_check(request: Any, **_others: Any) -> None:
        parts = urlsplit(request.url)
        access.host_check(parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))

    client.meta.events.register("before-send.s3", host_check)
    return client


def _region(host: str) -> str:
    """As an address such as s3.eu-central-1.amazonaws.com says it."""
    parts = host.split(".")
    return parts[1] if ".amazonaws." in host and len(parts) > 3 else USUAL_REGION


@contextmanager
def _coded_errors() -> Iterator[None]:
    try:
        yield
    except ClientError as problem:
        code = str(problem.response.get("Error", {}).get("Code", ""))
        if code in REFUSED:
            raise ConnectorError("credentials") from None
        if code in NOWHERE:
            raise ConnectorError("no_place") from None
        raise SourceUnreachableError("because", problem=str(problem)[:200]) from problem
    except BotoCoreError as problem:
        raise SourceUnreachableError("because", problem=str(problem)[:200]) from problem

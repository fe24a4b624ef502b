"""How large the body of a request may be, by address: the one table, which docs/operators.md shows."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from accounts.rest import MAX_JSON_BYTES
from accounts.scim.api import MAX_BODY_BYTES as MAX_SCIM_BYTES
from chat.mcp.server import MAX_BODY_BYTES as MAX_RPC_BYTES
from knowledge.api.webhooks import MAX_BODY_BYTES as MAX_WEBHOOK_BYTES

KIB = 1024
MIB = 1024 * KIB

STRANGER_BYTES = 64 * KIB  # sign-in and the like; more only from callers who are known
LONG_JSON_BYTES = 2 * MIB
UPLOAD_EXTRA_BYTES = MIB  # what a form adds to its file
WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyLimit:
    """The limit of an address, or of all that begin with it.

    Nobody who is unknown sends more than STRANGER_BYTES, except where `is_open`.
    """

    path: str  # `*` at its end: every address that begins so
    limit: int | str  # bytes, or the name of a setting in bytes
    extra_bytes: int = 0
    is_open: bool = False
    content: str  # what is sent there, for the table in the documents

    @property
    def limit_bytes(self) -> int:
        """The limit with the settings in force."""
        limit: int = getattr(settings, self.limit) if isinstance(self.limit, str) else self.limit
        return limit + self.extra_bytes

    def covers(self, path: str) -> bool:
        """Whether it is the limit of this address."""
        return path.startswith(self.path[:-1]) if self.path.endswith("*") else path == self.path


BODY_LIMITS = (  # the first that covers an address counts
    BodyLimit(path="/api/v1/documents", limit="MAX_UPLOAD_BYTES", extra_bytes=UPLOAD_EXTRA_BYTES, content="a file"),
    BodyLimit(path="/api/v1/documents/bulk", limit="MAX_BULK_BYTES", content="NDJSON, read as a stream"),
    BodyLimit(path="/api/v1/triples", limit="MAX_BULK_BYTES", content="triples, read as a stream"),
    BodyLimit(
        path="/api/v1/set-files",
        limit="MAX_BULK_BYTES",
        extra_bytes=UPLOAD_EXTRA_BYTES,
        content="a knowledge set file",
    ),
    BodyLimit(
        path="/api/v1/webhooks/*", limit=MAX_WEBHOOK_BYTES, is_open=True, content="signed events; larger files by URL"
    ),
    BodyLimit(
        path="/api/v1/rag/attachments",
        limit="MAX_ATTACHMENT_BYTES",
        extra_bytes=UPLOAD_EXTRA_BYTES,
        content="a file for a question",
    ),
    BodyLimit(
        path="/embed/*",
        limit="MAX_ATTACHMENT_BYTES",
        extra_bytes=UPLOAD_EXTRA_BYTES,
        content="a file for a question in an embedded chat",
    ),
    BodyLimit(path="/api/v1/rag/batch", limit=LONG_JSON_BYTES, content="up to 100 questions"),
    BodyLimit(path="/v1/chat/completions", limit=LONG_JSON_BYTES, content="a conversation"),
    BodyLimit(path="/v1/embeddings", limit=LONG_JSON_BYTES, content="up to 256 texts"),
    BodyLimit(path="/api/v1/dify/*", limit=LONG_JSON_BYTES, content="a question, perhaps within a prompt"),
    BodyLimit(path="/api/*", limit=MAX_JSON_BYTES, content="JSON"),
    BodyLimit(path="/v1/*", limit=MAX_JSON_BYTES, content="JSON"),
    BodyLimit(path="/scim/*", limit=MAX_SCIM_BYTES, content="people and user groups of a directory"),
    BodyLimit(path="/mcp*", limit=MAX_RPC_BYTES, content="JSON-RPC"),
    BodyLimit(
        path="/admin/knowledge/document/upload/",
        limit="MAX_UPLOAD_BYTES",
        extra_bytes=UPLOAD_EXTRA_BYTES,
        content="files of one form, together",
    ),
    BodyLimit(
        path="/admin/knowledge/triple/import/",
        limit="MAX_BULK_BYTES",
        extra_bytes=UPLOAD_EXTRA_BYTES,
        content="a file of triples",
    ),
    BodyLimit(
        path="/admin/knowledge/knowledgeset/import/",
        limit="MAX_BULK_BYTES",
        extra_bytes=UPLOAD_EXTRA_BYTES,
        content="a knowledge set file",
    ),
    BodyLimit(
        path="/admin/*",
        limit="DATA_UPLOAD_MAX_MEMORY_SIZE",
        content="forms, also with golden sets and options as files",
    ),
    BodyLimit(path="*", limit=STRANGER_BYTES, is_open=True, content="other forms; addresses that do not exist"),
)
WITHOUT_BODY = BodyLimit(path="*", limit=STRANGER_BYTES, is_open=True, content="methods that need no body")


def body_limit(method: str, path: str) -> BodyLimit:
    """The limit of a request."""
    if method not in WITH_BODY:
        return WITHOUT_BODY
    return next(limit for limit in BODY_LIMITS if limit.covers(path))

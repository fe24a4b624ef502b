"""`/api/v1/documents`: uploading, loading in bulk, listing, reading, deleting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import IO, Any, ClassVar

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.decorators import action
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser, DataAndFiles, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.errors import NotFoundError
from accounts.key_scopes import KeyScope
from accounts.rest import SmallJsonParser
from knowledge.api.document_fields import (
    BulkFields,
    BulkLine,
    ChunkFields,
    DocumentBody,
    DocumentDetailFields,
    DocumentFields,
    DocumentQuery,
    DocumentReadersFields,
    ReadersBody,
    RetryBody,
    RetryFields,
    UploadBody,
    UploadFields,
)
from knowledge.api.relations import RelationActions
from knowledge.selectors import chunks_of, document_get, document_list, document_openable
from knowledge.selectors.keeping import versions_listed
from knowledge.selectors.options import pipeline_options
from knowledge.selectors.readers import readers_of
from knowledge.selectors.reviews import reviews_due
from knowledge.selectors.sets import sets_readable
from knowledge.services.bulk import documents_bulk
from knowledge.services.bulk_lines import MAX_LINE_BYTES
from knowledge.services.documents import (
    document_delete,
    document_managed,
    document_update,
    document_upload,
    upload_check,
)
from knowledge.services.jobs import document_retry
from knowledge.services.readers import document_readers_clear, document_readers_set
from knowledge.services.reading import document_read_record
from knowledge.services.sources import archive_upload
from knowledge.services.withdrawal import version_withdraw

# ── request bodies ────────────────────────────────────────────────────────────────────────────────


READ_BYTES = 64 * 1024


class FileParser(MultiPartParser):
    """`multipart/form-data`; Django writes files to disk and takes names from `filename*` (RFC 5987) too."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> DataAndFiles[Any, Any]:
        try:
            return super().parse(stream, media_type, parser_context)
        except (LookupError, ValueError) as error:  # an unknown charset, or parts missing, in `filename*`
            raise ParseError(_("The form data cannot be read.")) from error


class LinesParser(BaseParser):
    """The body as lines of bytes, read while they are used: nothing is kept, whatever the length of the body."""

    media_type = "application/x-ndjson"

    def parse(  # type: ignore[override]  # REST framework hands on whatever a parser returns
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Iterator[bytes]:
        return lines_of(stream)


class JsonLinesParser(LinesParser):
    """The same body under the name that many clients send."""

    media_type = "application/*"


class TextLinesParser(LinesParser):
    media_type = "text/plain"


def lines_of(stream: IO[bytes]) -> Iterator[bytes]:
    """Lines without their end. Of one over MAX_LINE_BYTES only its first MAX_LINE_BYTES + 1 bytes are kept."""
    while line := stream.readline(MAX_LINE_BYTES + 1):
        rest = line
        while not rest.endswith(b"\n") and (rest := stream.readline(READ_BYTES)):
            continue
        yield line.rstrip(b"\r\n")


# ── views ───────────────────────────────────────────────────────────────────────────────────────


@extend_schema(tags=["documents"])
class DocumentViewSet(RelationActions):
    """Documents that you may open; owners of a set add to it."""

    lookup_field = "document_id"
    lookup_value_converter = "int"
    parser_classes = [FileParser]
    key_scopes: ClassVar = {
        "list": KeyScope.READ,
        "create": KeyScope.WRITE,
        "bulk": KeyScope.WRITE,
        "retrieve": KeyScope.READ,
        "destroy": KeyScope.WRITE,
        "markdown": KeyScope.READ,
        "chunks": KeyScope.READ,
        "retry": KeyScope.WRITE,
        "partial_update": KeyScope.WRITE,
        "withdraw": KeyScope.WRITE,
        "readers": KeyScope.READ,
        "readers_put": KeyScope.WRITE,
        "readers_clear": KeyScope.WRITE,
        "relations": KeyScope.READ,
        "relations_add": KeyScope.WRITE,
        "relation_remove": KeyScope.WRITE,
    }

    def get_parsers(self) -> list[BaseParser]:
        """Documents come as forms; what changes them comes as JSON."""
        is_change = self.request is not None and self.request.method == "PATCH"
        return [SmallJsonParser()] if is_change else super().get_parsers()

    @extend_schema(parameters=[DocumentQuery], responses=DocumentFields(many=True), operation_id="documents_list")
    def list(self, request: Request) -> Response:
        """Documents that you may open, newest first."""
        query = self.query(DocumentQuery)
        rows = document_list(
            scope=self.scope,
            set_id=query.get("set"),
            state=query.get("state"),
            q=query.get("q"),
            external_id=query.get("external_id"),
        )
        rows = reviews_due(scope=self.scope, documents=rows) if query.get("review") else rows
        return self.page(rows.select_related("source", "review").prefetch_related("sets"), DocumentFields)

    @extend_schema(
        request={"multipart/form-data": UploadBody},
        responses={202: UploadFields, 200: OpenApiResponse(UploadFields, "You keep the same bytes already.")},
    )
    def create(self, request: Request) -> Response:
        """Upload a file; ingestion goes on in the background.

        The same bytes again merge sets and tags where you keep the document; else they make a document of your own.
        """
        values = self.body(UploadBody)
        file = values.pop("file")
        upload_check(name=file.name, size_bytes=file.size)
        if values.pop("unpack") and file.name.lower().endswith(".zip"):
            return self._unpacked(file, values)
        uploaded = document_upload(scope=self.scope, actor=self.user, name=file.name, content=file, **values)
        answer = {
            "document_id": uploaded.document.pk,
            "job_id": uploaded.job.pk if uploaded.job else None,
            "duplicate": uploaded.duplicate,
        }
        return Response(answer, status=200 if uploaded.duplicate else 202)

    def _unpacked(self, file: UploadedFile, values: dict[str, Any]) -> Response:
        values.pop("title", None)  # each document has its own
        unpacked = archive_upload(scope=self.scope, actor=self.user, name=str(file.name), content=file, **values)
        answer = {
            "document_id": unpacked.document_ids[0],
            "job_id": unpacked.job.pk,
            "duplicate": False,
            "documents": list(unpacked.document_ids),
            "refused": unpacked.refused,
        }
        return Response(answer, status=202)

    @extend_schema(request={"application/x-ndjson": BulkLine}, responses={202: BulkFields})
    @action(detail=False, methods=["post"], parser_classes=[LinesParser, JsonLinesParser, TextLinesParser])
    def bulk(self, request: Request) -> Response:
        """Load many texts, one JSON object a line. The first 100 lines that cannot be taken are named.

        The others are loaded; but 1,000 faulty lines end the load with 422, and nothing of it is stored.
        """
        lines: Any = request.data or ()
        result = documents_bulk(scope=self.scope, actor=self.user, lines=lines)
        return Response(asdict(result), status=202)

    @extend_schema(responses=DocumentDetailFields)
    def retrieve(self, request: Request, document_id: int) -> Response:
        """One document with the versions that you may open and, if it failed, why."""
        document = document_get(scope=self.scope, document_id=document_id)
        versions = list(versions_listed(scope=self.scope, document=document))
        deciding = {pk for version in versions for pk in version.pipeline_sets or ()}
        readable = sets_readable(scope=self.scope).filter(pk__in=deciding)
        context = {
            "versions": versions,
            "readable_sets": set(readable.order_by().values_list("pk", flat=True)),
            "pipeline_now": pipeline_options(documents=[document])[document.pk].sha256,
        }
        return Response(DocumentDetailFields(document, context=context).data)

    @extend_schema(request=DocumentBody, responses=DocumentDetailFields)
    def partial_update(self, request: Request, document_id: int) -> Response:
        """Change title, tags (all of them at once), clearance and review date of a document that you keep.

        A clearance above your own is refused.
        """
        values = self.body(DocumentBody)
        document_update(scope=self.scope, actor=self.user, document_id=document_id, **values)
        return self.retrieve(request, document_id)

    @extend_schema(responses=DocumentReadersFields)
    @action(detail=True, methods=["get"], parser_classes=[SmallJsonParser])
    def readers(self, request: Request, document_id: int) -> Response:
        """Who alone may read a document that you keep, besides sets and clearance. Null: no limit; both hold."""
        return self._readers(document_id)

    @extend_schema(request=ReadersBody, responses=DocumentReadersFields)
    @readers.mapping.put
    def readers_put(self, request: Request, document_id: int) -> Response:
        """Name who alone may read it, of the tenant. Empty lists let nobody in but those who keep it."""
        values = self.body(ReadersBody)
        document_readers_set(scope=self.scope, actor=self.user, document_id=document_id, **values)
        return self._readers(document_id)

    def _readers(self, document_id: int) -> Response:
        document = document_managed(scope=self.scope, document_id=document_id)
        by_keepers, by_source = readers_of(scope=self.scope, document=document)
        return Response({"readers": by_keepers and by_keepers.json(), "source_readers": by_source and by_source.json()})

    @extend_schema(responses={204: None})
    @readers.mapping.delete
    def readers_clear(self, request: Request, document_id: int) -> Response:
        """Take your list back; what the source says about readers stays in force."""
        document_readers_clear(scope=self.scope, actor=self.user, document_id=document_id)
        return Response(status=204)

    @extend_schema(request=None, responses=DocumentDetailFields, operation_id="documents_versions_withdraw")
    @action(detail=True, methods=["post"], url_path="versions/<int:number>/withdraw", parser_classes=[SmallJsonParser])
    def withdraw(self, request: Request, document_id: int, number: int) -> Response:
        """Take back a version of a document that you keep. The last one with other bytes is searchable again soon."""
        version_withdraw(scope=self.scope, actor=self.user, document_id=document_id, number=number)
        return self.retrieve(request, document_id)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, document_id: int) -> Response:
        """Delete: gone from every answer at once."""
        document_delete(scope=self.scope, actor=self.user, document_id=document_id)
        return Response(status=204)

    @extend_schema(responses={(200, "text/markdown"): OpenApiTypes.STR})
    @action(detail=True, methods=["get"])
    def markdown(self, request: Request, document_id: int) -> HttpResponse:
        """The text of the live version as Markdown."""
        document = document_openable(scope=self.scope, document_id=document_id)
        version = document.live_version
        if version is None:
            raise NotFoundError("no_text", document=document_id)
        document_read_record(scope=self.scope, document=document)
        return HttpResponse(version.markdown, content_type="text/markdown; charset=utf-8")

    @extend_schema(responses=ChunkFields(many=True), filters=False, operation_id="documents_chunks_list")
    @action(detail=True, methods=["get"])
    def chunks(self, request: Request, document_id: int) -> Response:
        """The passages of the live version in reading order."""
        rows = chunks_of(scope=self.scope, document_id=document_id)
        document_read_record(scope=self.scope, document=document_get(scope=self.scope, document_id=document_id))
        return Response(ChunkFields(rows, many=True).data)

    @extend_schema(request=RetryBody, responses={202: RetryFields})
    @action(detail=True, methods=["post"], parser_classes=[SmallJsonParser])
    def retry(self, request: Request, document_id: int) -> Response:
        """Ingest the newest version again: from the original, or from what was read of it."""
        values = self.body(RetryBody)
        job = document_retry(scope=self.scope, actor=self.user, document_id=document_id, stage=values["stage"])
        return Response({"job_id": job.pk}, status=202)

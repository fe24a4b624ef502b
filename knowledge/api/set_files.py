"""`/api/v1/set-files`: knowledge sets that travel: exports to be fetched, and files to be imported."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.parsers import BaseParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.key_scopes import KeyScope
from accounts.rest import Identifier, PageQuery, ResourceViewSet, SmallJsonParser, StrictSerializer, Text
from knowledge.models import SetFile
from knowledge.selectors.set_files import set_file_get, set_files_visible
from knowledge.services.set_files.exporting import export_open, set_export_start
from knowledge.services.set_files.importing import set_file_delete, set_import_offer, set_import_start
from work.models import Job

PRIVATE = {"Cache-Control": "private, no-store"}


class ExportBody(StrictSerializer):
    """The set to be exported."""

    set = Identifier()


class SetFileUpload(StrictSerializer):
    """A file that an export has written."""

    file = serializers.FileField()


class ImportBody(StrictSerializer):
    """What to make of an offered file. `people`: `user:NAME` or `group:NAME` of the file → name here, "" for nobody."""

    code = serializers.SlugField(max_length=64, required=False)
    name = Text(max_length=128, required=False)
    people = serializers.DictField(child=Text(max_length=150, allow_blank=True), required=False)


class SetFileFields(serializers.ModelSerializer[SetFile]):
    """A file. `summary`: of an import what it would do, and at the end what was done (`counts`)."""

    set = serializers.IntegerField(source="knowledge_set_id", allow_null=True)
    kind = serializers.CharField(help_text="export or import.")
    state = serializers.CharField(help_text="offered, working, done, failed or cancelled.")
    background_job = serializers.SerializerMethodField()

    class Meta:
        model = SetFile
        fields: ClassVar = [
            "id",
            "kind",
            "state",
            "set",
            "name",
            "size_bytes",
            "summary",
            "background_job",
            "created",
            "finished",
        ]

    def get_background_job(self, row: SetFile) -> int | None:
        jobs = Job.objects.filter(subject=row.subject, tenant=row.tenant_id, kind__endswith="_set").order_by("-pk")
        return jobs.values_list("pk", flat=True).first()


@extend_schema(tags=["set files"])
class SetFileViewSet(ResourceViewSet):
    """Files in which knowledge sets travel from one site or organisation to another."""

    lookup_field = "file_id"
    lookup_value_converter = "int"
    key_scopes: ClassVar = dict.fromkeys(
        ("list", "create", "retrieve", "destroy", "exports", "start", "content"), KeyScope.MANAGE
    )

    def get_parsers(self) -> list[BaseParser]:
        """A file is sent as a form, everything else is small JSON."""
        is_upload = self.action_map.get(str(self.request.method).lower()) == "create" if self.request else False
        return [MultiPartParser()] if is_upload else [SmallJsonParser()]

    @extend_schema(parameters=[PageQuery], responses=SetFileFields(many=True), operation_id="set_files_list")
    def list(self, request: Request) -> Response:
        """Your exports and imports, newest first; administrators see those of all."""
        self.query(PageQuery)
        return self.page(set_files_visible(scope=self.scope), SetFileFields)

    @extend_schema(request={"multipart/form-data": SetFileUpload}, responses={201: SetFileFields})
    def create(self, request: Request) -> Response:
        """Offer a file for import: the answer shows what it would do. Nothing else is written until it is started."""
        file = self.body(SetFileUpload)["file"]
        row = set_import_offer(scope=self.scope, actor=self.user, name=str(file.name), content=file)
        return Response(SetFileFields(row).data, status=201)

    @extend_schema(responses=SetFileFields)
    def retrieve(self, request: Request, file_id: int) -> Response:
        """One file and its state."""
        return Response(SetFileFields(set_file_get(scope=self.scope, file_id=file_id)).data)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, file_id: int) -> Response:
        """Delete a file; its work ends. A set that was imported stays."""
        set_file_delete(scope=self.scope, actor=self.user, file_id=file_id)
        return Response(status=204)

    @extend_schema(request=ExportBody, responses={202: SetFileFields})
    @action(detail=False, methods=["post"])
    def exports(self, request: Request) -> Response:
        """Export a set that you own or administer, and all of whose documents you may open."""
        row = set_export_start(scope=self.scope, actor=self.user, set_id=self.body(ExportBody)["set"])
        return Response(SetFileFields(row).data, status=202)

    @extend_schema(request=ImportBody, responses={202: SetFileFields})
    @action(detail=True, methods=["post"])
    def start(self, request: Request, file_id: int) -> Response:
        """Import an offered file into your organisation. You own the new set."""
        values: dict[str, Any] = self.body(ImportBody)
        row = set_import_start(scope=self.scope, actor=self.user, file_id=file_id, **values)
        return Response(SetFileFields(row).data, status=202)

    @extend_schema(responses={(200, "application/zip"): OpenApiTypes.BINARY})
    @action(detail=True, methods=["get"])
    def content(self, request: Request, file_id: int) -> FileResponse:
        """A finished export, for those who could make it now."""
        row, file = export_open(scope=self.scope, actor=self.user, file_id=file_id)
        return FileResponse(
            file, as_attachment=True, filename=row.name, content_type="application/zip", headers=PRIVATE
        )

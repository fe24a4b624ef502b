"""`/api/v1/jobs`: where an ingestion stands, item by item; pausing, resuming, cancelling, trying again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.key_scopes import KeyScope
from accounts.rest import PageQuery, Pages, ResourceViewSet
from knowledge.selectors import items_progress, items_readable, job_get
from knowledge.services.jobs import job_cancel, job_pause, job_resume, job_retry
from knowledge.types import ItemProgress

STATES = ["queued", "running", "succeeded", "partial", "failed"]


class JobErrorFields(serializers.Serializer[Any]):
    """One document that could not be ingested, and why."""

    document_id = serializers.IntegerField(allow_null=True)
    external_id = serializers.CharField()
    code = serializers.CharField()
    message = serializers.CharField()


class JobFields(serializers.Serializer[Any]):
    """Counts, the least advanced open stage, and errors of a job."""

    id = serializers.IntegerField()
    state = serializers.ChoiceField(STATES)
    total = serializers.IntegerField()
    done = serializers.IntegerField()
    failed = serializers.IntegerField()
    stage = serializers.CharField()
    errors = JobErrorFields(many=True)  # type: ignore[assignment]  # fields leave the class when it is made
    cancelled = serializers.IntegerField()
    paused = serializers.BooleanField()


class ItemErrorFields(serializers.Serializer[Any]):
    """What an item waits for, or why it ended."""

    code = serializers.CharField()
    message = serializers.CharField()


class ItemFields(serializers.Serializer[Any]):
    """One document version on its way."""

    id = serializers.IntegerField()
    document_id = serializers.IntegerField()
    title = serializers.CharField()
    file_name = serializers.CharField()
    stage = serializers.CharField()
    stage_label = serializers.CharField(help_text="The stage in your language.")
    queue = serializers.CharField()
    position = serializers.IntegerField(allow_null=True, help_text="1 is taken next; null: in work or over.")
    progress_done = serializers.IntegerField()
    progress_total = serializers.IntegerField(help_text="Pages or passages of the stage; 0: nothing is counted.")
    heartbeat = serializers.DateTimeField(allow_null=True)
    attempt = serializers.IntegerField()
    not_before = serializers.DateTimeField(allow_null=True, help_text="Put off until then.")
    error = serializers.SerializerMethodField()
    finished = serializers.DateTimeField(allow_null=True)

    @extend_schema_field(ItemErrorFields(allow_null=True))
    def get_error(self, row: ItemProgress) -> dict[str, str] | None:
        return {"code": row.error_code, "message": row.error_message} if row.error_code else None


class RetriedFields(serializers.Serializer[Any]):
    """The new job; null where nothing had failed."""

    job_id = serializers.IntegerField(allow_null=True)


@extend_schema(tags=["ingestion jobs"])
class JobViewSet(ResourceViewSet):
    """Ingestion jobs that you started or administer."""

    lookup_field = "job_id"
    lookup_value_converter = "int"
    key_scopes: ClassVar = {
        "retrieve": KeyScope.READ,
        "items": KeyScope.READ,
        "pause": KeyScope.WRITE,
        "resume": KeyScope.WRITE,
        "cancel": KeyScope.WRITE,
        "retry": KeyScope.WRITE,
    }

    @extend_schema(responses=JobFields)
    def retrieve(self, request: Request, job_id: int) -> Response:
        """State of one job."""
        return Response(JobFields(job_get(scope=self.scope, job_id=job_id)).data)

    @extend_schema(parameters=[PageQuery], responses=ItemFields(many=True), operation_id="jobs_items_list")
    @action(detail=True, methods=["get"])
    def items(self, request: Request, job_id: int) -> Response:
        """What each document of a job has come to, in the order of the job."""
        self.query(PageQuery)
        pages = Pages()
        rows = pages.paginate_queryset(items_readable(scope=self.scope, job_id=job_id), request, view=self)
        progress = items_progress(scope=self.scope, items=list(rows or ()))
        return pages.get_paginated_response(ItemFields(progress, many=True).data)

    @extend_schema(request=None, responses=JobFields)
    @action(detail=True, methods=["post"])
    def pause(self, request: Request, job_id: int) -> Response:
        """Stop at the next checkpoint; nothing is lost."""
        return self._changed(job_pause, job_id)

    @extend_schema(request=None, responses=JobFields)
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, job_id: int) -> Response:
        """Go on with a paused job."""
        return self._changed(job_resume, job_id)

    @extend_schema(request=None, responses=JobFields)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, job_id: int) -> Response:
        """End what is not live yet; documents keep the version that they have."""
        return self._changed(job_cancel, job_id)

    @extend_schema(request=None, responses={202: RetriedFields})
    @action(detail=True, methods=["post"])
    def retry(self, request: Request, job_id: int) -> Response:
        """Ingest again what failed or was cancelled, in a new job."""
        job = job_retry(scope=self.scope, actor=self.user, job_id=job_id)
        return Response({"job_id": job.pk if job else None}, status=202)

    def _changed(self, change: Callable[..., object], job_id: int) -> Response:
        change(scope=self.scope, actor=self.user, job_id=job_id)
        return Response(JobFields(job_get(scope=self.scope, job_id=job_id)).data)

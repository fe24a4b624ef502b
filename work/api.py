"""`/api/v1/background-jobs`: background work that you started or administer."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.key_scopes import KeyScope
from accounts.rest import PageQuery, ResourceViewSet
from work.models import Job
from work.selectors import jobs_visible, work_get
from work.services import work_cancel
from work.words import error_words


class BackgroundJobQuery(PageQuery):
    """What narrows the list."""

    kind = serializers.CharField(max_length=64, default="")
    state = serializers.ChoiceField(Job.State.choices, default="")


class BackgroundJobErrorFields(serializers.Serializer[Any]):
    """What went wrong last."""

    code = serializers.CharField()
    message = serializers.CharField()


class BackgroundJobFields(serializers.ModelSerializer[Job]):
    """Where a piece of background work stands; `error.message` is in your language."""

    error = serializers.SerializerMethodField()

    class Meta:
        model = Job
        fields: ClassVar = [
            *("id", "kind", "subject", "state", "done", "total", "figures", "error"),
            *("created", "started", "finished"),
        ]

    @extend_schema_field(BackgroundJobErrorFields(allow_null=True))
    def get_error(self, row: Job) -> dict[str, str] | None:
        return {"code": row.error_code, "message": error_words(row)} if row.error_code else None


@extend_schema(tags=["background work"])
class BackgroundJobViewSet(ResourceViewSet):
    """Background work that you started or administer."""

    lookup_field = "background_job_id"
    lookup_value_converter = "int"
    key_scopes: ClassVar = {"list": KeyScope.READ, "retrieve": KeyScope.READ, "cancel": KeyScope.WRITE}

    @extend_schema(
        parameters=[BackgroundJobQuery], responses=BackgroundJobFields(many=True), operation_id="background_jobs_list"
    )
    def list(self, request: Request) -> Response:
        """The latest first."""
        query = self.query(BackgroundJobQuery)
        narrowed = {name: query[name] for name in ("kind", "state") if query[name]}
        return self.page(jobs_visible(scope=self.scope).filter(**narrowed), BackgroundJobFields)

    @extend_schema(responses=BackgroundJobFields, operation_id="background_jobs_retrieve")
    def retrieve(self, request: Request, background_job_id: int) -> Response:
        """One job."""
        return Response(BackgroundJobFields(work_get(scope=self.scope, job_id=background_job_id)).data)

    @extend_schema(request=None, responses=BackgroundJobFields, operation_id="background_jobs_cancel")
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, background_job_id: int) -> Response:
        """End a job; what it has stored stays."""
        job = work_cancel(scope=self.scope, actor=self.user, job_id=background_job_id)
        return Response(BackgroundJobFields(job).data)

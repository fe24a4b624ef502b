"""`/api/v1/jobs`: where an ingestion stands."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.rest import ResourceViewSet
from knowledge.selectors import job_get

STATES = ["queued", "running", "succeeded", "partial", "failed"]


class JobErrorFields(serializers.Serializer[Any]):
    """One document that could not be ingested, and why."""

    document_id = serializers.IntegerField()
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


@extend_schema(tags=["ingestion jobs"])
class JobViewSet(ResourceViewSet):
    """Ingestion jobs that you started or administer."""

    lookup_field = "job_id"
    lookup_value_converter = "int"

    @extend_schema(responses=JobFields)
    def retrieve(self, request: Request, job_id: int) -> Response:
        """State of one job."""
        return Response(JobFields(job_get(scope=self.scope, job_id=job_id)).data)

"""`/api/v1/sources`, what sets are composed of, and pages by their address."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.errors import NotFoundError
from accounts.key_scopes import KeyScope
from accounts.rest import ResourceViewSet
from knowledge.api.source_fields import (
    AttentionFields,
    CountedFields,
    DeleteQuery,
    HeldDeletionsBody,
    HeldDeletionsFields,
    HeldFields,
    ItemFaultFields,
    NewSourceBody,
    PreviewFields,
    RunBody,
    RunFields,
    SetSourceBody,
    SetSourceFields,
    SourceBody,
    SourceFields,
    SourceQuery,
    TestFields,
    UrlBody,
    UrlFields,
)
from knowledge.selectors.sets import set_sources, source_get, source_list, source_managed
from knowledge.services.composition import set_sources_put
from knowledge.services.sources import (
    document_from_url,
    faults_listed,
    held_deletions,
    held_deletions_decide,
    set_ingest,
    source_counted,
    source_create,
    source_delete,
    source_preview,
    source_run_start,
    source_test,
    source_update,
)
from knowledge.types import SourceFilter, strictly


@extend_schema(tags=["sources"])
class SourceViewSet(ResourceViewSet):
    """Sources: their owners and administrators change and run them, owners of sets compose sets of them."""

    lookup_field = "source_id"
    lookup_value_converter = "int"
    key_scopes: ClassVar = {
        "list": KeyScope.READ,
        "create": KeyScope.MANAGE,
        "retrieve": KeyScope.READ,
        "partial_update": KeyScope.MANAGE,
        "destroy": KeyScope.MANAGE,
        "run": KeyScope.WRITE,
        "preview": KeyScope.MANAGE,
        "counted": KeyScope.MANAGE,
        "test": KeyScope.MANAGE,
        "attention": KeyScope.MANAGE,
        "deletions": KeyScope.MANAGE,
    }

    @extend_schema(parameters=[SourceQuery], responses=SourceFields(many=True), operation_id="sources_list")
    def list(self, request: Request) -> Response:
        """Sources that you may see."""
        query = self.query(SourceQuery)
        narrowed = {name: query[name] for name in ("kind", "name") if name in query}
        return self.page(source_list(scope=self.scope).filter(**narrowed), SourceFields)

    @extend_schema(request=NewSourceBody, responses={201: SourceFields})
    def create(self, request: Request) -> Response:
        """Make a source; you own it. For owners of sets and administrators."""
        source = source_create(scope=self.scope, actor=self.user, values=self.body(NewSourceBody))
        return self._shown(source.pk, status=201)

    @extend_schema(responses=SourceFields)
    def retrieve(self, request: Request, source_id: int) -> Response:
        """One source."""
        return self._shown(source_id)

    @extend_schema(request=SourceBody(partial=True), responses=SourceFields)
    def partial_update(self, request: Request, source_id: int) -> Response:
        """Change a source; credentials are replaced, never shown."""
        values = self.body(SourceBody, partial=True)
        source_update(scope=self.scope, actor=self.user, source_id=source_id, values=values)
        return self._shown(source_id)

    @extend_schema(parameters=[DeleteQuery], responses={204: None})
    def destroy(self, request: Request, source_id: int) -> Response:
        """Remove a source; one that still has documents only with `documents=delete`."""
        with_documents = self.query(DeleteQuery)["documents"] == "delete"
        source_delete(scope=self.scope, actor=self.user, source_id=source_id, with_documents=with_documents)
        return Response(status=204)

    @extend_schema(request=RunBody, responses={202: RunFields})
    @action(detail=True, methods=["post"])
    def run(self, request: Request, source_id: int) -> Response:
        """Fetch what is new or has changed; a run that goes on already is answered with its job."""
        mode = self.body(RunBody)["mode"]
        job = source_run_start(scope=self.scope, actor=self.user, source_id=source_id, mode=mode)
        return Response({"job_id": job.pk}, status=202)

    @extend_schema(request=None, responses=PreviewFields)
    @action(detail=True, methods=["post"])
    def preview(self, request: Request, source_id: int) -> Response:
        """What a run would bring in: how many documents, and ten of them. Nothing is stored.

        Where the list takes longer than a moment, a job goes on counting (`goes_on`).
        """
        return Response(PreviewFields(source_preview(scope=self.scope, source_id=source_id)).data)

    @extend_schema(responses=CountedFields)
    @preview.mapping.get
    def counted(self, request: Request, source_id: int) -> Response:
        """How far the last job has counted what would come in."""
        counted = source_counted(scope=self.scope, source_id=source_id)
        if counted is None:
            raise NotFoundError
        return Response({**PreviewFields(counted.preview).data, "fault": counted.fault})

    @extend_schema(request=None, responses=TestFields)
    @action(detail=True, methods=["post"])
    def test(self, request: Request, source_id: int) -> Response:
        """Try to reach the source, sign in, list and read one item; the step that fails says why."""
        steps = source_test(scope=self.scope, source_id=source_id)
        works = all(step.state != "failed" for step in steps)
        return Response(TestFields({"works": works, "steps": steps}).data)

    @extend_schema(responses=AttentionFields)
    @action(detail=True, methods=["get"])
    def attention(self, request: Request, source_id: int) -> Response:
        """What waits for a person: deletions that are held back, and items that could not be taken."""
        source = source_managed(scope=self.scope, source_id=source_id)
        waiting = held_deletions(scope=self.scope, source=source)
        return Response(
            {
                "deletions": HeldFields(waiting).data if waiting else None,
                "items": ItemFaultFields(faults_listed(scope=self.scope, source_id=source_id), many=True).data,
            }
        )

    @extend_schema(request=HeldDeletionsBody, responses=HeldDeletionsFields)
    @action(detail=True, methods=["post"])
    def deletions(self, request: Request, source_id: int) -> Response:
        """Delete the documents that are gone from the source, or keep them until it lists them again."""
        delete = self.body(HeldDeletionsBody)["decision"] == "delete"
        number = held_deletions_decide(scope=self.scope, actor=self.user, source_id=source_id, delete=delete)
        return Response({"documents": number})

    def _shown(self, source_id: int, *, status: int = 200) -> Response:
        return Response(SourceFields(source_get(scope=self.scope, source_id=source_id)).data, status=status)


class SetSourceActions(ResourceViewSet):
    """The part of `/api/v1/knowledge-sets/{id}` that says what a set is composed of."""

    @extend_schema(responses=SetSourceFields(many=True), filters=False, operation_id="knowledge_sets_sources_list")
    @action(detail=True, methods=["get"], url_path="sources")
    def sources(self, request: Request, set_id: int) -> Response:
        """The sources of a set with their filters; for its owners and administrators."""
        return Response(SetSourceFields(set_sources(scope=self.scope, set_id=set_id), many=True).data)

    @extend_schema(
        request=SetSourceBody(many=True),
        responses=SetSourceFields(many=True),
        operation_id="knowledge_sets_sources_update",
    )
    @sources.mapping.put
    def put_sources(self, request: Request, set_id: int) -> Response:
        """Replace what a set is composed of. Documents that matched a source or filter before leave the set."""
        rows: serializers.ListSerializer[Any] = serializers.ListSerializer(
            child=SetSourceBody(), data=request.data, max_length=100
        )
        rows.is_valid(raise_exception=True)
        pairs = [(row["source"], strictly(SourceFilter, row.get("filter", {}))) for row in rows.validated_data]
        stored = set_sources_put(scope=self.scope, actor=self.user, set_id=set_id, sources=pairs)
        return Response(SetSourceFields(stored, many=True).data)

    @extend_schema(request=None, responses={202: RunFields})
    @action(detail=True, methods=["post"], url_path="ingest")
    def ingest(self, request: Request, set_id: int) -> Response:
        """Run all sources of a set."""
        job = set_ingest(scope=self.scope, actor=self.user, set_id=set_id)
        return Response({"job_id": job.pk}, status=202)


@extend_schema(tags=["documents"])
class PageViewSet(ResourceViewSet):
    """Documents that are pages of the web."""

    key_scopes: ClassVar = {
        "create": KeyScope.WRITE,
    }

    @extend_schema(request=UrlBody, responses={202: UrlFields})
    def create(self, request: Request) -> Response:
        """Fetch a page in the background. Addresses of private networks are refused, also after redirects."""
        values: dict[str, Any] = self.body(UrlBody)
        job = document_from_url(scope=self.scope, actor=self.user, **values)
        return Response({"document_id": None, "job_id": job.pk}, status=202)

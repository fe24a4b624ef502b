"""`/api/v1/access-requests`: ask for access to a set, and decide."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.key_scopes import KeyScope
from accounts.rest import Identifier, PageQuery, ResourceViewSet, StrictSerializer, Text
from knowledge.models import AccessRequest
from knowledge.selectors.access_requests import request_get, requests_of, requests_to_decide
from knowledge.services.access_requests import (
    access_request_approve,
    access_request_create,
    access_request_decline,
    access_request_withdraw,
)


class AccessRequestBody(StrictSerializer):
    """A set that you cannot read, and why you need to."""

    set = Identifier()
    reason = Text(max_length=1000, allow_blank=True, required=False)


class DecisionBody(StrictSerializer):
    """What the person is told."""

    reason = Text(max_length=1000, allow_blank=True, default="")


class AccessRequestQuery(PageQuery):
    """Your own requests, or those that you decide."""

    role = serializers.ChoiceField(["mine", "decide"], default="mine")
    state = serializers.ChoiceField(AccessRequest.State.choices, required=False)


class AccessRequestFields(serializers.ModelSerializer[AccessRequest]):
    """A request with its decision."""

    set = serializers.IntegerField(source="knowledge_set_id")
    set_name = serializers.CharField(source="knowledge_set.name")
    user = serializers.CharField(source="user.username")
    decided_by = serializers.CharField(source="decided_by.username", default=None, allow_null=True)

    class Meta:
        model = AccessRequest
        fields: ClassVar = [
            "id",
            "set",
            "set_name",
            "user",
            "reason",
            "state",
            "created",
            "decided_by",
            "decided",
            "answer",
        ]


@extend_schema(tags=["knowledge sets"])
class AccessRequestViewSet(ResourceViewSet):
    """Requests for access to knowledge sets; their owners decide."""

    lookup_field = "request_id"
    lookup_value_converter = "int"
    key_scopes: ClassVar = {
        "list": KeyScope.READ,
        "create": KeyScope.WRITE,
        "retrieve": KeyScope.READ,
        "approve": KeyScope.MANAGE,
        "decline": KeyScope.MANAGE,
        "withdraw": KeyScope.WRITE,
    }

    @extend_schema(
        parameters=[AccessRequestQuery], responses=AccessRequestFields(many=True), operation_id="access_requests_list"
    )
    def list(self, request: Request) -> Response:
        """Newest first."""
        query = self.query(AccessRequestQuery)
        rows = (requests_to_decide if query["role"] == "decide" else requests_of)(scope=self.scope)
        return self.page(rows.filter(state=query["state"]) if "state" in query else rows, AccessRequestFields)

    @extend_schema(request=AccessRequestBody, responses={201: AccessRequestFields})
    def create(self, request: Request) -> Response:
        """Ask for access; the owners of the set are told. An open request is answered again."""
        values = self.body(AccessRequestBody)
        row = access_request_create(scope=self.scope, actor=self.user, set_id=values.pop("set"), **values)
        return Response(self._fields(row.pk), status=201)

    @extend_schema(responses=AccessRequestFields)
    def retrieve(self, request: Request, request_id: int) -> Response:
        """One request that you made or decide."""
        return Response(self._fields(request_id))

    @extend_schema(request=DecisionBody, responses=AccessRequestFields)
    @action(detail=True, methods=["post"])
    def approve(self, request: Request, request_id: int) -> Response:
        """Make the person a member of the set."""
        answer = self.body(DecisionBody)["reason"]
        access_request_approve(scope=self.scope, actor=self.user, request_id=request_id, answer=answer)
        return Response(self._fields(request_id))

    @extend_schema(request=DecisionBody, responses=AccessRequestFields)
    @action(detail=True, methods=["post"])
    def decline(self, request: Request, request_id: int) -> Response:
        """Decline, with a reason."""
        answer = self.body(DecisionBody)["reason"]
        access_request_decline(scope=self.scope, actor=self.user, request_id=request_id, answer=answer)
        return Response(self._fields(request_id))

    @extend_schema(request=None, responses=AccessRequestFields)
    @action(detail=True, methods=["post"])
    def withdraw(self, request: Request, request_id: int) -> Response:
        """Take back your own request."""
        access_request_withdraw(scope=self.scope, actor=self.user, request_id=request_id)
        return Response(self._fields(request_id))

    def _fields(self, request_id: int) -> dict[str, Any]:
        return dict(AccessRequestFields(request_get(scope=self.scope, request_id=request_id)).data)

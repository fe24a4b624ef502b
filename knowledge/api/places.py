"""`/api/v1/source-places`: folders and private hosts that sources of a tenant may read."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.key_scopes import KeyScope
from accounts.models import MAX_CLEARANCE
from accounts.rest import PageQuery, ResourceViewSet, StrictSerializer, Text
from knowledge.models import SourcePlace
from knowledge.selectors.places import place_get, places_listed
from knowledge.services.places import place_give, place_save, place_take


class PlaceBody(StrictSerializer):
    """What can be changed of a place."""

    location = Text(max_length=1024, help_text="An absolute folder; or a host name, an address or a network.")
    clearance_floor = serializers.IntegerField(
        min_value=0,
        max_value=MAX_CLEARANCE,
        required=False,
        help_text="Documents from this folder never have a lower clearance.",
    )
    for_owners = serializers.BooleanField(
        required=False, help_text="false: only administrators of the tenant make sources of it."
    )


class NewPlaceBody(PlaceBody):
    """A new place of a tenant, by default of your own; tenant and kind stay as they are."""

    tenant = Text(max_length=64, required=False, allow_null=True)
    kind = serializers.ChoiceField(SourcePlace.Kind.choices)


class PlaceQuery(PageQuery):
    """Parameters of the list."""

    kind = serializers.ChoiceField(SourcePlace.Kind.choices, required=False)
    tenant = Text(max_length=64, required=False)


class PlaceFields(serializers.ModelSerializer[SourcePlace]):
    """A folder with everything below it, or a host."""

    tenant = serializers.CharField(source="tenant.name", read_only=True)

    class Meta:
        model = SourcePlace
        fields: ClassVar = ["id", "tenant", "kind", "location", "clearance_floor", "for_owners", "created"]


@extend_schema(tags=["sources"])
class SourcePlaceViewSet(ResourceViewSet):
    """Folders and private hosts: platform administrators give them, other administrators see those they have."""

    lookup_field = "place_id"
    lookup_value_converter = "int"
    key_scopes: ClassVar = {
        "list": KeyScope.MANAGE,
        "create": KeyScope.MANAGE,
        "retrieve": KeyScope.MANAGE,
        "partial_update": KeyScope.MANAGE,
        "destroy": KeyScope.MANAGE,
    }

    @extend_schema(parameters=[PlaceQuery], responses=PlaceFields(many=True), operation_id="source_places_list")
    def list(self, request: Request) -> Response:
        """The places of your tenant, for administrators; of every tenant for platform administrators."""
        query = self.query(PlaceQuery)
        fields = {"kind": "kind", "tenant": "tenant__name"}
        narrowed = {field: query[name] for name, field in fields.items() if name in query}
        return self.page(places_listed(scope=self.scope).filter(**narrowed), PlaceFields)

    @extend_schema(request=NewPlaceBody, responses={201: PlaceFields})
    def create(self, request: Request) -> Response:
        """Give a tenant a place, within the folders that the operator names. For platform administrators."""
        values = self.body(NewPlaceBody)
        tenant: Any = values.pop("tenant", None)
        place = place_give(scope=self.scope, actor=self.user, tenant=tenant, values=values)
        return Response(PlaceFields(place).data, status=201)

    @extend_schema(responses=PlaceFields)
    def retrieve(self, request: Request, place_id: int) -> Response:
        """One place."""
        return Response(PlaceFields(place_get(scope=self.scope, place_id=place_id)).data)

    @extend_schema(request=PlaceBody(partial=True), responses=PlaceFields)
    def partial_update(self, request: Request, place_id: int) -> Response:
        """Change a place; a higher floor raises the clearance of the documents that are there."""
        place = place_get(scope=self.scope, place_id=place_id)
        values = self.body(PlaceBody, partial=True)
        saved = place_save(scope=self.scope, actor=self.user, place=place, values=values)
        return Response(PlaceFields(saved).data)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, place_id: int) -> Response:
        """Take a place back: sources do not read it any more; documents from it stay."""
        place = place_get(scope=self.scope, place_id=place_id)
        place_take(scope=self.scope, actor=self.user, place=place)
        return Response(status=204)

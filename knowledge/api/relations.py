"""`/api/v1/documents/{document_id}/relations`: how a document stands to others."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.rest import Identifier, ResourceViewSet, SmallJsonParser, StrictSerializer
from knowledge.models import DocumentRelation
from knowledge.relation_kinds import CODES
from knowledge.selectors import document_get
from knowledge.selectors.relations import RelationsOf, relations_of
from knowledge.services.relations.by_hand import relation_add, relation_remove


class RelationBody(StrictSerializer):
    """How a document stands to another one."""

    kind = serializers.ChoiceField(CODES, help_text="A kind, or the inverse of one, such as `replaced_by`.")
    document = Identifier(help_text="The id of the other document.")


class OtherFields(serializers.Serializer[Any]):
    """The other document of a relation."""

    id = serializers.IntegerField()
    title = serializers.CharField()
    external_id = serializers.CharField()
    state = serializers.CharField()


class RelationFields(serializers.Serializer[Any]):
    """One relation, as seen from the document of the address."""

    id = serializers.IntegerField()
    kind = serializers.ChoiceField(CODES)
    words = serializers.CharField(help_text="The kind in your language.")
    origin = serializers.ChoiceField(DocumentRelation.Origin.values)
    document = OtherFields(source="other")


class RelationListFields(serializers.Serializer[Any]):
    """Relations in the order of their kinds."""

    relations = RelationFields(many=True, source="lines")
    more = serializers.IntegerField(help_text="How many more are not listed.")


class RelationActions(ResourceViewSet):
    """Relations of documents that you may open, to such documents."""

    @extend_schema(responses=RelationListFields, filters=False, operation_id="documents_relations_list")
    @action(detail=True, methods=["get"], parser_classes=[SmallJsonParser])
    def relations(self, request: Request, document_id: int) -> Response:
        """How the document stands to others that you may open, too."""
        return Response(self._listed(document_id))

    def _listed(self, document_id: int) -> Any:
        document_get(scope=self.scope, document_id=document_id)
        rows = relations_of(scope=self.scope, document_ids=[document_id])
        return RelationListFields(rows.get(document_id, RelationsOf())).data

    @extend_schema(request=RelationBody, responses={201: RelationListFields}, operation_id="documents_relations_create")
    @relations.mapping.post
    def relations_add(self, request: Request, document_id: int) -> Response:
        """Relate a document that you keep to another one. Between editions, `replaces`, you keep both."""
        values = self.body(RelationBody)
        relation_add(
            scope=self.scope,
            actor=self.user,
            document_id=document_id,
            kind=values["kind"],
            other_id=values["document"],
        )
        return Response(self._listed(document_id), status=201)

    @extend_schema(responses={204: None}, operation_id="documents_relations_destroy")
    @action(detail=True, methods=["delete"], url_path="relations/<int:relation_id>", parser_classes=[SmallJsonParser])
    def relation_remove(self, request: Request, document_id: int, relation_id: int) -> Response:
        """Take a relation out for good: what a rule or the source says again stays out."""
        relation_remove(scope=self.scope, actor=self.user, document_id=document_id, relation_id=relation_id)
        return Response(status=204)

"""`/api/v1/entities`: entities that documents mention, what owners decide about their names, export."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.key_scopes import KeyScope
from accounts.rest import Identifier, PageQuery, ResourceViewSet, StrictSerializer, Text
from knowledge.graph_exports import entity_lines, graph_file
from knowledge.models import Entity, EntityAlias, EntityDecision, EntityKind
from knowledge.selectors.entities import (
    entities_listed,
    entity_aliases,
    entity_counts,
    entity_get,
    entity_mentions,
    entity_neighbours,
)
from knowledge.selectors.entity_cards import decisions_known, entities_exported, entity_confidence, sentences_of
from knowledge.services.entities import (
    entities_merge,
    entity_confirm,
    entity_decision_undo,
    entity_reject,
    entity_split,
)
from ragcore.graph.entity_types import entity_type

MOST_NAME = 240
OTHER_NAMES = 50
NEIGHBOURS = 50
SENTENCES = 20
OF_TWO = (EntityDecision.Kind.MERGE, EntityDecision.Kind.SPLIT)
FORMATS = ["csv", "jsonld"]


class SetQuery(PageQuery):
    """`set`: of this knowledge set only."""

    set = Identifier(required=False)


class EntityQuery(SetQuery):
    """`name`: is called so. `text`: part of the name. `kind`: was recognised so."""

    name = Text(max_length=MOST_NAME, required=False)
    text = Text(max_length=MOST_NAME, required=False)
    kind = serializers.ChoiceField(EntityKind.choices, required=False)


class OneSetQuery(StrictSerializer):
    """`set`: passages of this knowledge set only."""

    set = Identifier(required=False)


class GraphExportQuery(OneSetQuery):
    """`format`: of the file."""

    format = serializers.ChoiceField(FORMATS, default="csv")


class EntityFields(serializers.ModelSerializer[Entity]):
    """An entity. Spellings of one name are one. `kind`: how it was recognised."""

    type = serializers.SerializerMethodField(help_text="PERSON, ORGANIZATION, …; empty where no word tells it.")

    class Meta:
        model = Entity
        fields: ClassVar = ["id", "name", "kind", "type"]

    def get_type(self, row: Entity) -> str:
        return entity_type(row.name).name


class OtherNameFields(serializers.Serializer[Any]):
    """Another name that a passage tells."""

    name = serializers.CharField()
    kind = serializers.CharField(help_text="abbreviation or bracket.")
    document = serializers.IntegerField()
    chunk_id = serializers.IntegerField()


class NeighbourFields(serializers.Serializer[Any]):
    """An entity that stands in the same sentences."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    sentences = serializers.IntegerField()


class EntitySentenceFields(serializers.Serializer[Any]):
    document = serializers.IntegerField()
    chunk_id = serializers.IntegerField()
    text = serializers.CharField()


class EntityDetailFields(EntityFields):
    """An entity with what you may read about it; sentences and names are of documents that you may open."""

    confidence = serializers.FloatField(help_text="0 to 1: by mentions, words of the name and cue words of its type.")
    mentions = serializers.IntegerField()
    passages = serializers.IntegerField()
    documents = serializers.IntegerField()
    other_names = OtherNameFields(many=True)
    neighbours = NeighbourFields(many=True)
    sentences = EntitySentenceFields(many=True)

    class Meta(EntityFields.Meta):
        fields: ClassVar = [
            *EntityFields.Meta.fields,
            *("confidence", "mentions", "passages", "documents", "other_names", "neighbours", "sentences"),
        ]


class EntityDecisionBody(StrictSerializer):
    """`other`: for `merge` and `split`, the second name; after a merge both mean it. `set`: null for all sets."""

    kind = serializers.ChoiceField(EntityDecision.Kind.choices)
    name = Text(max_length=MOST_NAME)
    other = Text(max_length=MOST_NAME, required=False)
    set = Identifier(required=False, allow_null=True)

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        """Two names where the decision is about two, one where it is about one."""
        if (values["kind"] in OF_TWO) != bool(values.get("other")):
            code = "required" if values["kind"] in OF_TWO else "invalid"
            raise serializers.ValidationError({"other": self.fields["name"].error_messages[code]}, code=code)
        return values


class DecisionFields(serializers.ModelSerializer[EntityDecision]):
    """A decision; `undone`: when it was taken back, null while it counts."""

    set = serializers.IntegerField(source="knowledge_set_id", allow_null=True)
    author = serializers.CharField(source="author.username", allow_null=True, default=None)

    class Meta:
        model = EntityDecision
        fields: ClassVar = ["id", "kind", "name", "other", "set", "author", "created", "undone"]


@extend_schema(tags=["entities"])
class EntityViewSet(ResourceViewSet):
    """Entities that documents mention. Those who curate a knowledge set decide about their names."""

    lookup_field = "entity_id"
    lookup_value_converter = "int"
    key_scopes: ClassVar = {
        "list": KeyScope.READ,
        "retrieve": KeyScope.READ,
        "export": KeyScope.READ,
        "decisions": KeyScope.READ,
        "decide": KeyScope.WRITE,
        "undo": KeyScope.WRITE,
    }

    @extend_schema(parameters=[EntityQuery], responses=EntityFields(many=True), operation_id="entities_list")
    def list(self, request: Request) -> Response:
        """Entities that documents which you may open mention, by name."""
        query = self.query(EntityQuery)
        narrow = {name: query.get(name, "") for name in ("name", "text", "kind")}
        return self.page(entities_listed(scope=self.scope, sets=sets_asked(query), **narrow), EntityFields)

    @extend_schema(parameters=[OneSetQuery], responses=EntityDetailFields)
    def retrieve(self, request: Request, entity_id: int) -> Response:
        """One entity: how often it is mentioned, its other names, what stands beside it, the first 20 sentences."""
        sets = sets_asked(self.query(OneSetQuery))
        entity = entity_get(scope=self.scope, entity_id=entity_id, sets=sets)
        arguments: dict[str, Any] = {"scope": self.scope, "entity_id": entity.pk, "sets": sets}
        counts = entity_counts(scope=self.scope, entities=[entity.pk], sets=sets)[entity.pk]
        sentences = sentences_of(entity_mentions(**arguments), limit=SENTENCES)
        texts = [f"{s.before}{s.name}{s.after}" for s in sentences]
        return Response({
            **EntityFields(entity).data,
            "type": entity_type(entity.name, texts).name,
            "confidence": entity_confidence(entity, mentions=counts.mentions, sentences=texts),
            "mentions": counts.mentions,
            "passages": counts.passages,
            "documents": counts.documents,
            "other_names": [_other_name(entity, alias) for alias in entity_aliases(**arguments)[:OTHER_NAMES]],
            "neighbours": [
                {"id": other.pk, "name": other.name, "sentences": number}
                for other, number in entity_neighbours(**arguments, limit=NEIGHBOURS)
            ],
            "sentences": [
                {"document": s.document.pk, "chunk_id": s.chunk_id, "text": text}
                for s, text in zip(sentences, texts, strict=True)
            ],
        })  # fmt: skip

    @extend_schema(parameters=[GraphExportQuery], responses={(200, "text/csv"): OpenApiTypes.STR,
                                                        (200, "application/ld+json"): OpenApiTypes.OBJECT})  # fmt: skip
    @action(detail=False, methods=["get"])
    def export(self, request: Request) -> StreamingHttpResponse:
        """All of them with their other names, as CSV or JSON-LD."""
        query = self.query(GraphExportQuery)
        rows = entities_exported(scope=self.scope, sets=sets_asked(query))
        return graph_file(entity_lines(rows, query["format"]), query["format"], "entities")

    @extend_schema(parameters=[SetQuery], responses=DecisionFields(many=True), operation_id="entities_decisions_list")
    @action(detail=False, methods=["get"])
    def decisions(self, request: Request) -> Response:
        """Decisions for sets that you curate, the latest first; administrators see those for all sets, too."""
        query = self.query(SetQuery)
        return self.page(decisions_known(scope=self.scope, sets=sets_asked(query)), DecisionFields)

    @extend_schema(request=EntityDecisionBody, responses={201: DecisionFields})
    @decisions.mapping.post
    def decide(self, request: Request) -> Response:
        """Decide: two names are one (`merge`) or two (`split`); a name is none (`reject`) or one (`confirm`).

        It holds for documents that are read later, too, and takes the place of a former decision about the same names.
        """
        values = self.body(EntityDecisionBody)
        arguments = {"scope": self.scope, "actor": self.user, "set_id": values.get("set"), "name": values["name"]}
        if values["kind"] == EntityDecision.Kind.MERGE:
            decision = entities_merge(**arguments, into=values["other"])
        elif values["kind"] == EntityDecision.Kind.SPLIT:
            decision = entity_split(**arguments, other=values["other"])
        else:
            decide = entity_reject if values["kind"] == EntityDecision.Kind.REJECT else entity_confirm
            decision = decide(**arguments)
        return Response(DecisionFields(decision).data, status=201)

    @extend_schema(responses={204: None})
    @action(detail=False, methods=["delete"], url_path="decisions/<int:decision_id>")
    def undo(self, request: Request, decision_id: int) -> Response:
        """Take a decision back; it stays in the list as undone."""
        entity_decision_undo(scope=self.scope, actor=self.user, decision_id=decision_id)
        return Response(status=204)


def sets_asked(query: dict[str, Any]) -> list[int]:
    """The knowledge set of a query; [] for all."""
    return [query["set"]] if "set" in query else []


def _other_name(entity: Entity, alias: EntityAlias) -> dict[str, Any]:
    other = alias.other if alias.entity_id == entity.pk else alias.entity
    return {"name": other.name, "kind": alias.kind, "document": alias.document_id, "chunk_id": alias.chunk_id}

"""`/api/v1/knowledge-sets`."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.key_scopes import KeyScope
from accounts.rest import Identifier, PageQuery, StrictSerializer, Text
from knowledge.api.sources import SetSourceActions
from knowledge.models import KnowledgeSet
from knowledge.selectors import set_get, set_owned, sets_listed, sets_managed
from knowledge.selectors.access_requests import sets_with_access
from knowledge.services.sets import set_create, set_delete, set_members_put, set_update

OF_READERS = (
    "description",
    "persona",
    "answer_template",
    "example_questions",
)  # what only those see who may read the set


class SetBody(StrictSerializer):
    """What a set is made of."""

    name = Text(max_length=128)
    name_zh = Text(max_length=128, allow_blank=True, required=False)
    code = serializers.SlugField(max_length=64, help_text="Short name for programs, unique in the tenant.")
    axis = serializers.ChoiceField(KnowledgeSet.Axis.choices, default=KnowledgeSet.Axis.COMMON)
    visibility = serializers.ChoiceField(KnowledgeSet.Visibility.choices, default=KnowledgeSet.Visibility.EVERYONE)
    originals = serializers.ChoiceField(
        KnowledgeSet.Originals.choices,
        default=KnowledgeSet.Originals.READERS,
        help_text="Who may open and download the documents: everyone who reads the set, or its owners only.",
    )
    rights = serializers.ChoiceField(
        KnowledgeSet.Rights.choices,
        default=KnowledgeSet.Rights.BOTH,
        help_text="Whose rights count where a source says who may read a document.",
    )
    description = Text(max_length=10_000, allow_blank=True, required=False)
    persona = Text(max_length=256, allow_blank=True, required=False)
    answer_template = Text(max_length=2000, allow_blank=True, required=False)
    example_questions = serializers.ListField(child=Text(max_length=256), max_length=20, required=False)


class NewSetBody(SetBody):
    """A new set; platform administrators may name another tenant."""

    tenant = Text(max_length=64, required=False, allow_null=True)


class SetFields(serializers.ModelSerializer[KnowledgeSet]):
    """A set. Everyone in the tenant sees that it exists; `may_read` says whether you see what is in it."""

    tenant = serializers.CharField(source="tenant.name", read_only=True)
    owners: Any = serializers.SlugRelatedField(slug_field="username", many=True, read_only=True)
    may_read = serializers.BooleanField(read_only=True)

    class Meta:
        model = KnowledgeSet
        fields: ClassVar = [
            "id",
            "name",
            "name_zh",
            "code",
            "axis",
            "visibility",
            "originals",
            "rights",
            "tenant",
            "owners",
            "may_read",
            "description",
            "persona",
            "answer_template",
            "example_questions",
            "created",
        ]

    def to_representation(self, instance: KnowledgeSet) -> dict[str, Any]:
        representation: dict[str, Any] = super().to_representation(instance)
        if not representation["may_read"]:
            representation |= {name: type(representation[name])() for name in OF_READERS}
        return representation


class SetQuery(PageQuery):
    """What narrows the list of sets."""

    axis = serializers.ChoiceField(KnowledgeSet.Axis.choices, required=False)
    code = Text(max_length=64, required=False)
    managed = serializers.BooleanField(default=False, help_text="Only sets that I own or administer.")


@extend_schema_field({"oneOf": [{"type": "string"}, {"type": "integer"}]})
class NameOrId(serializers.Field[Any, Any, Any, Any]):
    """A name (string) or an id (integer)."""

    default_error_messages: ClassVar[dict[str, Any]] = {"invalid": _("A name or an id is needed.")}

    def to_internal_value(self, data: Any) -> str | int:
        if not isinstance(data, (str, int)) or isinstance(data, bool):
            self.fail("invalid")
        checked = Text(max_length=150) if isinstance(data, str) else Identifier()
        return cast(str | int, checked.run_validation(data))

    def to_representation(self, value: Any) -> Any:
        return value


class MembersBody(StrictSerializer):
    """People by user name or id, groups by name or id. A list that is left out stays as it is."""

    users = serializers.ListField(child=NameOrId(), required=False, max_length=10_000)
    groups = serializers.ListField(child=NameOrId(), required=False, max_length=1000)
    editors = serializers.ListField(child=NameOrId(), required=False, max_length=1000)
    owners = serializers.ListField(child=NameOrId(), required=False, max_length=100)


class MembersFields(serializers.Serializer[KnowledgeSet]):
    """Who may read a set of members, who edits its documents, and who keeps it: names in order."""

    users = serializers.SerializerMethodField()
    groups = serializers.SerializerMethodField()
    editors = serializers.SerializerMethodField()
    owners = serializers.SerializerMethodField()

    def get_users(self, row: KnowledgeSet) -> list[str]:
        return list(row.members.order_by("username").values_list("username", flat=True))

    def get_groups(self, row: KnowledgeSet) -> list[str]:
        return list(row.member_groups.order_by("name").values_list("name", flat=True))

    def get_editors(self, row: KnowledgeSet) -> list[str]:
        return list(row.editors.order_by("username").values_list("username", flat=True))

    def get_owners(self, row: KnowledgeSet) -> list[str]:
        return list(row.owners.order_by("username").values_list("username", flat=True))


@extend_schema(tags=["knowledge sets"])
class KnowledgeSetViewSet(SetSourceActions):
    """Knowledge sets: everyone sees that they exist, owners and administrators change them."""

    lookup_field = "set_id"
    lookup_value_converter = "int"
    key_scopes: ClassVar = {
        "list": KeyScope.READ,
        "create": KeyScope.MANAGE,
        "retrieve": KeyScope.READ,
        "partial_update": KeyScope.MANAGE,
        "destroy": KeyScope.MANAGE,
        "members": KeyScope.MANAGE,
        "put_members": KeyScope.MANAGE,
        "sources": KeyScope.READ,
        "put_sources": KeyScope.MANAGE,
        "ingest": KeyScope.WRITE,
    }

    @extend_schema(parameters=[SetQuery], responses=SetFields(many=True), operation_id="knowledge_sets_list")
    def list(self, request: Request) -> Response:
        """The sets of your tenant."""
        query = self.query(SetQuery)
        rows = (sets_managed if query["managed"] else sets_listed)(scope=self.scope)
        narrowed = {name: query[name] for name in ("axis", "code") if name in query}
        rows = sets_with_access(scope=self.scope, rows=rows.filter(**narrowed))
        return self.page(rows.select_related("tenant"), SetFields)

    @extend_schema(request=NewSetBody, responses={201: SetFields})
    def create(self, request: Request) -> Response:
        """Make a set; you become its owner. For those with the right to create sets."""
        values = self.body(NewSetBody)
        tenant = values.pop("tenant", None)
        knowledge_set = set_create(scope=self.scope, actor=self.user, values=values, tenant=tenant)
        return Response(self._fields(knowledge_set.pk), status=201)

    @extend_schema(responses=SetFields)
    def retrieve(self, request: Request, set_id: int) -> Response:
        """One set."""
        return Response(self._fields(set_id))

    @extend_schema(request=SetBody(partial=True), responses=SetFields)
    def partial_update(self, request: Request, set_id: int) -> Response:
        """Change a set that you own or administer.

        `persona` and `answer_template` of a set that golden sets guard are measured before they come into force: the
        answer is then 409 `measured_first`, with the id of the measured change; the other fields are changed.
        """
        values = self.body(SetBody, partial=True)
        set_update(scope=self.scope, actor=self.user, set_id=set_id, values=values)
        return Response(self._fields(set_id))

    def _fields(self, set_id: int) -> dict[str, Any]:
        knowledge_set = set_get(scope=self.scope, set_id=set_id)
        rows = KnowledgeSet.objects.filter(pk=knowledge_set.pk).select_related("tenant")
        return dict(SetFields(sets_with_access(scope=self.scope, rows=rows).get()).data)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, set_id: int) -> Response:
        """Remove a set; its documents stay in their other sets."""
        set_delete(scope=self.scope, actor=self.user, set_id=set_id)
        return Response(status=204)

    @extend_schema(responses=MembersFields)
    @action(detail=True, methods=["get"], url_path="members")
    def members(self, request: Request, set_id: int) -> Response:
        """Who may read and who owns the set; for its owners and administrators."""
        return Response(MembersFields(set_owned(scope=self.scope, set_id=set_id)).data)

    @extend_schema(request=MembersBody, responses=MembersFields)
    @members.mapping.put
    def put_members(self, request: Request, set_id: int) -> Response:
        """Replace members, editors and owners."""
        values = self.body(MembersBody)
        return Response(MembersFields(set_members_put(scope=self.scope, actor=self.user, set_id=set_id, **values)).data)

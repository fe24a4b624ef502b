"""What requests and answers about sources consist of."""

from __future__ import annotations

from typing import Any, ClassVar

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from accounts.error_messages import stored_message
from accounts.models import MAX_CLEARANCE
from accounts.rest import Attributes, Identifier, PageQuery, StrictSerializer, Text
from knowledge.models import ItemFault, SetSource, Source
from knowledge.models.sources import source_kinds
from knowledge.services.sources.sync_runs import CHANGES, EVERYTHING, WHOLE_LIST, source_message
from knowledge.types import SourceFilter, SourceOptions, strictly
from ragcore.errors import InvalidOptionsError


class TypedObject(Attributes):
    """A JSON object that a value of our own checks; unknown keys and wrong values are named."""

    def __init__(self, kind: type[Any], *, closed: frozenset[str] = frozenset(), **options: Any) -> None:
        super().__init__(**options)
        self._kind, self._closed = kind, closed

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        faults = [f"{name}: {gettext('Unknown field.')}" for name in sorted(self._closed & set(value))]
        try:
            strictly(self._kind, {key: item for key, item in value.items() if key not in self._closed})
        except InvalidOptionsError as error:
            faults += error.data["faults"]
        if faults:
            raise serializers.ValidationError(faults)
        return value


@extend_schema_field(
    {"oneOf": [{"type": "string"}, {"type": "object", "additionalProperties": {"type": "string"}}], "writeOnly": True}
)
class CredentialsField(serializers.Field[Any, Any, Any, Any]):
    """`{"secret"}`, `{"token"}` or `{"username", "password"}`; a bare string is the secret or token. Never shown."""

    default_error_messages: ClassVar[dict[str, Any]] = {"invalid": _("An object of texts is needed.")}

    def __init__(self, **options: Any) -> None:
        super().__init__(write_only=True, **options)

    def to_internal_value(self, data: Any) -> dict[str, str]:
        if isinstance(data, str):
            data = {"": data} if data else {}
        if not isinstance(data, dict) or not all(isinstance(value, str) for value in data.values()):
            self.fail("invalid")
        return {str(key): value for key, value in data.items()}

    def to_representation(self, value: Any) -> Any:
        raise TypeError("credentials are never shown")


class SourceBody(StrictSerializer):
    """What can be changed of a source. `options` replaces all options."""

    name = Text(max_length=128)
    location = Text(max_length=2048, allow_blank=True, required=False, help_text="A folder, or one address a line.")
    settings = Attributes(
        required=False, help_text="Of kinds that have settings (docs/sources.md); replaces all of them."
    )
    schedule = serializers.ChoiceField(Source.Schedule.choices, required=False)
    enabled = serializers.BooleanField(required=False)
    handler = Text(max_length=64, allow_blank=True, allow_null=True, required=False, help_text="Code of a handler.")
    owner = Text(max_length=150, allow_blank=True, allow_null=True, required=False, help_text="User name.")
    options = TypedObject(SourceOptions, closed=frozenset({"allow_private"}), required=False)
    credentials = CredentialsField(required=False)


class NewSourceBody(SourceBody):
    """A new source; its kind stays as it is."""

    kind = serializers.ChoiceField(source_kinds())


class SourceFields(serializers.ModelSerializer[Source]):
    """A source. Its credentials are never shown, only whether there are any."""

    owner: Any = serializers.SlugRelatedField("username", read_only=True, allow_null=True)
    handler: Any = serializers.SlugRelatedField("code", read_only=True, allow_null=True)
    has_credentials = serializers.SerializerMethodField()
    documents = serializers.SerializerMethodField()
    sets = serializers.SerializerMethodField()
    message = serializers.SerializerMethodField()

    class Meta:
        model = Source
        fields: ClassVar = [
            "id",
            "name",
            "kind",
            "owner",
            "handler",
            "location",
            "settings",
            "schedule",
            "options",
            "enabled",
            "has_credentials",
            "documents",
            "sets",
            "outcome",
            "message",
            "last_run",
            "next_run",
            "created",
        ]

    def get_has_credentials(self, row: Source) -> bool:
        return row.credentials != ""

    def get_documents(self, row: Any) -> int:
        return int(row.document_count)

    @extend_schema_field({"type": "array", "items": {"type": "integer"}})
    def get_sets(self, row: Source) -> list[int]:
        return sorted(set_source.knowledge_set_id for set_source in row.set_sources.all())

    def get_message(self, row: Source) -> str:
        return source_message(row)


class SourceQuery(PageQuery):
    """What narrows the list of sources."""

    kind = serializers.ChoiceField(source_kinds(), required=False)
    name = Text(max_length=128, required=False)


class DeleteQuery(StrictSerializer):
    """What becomes of the documents of a source that is removed."""

    documents = serializers.ChoiceField(["keep", "delete"], default="keep")


class PreviewFields(serializers.Serializer[Any]):
    """What a source would bring in now. `is_complete`: false where the list was cut short, or hides items."""

    count = serializers.IntegerField()
    examples = serializers.ListField(child=serializers.CharField())
    unreadable = serializers.ListField(child=serializers.CharField())
    is_complete = serializers.BooleanField()

    goes_on = serializers.BooleanField(help_text="A job goes on counting; GET tells how far it is.")


class CountedFields(PreviewFields):
    """What the last job has counted. `fault`: why it could not list the source, or empty."""

    fault = serializers.CharField()


class RunBody(StrictSerializer):
    """What a run reads."""

    mode = serializers.ChoiceField(
        [CHANGES, WHOLE_LIST, EVERYTHING],
        default=CHANGES,
        help_text="What has changed since the last run; the whole list, with what failed; or each item once more.",
    )


class TestStepFields(serializers.Serializer[Any]):
    """One step of a test: address, connect, sign_in, list, read."""

    step = serializers.CharField()
    state = serializers.ChoiceField(["ok", "failed", "skipped"])
    message = serializers.CharField(help_text="Why it failed, or what was read.")


class TestFields(serializers.Serializer[Any]):
    """Whether a source can be read."""

    works = serializers.BooleanField()
    steps = TestStepFields(many=True)


class HeldFields(serializers.Serializer[Any]):
    """Documents that are gone from the source, too many to delete them without a decision."""

    count = serializers.IntegerField()
    total = serializers.IntegerField()
    examples = serializers.ListField(child=serializers.CharField())


class ItemFaultFields(serializers.ModelSerializer[ItemFault]):
    """An item that could not be taken the last time. `tries`: runs in a row."""

    code = serializers.CharField(source="error.code", read_only=True)
    message = serializers.SerializerMethodField()

    class Meta:
        model = ItemFault
        fields: ClassVar = ["external_id", "code", "message", "is_passing", "tries", "at"]

    def get_message(self, row: ItemFault) -> str:
        return stored_message(row.error["code"], row.error["message"], row.error.get("data"))


class AttentionFields(serializers.Serializer[Any]):
    """What of a source waits for a person."""

    deletions = HeldFields(allow_null=True)
    items = ItemFaultFields(many=True)


class HeldDeletionsBody(StrictSerializer):
    """What becomes of the documents that wait."""

    decision = serializers.ChoiceField(["delete", "keep"])


class HeldDeletionsFields(serializers.Serializer[Any]):
    """How many documents it was about."""

    documents = serializers.IntegerField()


class RunFields(serializers.Serializer[Any]):
    """The job under which documents arrive."""

    job_id = serializers.IntegerField()


class SetSourceBody(StrictSerializer):
    """One source of a set and which of its documents belong to the set."""

    source = Identifier()  # type: ignore[assignment]  # fields leave the class when it is made
    filter = TypedObject(SourceFilter, required=False)


class SetSourceFields(serializers.ModelSerializer[SetSource]):
    """One source of a set."""

    source: Any = serializers.PrimaryKeyRelatedField(read_only=True)
    name = serializers.CharField(source="source.name", read_only=True)

    class Meta:
        model = SetSource
        fields: ClassVar = ["source", "name", "filter"]


class UrlBody(StrictSerializer):
    """A page by its address."""

    url = Text(max_length=512)
    sets = serializers.ListField(child=Identifier(), min_length=1, max_length=100)
    title = Text(max_length=512, required=False, allow_blank=True)
    clearance = serializers.IntegerField(min_value=0, max_value=MAX_CLEARANCE, default=0)


class UrlFields(serializers.Serializer[Any]):
    """`document_id` is null until the page has been fetched; the job tells how it went."""

    document_id = serializers.IntegerField(allow_null=True)
    job_id = serializers.IntegerField()

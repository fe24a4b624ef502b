"""What requests and answers about documents consist of.

Some fields are named like an attribute of their base: REST framework takes fields out of the class, types cannot know.
"""

from __future__ import annotations

from typing import Any, ClassVar

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from accounts.error_messages import stored_message
from accounts.models import MAX_CLEARANCE
from accounts.rest import Attributes, Identifier, PageQuery, StrictSerializer, Text
from knowledge.models import Chunk, Document, DocumentVersion

STATES = Document.State.choices


class UploadBody(StrictSerializer):
    """A file and what is said about it."""

    file = serializers.FileField(max_length=512, allow_empty_file=True)
    sets = serializers.ListField(child=Identifier(), max_length=100, required=False, default=list)
    new_version_of = Identifier(
        required=False,
        help_text="The id of a document that you keep: the file is its next version. `sets` are added to its own.",
    )
    title = Text(max_length=512, required=False, allow_blank=True)
    external_id = Text(max_length=512, required=False, allow_blank=True)
    source = Text(max_length=128, required=False, allow_blank=True)  # type: ignore[assignment]
    clearance = serializers.IntegerField(min_value=0, max_value=MAX_CLEARANCE, default=0)
    metadata = Attributes(required=False)
    tags = serializers.ListField(child=Text(max_length=64), max_length=100, required=False)
    review_by = serializers.DateField(required=False, help_text="By when it is to be reviewed.")
    unpack = serializers.BooleanField(default=False, help_text="Each file of a .zip becomes a document of its own.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """A new document needs a set; a new version has the sets, source and external id of its document."""
        is_version = "new_version_of" in attrs
        if not is_version and not attrs["sets"]:
            raise serializers.ValidationError({"sets": _("Give at least one knowledge set.")})
        if is_version and (attrs.get("external_id") or attrs.get("source") or attrs["unpack"]):
            raise serializers.ValidationError(
                {
                    "new_version_of": _(
                        "A new version cannot be combined with an external id, a source or an archive to unpack."
                    )
                }
            )
        return attrs


class DocumentBody(StrictSerializer):
    """What of a document can be changed."""

    title = Text(max_length=512, required=False)
    tags = serializers.ListField(child=Text(max_length=64), max_length=100, required=False)
    clearance = serializers.IntegerField(min_value=0, max_value=MAX_CLEARANCE, required=False)
    review_by = serializers.DateField(required=False, allow_null=True, help_text="Null: no date.")
    reviewed = serializers.BooleanField(required=False, help_text="True: it was reviewed now.")


class ReadersBody(StrictSerializer):
    """People and groups of the tenant, by name."""

    users = serializers.ListField(child=Text(max_length=150), max_length=500, default=list)
    groups = serializers.ListField(child=Text(max_length=128), max_length=500, default=list)


class ReadersFields(serializers.Serializer[Any]):
    """Who alone may read; `unknown` names of a source let nobody in."""

    users = serializers.ListField(child=serializers.CharField())
    groups = serializers.ListField(child=serializers.CharField())
    unknown = serializers.ListField(child=serializers.CharField())


class DocumentReadersFields(serializers.Serializer[Any]):
    """As keepers say, and as the source says."""

    readers = ReadersFields(allow_null=True)
    source_readers = ReadersFields(allow_null=True)


class UploadFields(serializers.Serializer[Any]):
    """What became of an upload; `job_id` is null when there is nothing to do.

    Of an archive that was unpacked, `document_id` is the first of `documents`, and `refused` files were not taken.
    """

    document_id = serializers.IntegerField()
    job_id = serializers.IntegerField(allow_null=True)
    duplicate = serializers.BooleanField()
    documents = serializers.ListField(child=serializers.IntegerField(), required=False)
    refused = serializers.IntegerField(required=False)


class RetryBody(StrictSerializer):
    """Where to begin again."""

    stage = serializers.ChoiceField(["received", "parsed", "chunked"], default="received")


class RetryFields(serializers.Serializer[Any]):
    """The job that tries it again."""

    job_id = serializers.IntegerField()


class BulkLine(serializers.Serializer[Any]):
    """One line of a bulk load; shown in the documentation, checked line by line by the service."""

    external_id = serializers.CharField(max_length=512)
    title = serializers.CharField(required=False)
    text = serializers.CharField()
    format = serializers.ChoiceField(["text", "markdown", "html"], default="text")
    sets = serializers.ListField(child=serializers.IntegerField())
    clearance = serializers.IntegerField(default=0)
    metadata = serializers.DictField(required=False)
    tags = serializers.ListField(child=serializers.CharField(), required=False)
    source = serializers.CharField(required=False)  # type: ignore[assignment]
    tenant = serializers.CharField(required=False)
    review_by = serializers.DateField(required=False)


class RejectedFields(serializers.Serializer[Any]):
    """A line that was not taken; lines count from 1, blank ones included."""

    line = serializers.IntegerField()
    code = serializers.CharField()
    message = serializers.CharField()


class BulkFields(serializers.Serializer[Any]):
    """How much of a bulk load was taken."""

    job_id = serializers.IntegerField()
    accepted = serializers.IntegerField()
    rejected = RejectedFields(many=True, help_text="The first 100.")
    rejected_count = serializers.IntegerField()


class DocumentQuery(PageQuery):
    """What narrows the list of documents."""

    set = Identifier(required=False)
    state = serializers.ChoiceField(STATES, required=False)
    review = serializers.ChoiceField(["due"], required=False, help_text="Those whose review is due.")
    q = Text(max_length=200, required=False, help_text="Looked for in title, external id and text.")
    external_id = Text(max_length=512, required=False)


class PipelineFields(serializers.Serializer[Any]):
    """What a version was read, cut and described with. `sets`: those whose options decided, as far as you may see
    them; [] for those of the site, null where it was made before this was recorded.
    """

    sets = serializers.ListField(child=serializers.IntegerField(), allow_null=True)
    sha256 = serializers.CharField(help_text="Of the options.")
    is_current = serializers.BooleanField(help_text="Whether processing it again now would use the same options.")


class VersionFields(serializers.ModelSerializer[DocumentVersion]):
    """One immutable version; the view gives by its context what its pipeline is compared with."""

    pipeline = serializers.SerializerMethodField()

    class Meta:
        model = DocumentVersion
        fields: ClassVar = [
            "id",
            "number",
            "file_name",
            "size_bytes",
            "sha256",
            "pages",
            "created",
            "live_since",
            "retired",
            "withdrawn",
            "pipeline",
        ]

    @extend_schema_field(PipelineFields(allow_null=True))
    def get_pipeline(self, row: DocumentVersion) -> dict[str, Any] | None:
        if not row.pipeline:
            return None
        sets = row.pipeline_sets
        return {
            "sets": None if sets is None else [pk for pk in sets if pk in self.context["readable_sets"]],
            "sha256": row.pipeline,
            "is_current": row.pipeline == self.context["pipeline_now"],
        }


class ErrorFields(serializers.Serializer[Any]):
    """Why the newest version could not be ingested."""

    code = serializers.CharField()
    message = serializers.CharField()


class DocumentFields(serializers.ModelSerializer[Document]):
    """A document in a list."""

    source = serializers.CharField(source="source.name", read_only=True)  # type: ignore[assignment]
    sets: Any = serializers.PrimaryKeyRelatedField(many=True, read_only=True)
    review_by = serializers.DateField(source="review.review_by", read_only=True, allow_null=True)
    reviewed = serializers.DateTimeField(source="review.reviewed", read_only=True, allow_null=True)
    error = serializers.SerializerMethodField()

    class Meta:
        model = Document
        fields: ClassVar = [
            "id",
            "external_id",
            "title",
            "state",
            "source",
            "sets",
            "clearance",
            "tags",
            "metadata",
            "weight",
            "review_by",
            "reviewed",
            "created",
            "updated",
            "error",
        ]

    @extend_schema_field(ErrorFields(allow_null=True))
    def get_error(self, row: Document) -> dict[str, str] | None:
        return (
            {"code": row.error_code, "message": stored_message(row.error_code, row.error_message, row.error_data)}
            if row.error_code
            else None
        )


class DocumentDetailFields(DocumentFields):
    """A document with its versions that the asker may open, newest first; the view gives them by its context."""

    versions = serializers.SerializerMethodField()

    class Meta(DocumentFields.Meta):
        fields: ClassVar = [*DocumentFields.Meta.fields, "live_version", "versions"]

    @extend_schema_field(VersionFields(many=True))
    def get_versions(self, row: Document) -> list[dict[str, Any]]:
        return list(VersionFields(self.context["versions"], many=True, context=self.context).data)


class ChunkFields(serializers.ModelSerializer[Chunk]):
    """A passage of the live version."""

    parent: Any = serializers.PrimaryKeyRelatedField(read_only=True)

    class Meta:
        model = Chunk
        fields: ClassVar = ["id", "ordinal", "kind", "heading_path", "text", "page", "tokens", "parent"]

"""`/api/v1/webhooks/{source}`: source systems say what has changed; the signature is all the authentication."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import IO, Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from accounts.models import MAX_CLEARANCE
from accounts.rest import Attributes, BodyTooLargeError, FirstRenderer, StrictSerializer, Text
from knowledge.services.sources import (
    EventsResult,
    WebhookEvent,
    source_called,
    webhook_events_apply,
    webhook_source,
)

MAX_EVENTS = 100
MAX_BODY_BYTES = 2 * 1024 * 1024  # the signature is checked over the whole body; larger files come by URL
FORMATS = ["text", "markdown", "html"]


class SignedBytesParser(BaseParser):
    """The body as it was sent, since the signature is over these bytes; at most MAX_BODY_BYTES."""

    media_type = "*/*"

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        body = stream.read(MAX_BODY_BYTES + 1)
        if len(body) > MAX_BODY_BYTES:
            raise BodyTooLargeError
        return {"body": body}


class EventBody(StrictSerializer):
    """One change. An upsert has exactly one of text, content_base64 with name, url; an event `readers` has readers."""

    event = serializers.ChoiceField(["upsert", "delete", "readers"])
    external_id = Text(max_length=512)
    title = Text(max_length=512, allow_blank=True, required=False)
    text = Text(trim_whitespace=False, required=False)
    format = serializers.ChoiceField(FORMATS, default="text")
    content_base64 = Text(required=False)
    name = Text(max_length=255, required=False)
    url = Text(max_length=512, required=False)
    metadata = Attributes(required=False)
    tags = serializers.ListField(child=Text(max_length=64), max_length=100, required=False)
    clearance = serializers.IntegerField(min_value=0, max_value=MAX_CLEARANCE, default=0)
    readers = serializers.ListField(child=Text(max_length=200), max_length=5000, required=False, allow_null=True)

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        contents = [name for name in ("text", "content_base64", "url") if name in values]
        if values["event"] == "upsert" and len(contents) != 1:
            raise serializers.ValidationError(_("An upsert needs exactly one of text, content_base64 and url."))
        if values["event"] == "readers" and values.get("readers") is None:
            raise serializers.ValidationError({"readers": [_("The names of the readers are needed.")]})
        if "content_base64" in values:
            if not values.get("name"):
                raise serializers.ValidationError({"name": [_("The name of the file, with its ending, is needed.")]})
            try:
                values["content"] = base64.b64decode(values.pop("content_base64"), validate=True)
            except (binascii.Error, ValueError):
                raise serializers.ValidationError({"content_base64": [_("This is not base64.")]}) from None
        return values


class EventRefusedFields(serializers.Serializer[Any]):
    """An event that was not taken; they count from 0."""

    index = serializers.IntegerField()
    code = serializers.CharField()
    message = serializers.CharField()


class EventsTakenFields(serializers.Serializer[Any]):
    """`job_id`: where documents are read, null without any; `fetches`: jobs that fetch addresses."""

    job_id = serializers.IntegerField(allow_null=True)
    accepted = serializers.IntegerField()
    rejected = EventRefusedFields(many=True)
    fetches = serializers.ListField(child=serializers.IntegerField())


class WebhookViewSet(ViewSet):
    """Signed requests of source systems."""

    authentication_classes = ()
    permission_classes = ()
    parser_classes = (SignedBytesParser,)
    content_negotiation_class = FirstRenderer

    @extend_schema(
        tags=["sources"],
        operation_id="webhooks_create",
        auth=[],
        parameters=[
            OpenApiParameter("X-Ragsite-Timestamp", OpenApiTypes.STR, OpenApiParameter.HEADER),
            OpenApiParameter("X-Ragsite-Signature", OpenApiTypes.STR, OpenApiParameter.HEADER),
        ],
        request={"application/json": EventBody},
        responses={202: EventsTakenFields},
    )
    def create(self, request: Request, source: str) -> Response:
        """One event, or a list of up to 100.

        The signature is `sha256=` and the HMAC-SHA256, in hexadecimal, of `{timestamp}.{body}` under the secret of the
        source; the timestamp is in seconds. Each signature is valid for five minutes, once. A source that is read from
        a system takes that system's own signed calls: a run of it starts, and the body is not read.
        """
        data: Any = request.data  # empty, or what SignedBytesParser made of it
        body: bytes = data["body"] if data else b""
        if "X-Ragsite-Signature" not in request.headers:
            source_called(id_or_name=source, headers=request.headers, body=body)
            return Response(EventsTakenFields(EventsResult(None, 1)).data, status=202)
        row = webhook_source(
            named=source,
            timestamp=request.headers.get("X-Ragsite-Timestamp", ""),
            signature=request.headers.get("X-Ragsite-Signature", ""),
            body=body,
        )
        outcome = webhook_events_apply(source=row, events=events_of(body))
        return Response(EventsTakenFields(outcome).data, status=202)


def events_of(body: bytes) -> list[WebhookEvent]:
    """The events of a body. Raises ParseError, ValidationError with the position of what is wrong."""
    try:
        data = json.loads(body.decode())
    except (ValueError, RecursionError):
        raise ParseError from None
    if isinstance(data, list):
        many: serializers.ListSerializer[Any] = serializers.ListSerializer(
            child=EventBody(), data=data, allow_empty=False, max_length=MAX_EVENTS
        )
        many.is_valid(raise_exception=True)
        return [WebhookEvent(**row) for row in many.validated_data]
    event = EventBody(data=data)
    event.is_valid(raise_exception=True)
    return [WebhookEvent(**event.validated_data)]

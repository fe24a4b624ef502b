"""Common ground of the REST resources: strict bodies, pages, the scope of a request."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import IO, Any, ClassVar, cast

from django.db.models import Model, QuerySet
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers, status
from rest_framework.exceptions import APIException, ParseError
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.pagination import PageNumberPagination
from rest_framework.parsers import JSONParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from accounts.authentication import scope_require
from accounts.key_scopes import KeyScope
from accounts.models import ApiKey, User
from accounts.scope import Scope
from accounts.selectors import scope_for
from accounts.storable import storable_bytes

MAX_JSON_BYTES = 256 * 1024  # resources are small; files and bulk loads have their own parsers
MAX_ATTRIBUTES_BYTES = 64 * 1024
MAX_ID = 2**63 - 1  # of Postgres' bigint


class BodyTooLargeError(APIException):
    """A JSON body that no resource needs."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "body_too_large"
    default_detail = _("The request body is larger than this address accepts.")


class SmallJsonParser(JSONParser):
    """JSON in UTF-8 up to `max_bytes`, whatever length and charset the client declares."""

    max_bytes = MAX_JSON_BYTES

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        body = stream.read(self.max_bytes + 1)
        if len(body) > self.max_bytes:
            raise BodyTooLargeError
        try:
            return super().parse(BytesIO(body), media_type, {**(parser_context or {}), "encoding": "utf-8"})
        except RecursionError:
            raise ParseError(_("The body is nested too deeply.")) from None


class FirstRenderer(DefaultContentNegotiation):
    """Each address has one representation; the Accept header never turns an answer into 406."""

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        return renderers[0], renderers[0].media_type


class StrictSerializer(serializers.Serializer[Any]):
    """A serializer that refuses fields it does not know, together with all other faults."""

    def to_internal_value(self, data: Any) -> Any:
        unknown = sorted(set(data) - set(self.fields)) if isinstance(data, Mapping) else []
        faults: dict[str, Any] = {name: [_("There is no field of this name.")] for name in unknown}
        try:
            values = super().to_internal_value(data)
        except serializers.ValidationError as error:
            raise serializers.ValidationError({**cast(dict[str, Any], error.detail), **faults}) from None
        if faults:
            raise serializers.ValidationError(faults)
        return values


class Text(serializers.CharField):
    """A string; unlike its base it does not take numbers for strings."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class Identifier(serializers.IntegerField):
    """The id of a row."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"min_value": 1, "max_value": MAX_ID, **options})


def storable(value: Any) -> None:
    """Refuse JSON that Postgres cannot keep, or that is over MAX_ATTRIBUTES_BYTES."""
    size = storable_bytes(value)
    if size is None or size > MAX_ATTRIBUTES_BYTES:
        raise serializers.ValidationError(_("This value cannot be stored."))


class Attributes(serializers.JSONField):
    """A JSON object of at most MAX_ATTRIBUTES_BYTES."""

    default_validators = [storable]

    def to_internal_value(self, data: Any) -> Any:
        try:
            value = super().to_internal_value(data)
        except RecursionError:
            self.fail("invalid")
        if not isinstance(value, dict):
            raise serializers.ValidationError(_("This must be a JSON object."))
        return value


class PageQuery(StrictSerializer):
    """Query parameters of every list."""

    page = serializers.IntegerField(min_value=1, max_value=1_000_000, default=1)
    page_size = serializers.IntegerField(min_value=1, max_value=500, default=50)


class Pages(PageNumberPagination):
    """`{"count", "next", "previous", "results"}`."""

    page_size = 50
    max_page_size = 500
    page_size_query_param = "page_size"


class ResourceViewSet(ViewSet):
    """Base of all resources: one representation, strict input, the scope of the asker.

    `key_scopes` says for each action which scope an API key needs; no key opens an action that it does not name.
    """

    key_scopes: ClassVar[Mapping[str, KeyScope]] = {}
    parser_classes: Any = [SmallJsonParser]
    content_negotiation_class = FirstRenderer

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse keys without the scope of the action before the body is read."""
        super().initial(request, *args, **kwargs)
        if self.action not in (None, "metadata"):  # None: the address does not take this method, which is said next
            scope_require(self.key, self.key_scopes.get(self.action))

    @property
    def key(self) -> ApiKey | None:
        """The API key of the request; None for a browser."""
        return cast("ApiKey | None", self.request.auth)

    @property
    def user(self) -> User:
        """The signed-in asker."""
        return cast(User, self.request.user)

    @property
    def scope(self) -> Scope:
        """The rights of the asker, read once a request."""
        if not hasattr(self, "_scope"):
            self._scope = scope_for(self.user)
        return self._scope

    def body(self, kind: type[StrictSerializer], *, partial: bool = False) -> dict[str, Any]:
        """The validated body. Raises ValidationError."""
        return self._validated(kind(data=self.request.data, partial=partial, context={"request": self.request}))

    def query(self, kind: type[StrictSerializer]) -> dict[str, Any]:
        """The validated query parameters. Raises ValidationError."""
        return self._validated(kind(data=self.request.query_params))

    def page(self, rows: QuerySet[Any], kind: type[serializers.ModelSerializer[Any]]) -> Response:
        """One page of rows with the way to the next."""
        pages = Pages()
        items = cast(list[Model], pages.paginate_queryset(rows, self.request, view=self))
        return pages.get_paginated_response(kind(items, many=True).data)

    def _validated(self, body: StrictSerializer) -> dict[str, Any]:
        body.is_valid(raise_exception=True)
        return cast(dict[str, Any], body.validated_data)

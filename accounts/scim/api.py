"""`/scim/v2`: people and user groups of the tenant of a key, for the directory that keeps them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, ClassVar

from django.db.models import QuerySet
from rest_framework.parsers import JSONParser
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings

from accounts.authentication import ApiKeyAuthentication
from accounts.key_scopes import KeyScope
from accounts.models import UserGroup
from accounts.rest import ResourceViewSet, SmallJsonParser
from accounts.scim import groups, people
from accounts.scim.errors import ScimError, error_body, invalid_value, not_there
from accounts.scim.filters import filter_parsed
from accounts.scim.people import Directory, directory_of
from accounts.scim.queries import (
    GROUP_FIELDS,
    PERSON_FIELDS,
    Condition,
    condition_of,
    group_find,
    groups_of,
    people_of,
    person_find,
)
from accounts.scim.resources import Resource, group_resource, person_resource, projected
from accounts.scim.schemas import MAX_RESULTS, resource_types, schemas, service_provider_config

Show = Callable[[Any], Resource]
LIST_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
MAX_BODY_BYTES = 2 * 1024 * 1024  # of a group with some ten thousand members
ROOT = "/scim/v2"


class ScimParser(SmallJsonParser):
    """`application/scim+json`; plain JSON is taken, too."""

    media_type = "application/scim+json"
    max_bytes = MAX_BODY_BYTES


class ScimJsonParser(ScimParser):
    """Plain JSON, which many clients send."""

    media_type = JSONParser.media_type


class ScimRenderer(JSONRenderer):
    """`application/scim+json`."""

    media_type = "application/scim+json"


def scim_exception_handler(error: Exception, context: Mapping[str, Any]) -> Response:
    """Every error in SCIM's form, with the status and the sentence that the API gives it elsewhere."""
    if isinstance(error, ScimError):
        return Response(error_body(error.status, error.detail, error.scim_type), status=error.status)
    handler: Any = api_settings.EXCEPTION_HANDLER  # of the API
    answer: Response = handler(error, context)
    if answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY:  # a body that is no JSON
        answer.status_code = HTTPStatus.BAD_REQUEST
    fault = answer.data["error"]
    scim_type = "invalidSyntax" if fault["code"] == "malformed" else ""
    answer.data = error_body(answer.status_code, fault["message"], scim_type)
    return answer


class ScimViewSet(ResourceViewSet):
    """A kind of resource; keys with the scope `directory` only, browsers never."""

    schema = None  # it describes itself, by /Schemas
    authentication_classes = (ApiKeyAuthentication,)
    parser_classes = (ScimParser, ScimJsonParser)
    renderer_classes = (ScimRenderer,)
    key_scopes: ClassVar = dict.fromkeys(
        ("list", "search", "retrieve", "create", "update", "partial_update", "destroy"), KeyScope.DIRECTORY
    )

    def get_exception_handler(self) -> Any:
        return scim_exception_handler

    @property
    def directory(self) -> Directory:
        """Raises MissingRightError."""
        assert self.key is not None  # no other way to authenticate
        return directory_of(self.key)

    @property
    def base(self) -> str:
        """The address of the service."""
        return str(self.request.build_absolute_uri(ROOT))

    def listed(self, resources: Sequence[Resource], *, total: int | None = None, start: int = 1) -> Response:
        """A ListResponse."""
        body = {
            "schemas": [LIST_SCHEMA],
            "totalResults": len(resources) if total is None else total,
            "startIndex": start,
            "itemsPerPage": len(resources),
            "Resources": [self.narrowed(resource) for resource in resources],
        }
        return Response(body)

    def asked_for(self, name: str) -> Any:
        """A parameter of the query string or, for `/.search`, of the body."""
        if self.action == "search":
            return self.request.data.get(name) if isinstance(self.request.data, Mapping) else None
        return self.request.query_params.get(name, "").strip()

    def narrowed(self, resource: Resource) -> Resource:
        """With the attributes that the query asks for."""
        names = {name: _names(self.asked_for(name)) for name in ("attributes", "excludedAttributes")}
        return projected(resource, attributes=names["attributes"], excluded=names["excludedAttributes"])

    def answer(self, resource: Resource, status: HTTPStatus = HTTPStatus.OK) -> Response:
        """One resource with its version; 304 without a body where the client has this version."""
        headers = {"ETag": resource["meta"]["version"]}
        if status == HTTPStatus.CREATED:
            headers["Location"] = resource["meta"]["location"]
        elif self.request.method == "GET" and _is_listed(resource, self.request.headers.get("If-None-Match", "")):
            return Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
        return Response(self.narrowed(resource), status=status, headers=headers)

    def page_of(self, rows: QuerySet[Any], fields: Mapping[str, Condition], show: Show) -> Response:
        """The rows of a filter from `startIndex` on, at most `count`. Raises ScimError."""
        text = self.asked_for("filter")
        if text:
            if not isinstance(text, str):
                raise invalid_value("filter must be a text.")
            rows = rows.filter(condition_of(filter_parsed(text), fields)).distinct()
        start, count = max(1, self._number("startIndex", 1)), min(max(0, self._number("count", 100)), MAX_RESULTS)
        total = rows.count()
        listed = rows[start - 1 : start - 1 + count] if count and start <= total else ()
        return self.listed([show(row) for row in listed], total=total, start=start)

    def _number(self, name: str, usual: int) -> int:
        value = self.asked_for(name)
        if value in (None, ""):
            return usual
        try:
            return min(int(value), 10**12)
        except (TypeError, ValueError):
            raise invalid_value(f"{name} must be a number.") from None

    def precondition(self, show: Show) -> Callable[[Any], None]:
        """Check of `If-Match` against a row, under the lock of whoever changes it."""
        expected = self.request.headers.get("If-Match", "")

        def check(row: Any) -> None:
            if expected and not _is_listed(show(row), expected):
                raise ScimError(
                    "The resource has changed since this version was read; read it again.",
                    status=HTTPStatus.PRECONDITION_FAILED,
                )

        return check


def _names(value: Any) -> list[str]:
    """Names of attributes: in one text, or as a list."""
    names = value.split(",") if isinstance(value, str) else value or ()
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise invalid_value("Attributes must be a list of names.")
    return [name.strip() for name in names if name.strip()]


def _is_listed(resource: Resource, header: str) -> bool:
    """Whether a version is among those of a header; `*` is every version."""
    versions = {each.strip().removeprefix("W/") for each in header.split(",")}
    return "*" in versions or resource["meta"]["version"].removeprefix("W/") in versions


class ScimPeople(ScimViewSet):
    """`/Users`."""

    def show(self, row: Any) -> Resource:
        return person_resource(row, base=self.base)

    def list(self, request: Request) -> Response:
        return self.page_of(people_of(self.directory.tenant.pk), PERSON_FIELDS, self.show)

    search = list

    def retrieve(self, request: Request, scim_id: str) -> Response:
        return self.answer(self.show(person_find(self.directory.tenant.pk, scim_id)))

    def create(self, request: Request) -> Response:
        row = people.person_create(directory=self.directory, body=request.data)
        return self.answer(self.show(row), HTTPStatus.CREATED)

    def update(self, request: Request, scim_id: str) -> Response:
        check = self.precondition(self.show)
        row = people.person_replace(directory=self.directory, scim_id=scim_id, body=request.data, precondition=check)
        return self.answer(self.show(row))

    def partial_update(self, request: Request, scim_id: str) -> Response:
        check = self.precondition(self.show)
        row = people.person_patch(directory=self.directory, scim_id=scim_id, body=request.data, precondition=check)
        return self.answer(self.show(row))

    def destroy(self, request: Request, scim_id: str) -> Response:
        people.person_remove(directory=self.directory, scim_id=scim_id, precondition=self.precondition(self.show))
        return Response(status=HTTPStatus.NO_CONTENT)


class ScimGroups(ScimViewSet):
    """`/Groups`."""

    def show(self, row: UserGroup) -> Resource:
        return group_resource(row, base=self.base)

    def list(self, request: Request) -> Response:
        return self.page_of(groups_of(self.directory.tenant.pk), GROUP_FIELDS, self.show)

    search = list

    def retrieve(self, request: Request, scim_id: str) -> Response:
        return self.answer(self.show(group_find(self.directory.tenant.pk, scim_id)))

    def create(self, request: Request) -> Response:
        row = groups.group_create(directory=self.directory, body=request.data)
        return self.answer(self.show(row), HTTPStatus.CREATED)

    def update(self, request: Request, scim_id: str) -> Response:
        check = self.precondition(self.show)
        row = groups.group_replace(directory=self.directory, scim_id=scim_id, body=request.data, precondition=check)
        return self.answer(self.show(row))

    def partial_update(self, request: Request, scim_id: str) -> Response:
        check = self.precondition(self.show)
        row = groups.group_patch(directory=self.directory, scim_id=scim_id, body=request.data, precondition=check)
        return self.answer(self.show(row))

    def destroy(self, request: Request, scim_id: str) -> Response:
        groups.group_remove(directory=self.directory, scim_id=scim_id, precondition=self.precondition(self.show))
        return Response(status=HTTPStatus.NO_CONTENT)


class ScimDescriptions(ScimViewSet):
    """`/ServiceProviderConfig`, `/ResourceTypes`, `/Schemas`: the same for every tenant."""

    kind = ""

    def list(self, request: Request) -> Response:
        if self.kind == "ServiceProviderConfig":
            return Response(service_provider_config(self.base))
        return self.listed(self._all())

    def retrieve(self, request: Request, scim_id: str) -> Response:
        for description in self._all():
            if description["id"] == scim_id:
                return Response(description)
        raise not_there(self.kind, scim_id)

    def _all(self) -> Sequence[Resource]:
        if "filter" in self.request.query_params:  # RFC 7644, 4
            raise ScimError("Descriptions cannot be filtered.", status=HTTPStatus.FORBIDDEN)
        return resource_types(self.base) if self.kind == "ResourceTypes" else schemas(self.base)


class ScimNothing(ScimViewSet):
    """Every other address."""

    def retrieve(self, request: Request, scim_id: str) -> Response:
        raise not_there("resource", scim_id)

    update = partial_update = destroy = retrieve

    def search(self, request: Request) -> Response:
        detail = "Search at /Users/.search or /Groups/.search; there are no bulk requests."
        raise ScimError(detail, status=HTTPStatus.NOT_IMPLEMENTED)

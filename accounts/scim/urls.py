"""Addresses of SCIM, below /scim/v2."""

from typing import Any

from django.urls import URLPattern, path

from accounts.scim.api import ScimDescriptions, ScimGroups, ScimNothing, ScimPeople, ScimViewSet

Actions = dict[str, Any]
MANY: Actions = {"get": "list", "post": "create"}
ITEM: Actions = {"get": "retrieve", "put": "update", "patch": "partial_update", "delete": "destroy"}
SEARCH: Actions = {"post": "search"}
READ_ALL: Actions = {"get": "list"}
READ_ITEM: Actions = {"get": "retrieve"}


def _pair(name: str, view: type[ScimViewSet], many: Actions, item: Actions, **options: str) -> list[URLPattern]:
    return [
        path(name, view.as_view(many, **options), name=f"scim-{name}"),
        path(f"{name}/<str:scim_id>", view.as_view(item, **options), name=f"scim-{name}-item"),
    ]


urlpatterns = [
    path("Users/.search", ScimPeople.as_view(SEARCH), name="scim-Users-search"),
    path("Groups/.search", ScimGroups.as_view(SEARCH), name="scim-Groups-search"),
    *_pair("Users", ScimPeople, MANY, ITEM),
    *_pair("Groups", ScimGroups, MANY, ITEM),
    *_pair("ResourceTypes", ScimDescriptions, READ_ALL, READ_ITEM, kind="ResourceTypes"),
    *_pair("Schemas", ScimDescriptions, READ_ALL, READ_ITEM, kind="Schemas"),
    path(
        "ServiceProviderConfig",
        ScimDescriptions.as_view(READ_ALL, kind="ServiceProviderConfig"),
        name="scim-ServiceProviderConfig",
    ),
    path(".search", ScimNothing.as_view(SEARCH), name="scim-search"),
    path("Bulk", ScimNothing.as_view(SEARCH), name="scim-bulk"),
    path("<path:scim_id>", ScimNothing.as_view(ITEM), name="scim-nothing"),
]

"""What the service says of itself (RFC 7643, 5 to 7): its abilities, kinds of resources, and their attributes."""

from __future__ import annotations

from typing import Any, Final

from accounts.people.records import ENTERPRISE
from accounts.scim.attributes import GROUP, USER

Description = dict[str, Any]
PREFIX: Final = "urn:ietf:params:scim:schemas:core:2.0:"
MAX_RESULTS: Final = 200


def service_provider_config(base: str) -> Description:
    """What clients may count on."""
    return {
        "schemas": [f"{PREFIX}ServiceProviderConfig"],
        "patch": {"supported": True},
        "bulk": {"supported": False, "maxOperations": 0, "maxPayloadSize": 0},
        "filter": {"supported": True, "maxResults": MAX_RESULTS},
        "changePassword": {"supported": False},
        "sort": {"supported": False},
        "etag": {"supported": True},
        "authenticationSchemes": [
            {
                "type": "oauthbearertoken",
                "name": "Bearer",
                "description": "An API key with the scope 'directory'.",
                "primary": True,
            }
        ],
        "meta": {"resourceType": "ServiceProviderConfig", "location": f"{base}/ServiceProviderConfig"},
    }


def resource_types(base: str) -> list[Description]:
    """Users with the enterprise extension, and groups."""
    kinds = [
        ("User", "/Users", "People of the tenant", USER, [{"schema": ENTERPRISE, "required": False}]),
        ("Group", "/Groups", "User groups of the tenant", GROUP, []),
    ]
    return [
        {
            "schemas": [f"{PREFIX}ResourceType"],
            "id": name,
            "name": name,
            "endpoint": endpoint,
            "description": description,
            "schema": schema,
            **({"schemaExtensions": extensions} if extensions else {}),
            "meta": {"resourceType": "ResourceType", "location": f"{base}/ResourceTypes/{name}"},
        }
        for name, endpoint, description, schema, extensions in kinds
    ]


def schemas(base: str) -> list[Description]:
    """The attributes that are kept, of each schema."""
    listed = [
        (USER, "User", "A person", USER_ATTRIBUTES),
        (ENTERPRISE, "EnterpriseUser", "Where a person works", ENTERPRISE_ATTRIBUTES),
        (GROUP, "Group", "A user group", GROUP_ATTRIBUTES),
    ]
    return [
        {
            "schemas": [f"{PREFIX}Schema"],
            "id": urn,
            "name": name,
            "description": description,
            "attributes": attributes,
            "meta": {"resourceType": "Schema", "location": f"{base}/Schemas/{urn}"},
        }
        for urn, name, description, attributes in listed
    ]


def _attribute(name: str, description: str, *, kind: str = "string", **differences: Any) -> Description:
    """An attribute with the values that most have (RFC 7643, 2.2)."""
    usual = {
        "name": name,
        "type": kind,
        "multiValued": False,
        "description": description,
        "required": False,
        "caseExact": False,
        "mutability": "readWrite",
        "returned": "default",
        "uniqueness": "none",
    }
    return usual | differences


def _reference(to: str, mutability: str) -> Description:
    return _attribute(
        "$ref", "The address", kind="reference", referenceTypes=[to], mutability=mutability, caseExact=True
    )


_DISPLAYED = _attribute("display", "The name", mutability="readOnly")
USER_ATTRIBUTES: Final = [
    _attribute("userName", "What the person signs in with", required=True, uniqueness="server"),
    _attribute(
        "name",
        "The name of the person",
        kind="complex",
        subAttributes=[
            _attribute("givenName", "The given name"),
            _attribute("familyName", "The family name"),
        ],
    ),
    _attribute("displayName", "The name that pages show", mutability="readOnly"),
    _attribute("title", "The role in the organisation, by which answers can be ranked"),
    _attribute("locale", "The language of mails and of pages, such as zh-CN"),
    _attribute("active", "Whether the person may sign in", kind="boolean"),
    _attribute(
        "emails",
        "The address for notifications; one is kept",
        kind="complex",
        multiValued=True,
        subAttributes=[
            _attribute("value", "The address"),
            _attribute("type", "Always work", canonicalValues=["work"], mutability="readOnly"),
            _attribute("primary", "Always true", kind="boolean", mutability="readOnly"),
        ],
    ),
    _attribute(
        "groups",
        "The user groups of the person",
        kind="complex",
        multiValued=True,
        mutability="readOnly",
        subAttributes=[
            _attribute("value", "The id of the group", mutability="readOnly"),
            _reference("Group", "readOnly"),
            _DISPLAYED,
        ],
    ),
]
ENTERPRISE_ATTRIBUTES: Final = [
    _attribute("department", "The department, by which answers can be ranked"),
    _attribute("division", "The product or division, by which answers can be ranked"),
]
GROUP_ATTRIBUTES: Final = [
    _attribute("displayName", "The name of the group", required=True, uniqueness="server"),
    _attribute(
        "members",
        "The people in the group",
        kind="complex",
        multiValued=True,
        subAttributes=[
            _attribute("value", "The id of the person", mutability="immutable"),
            _reference("User", "immutable"),
            _DISPLAYED,
        ],
    ),
]

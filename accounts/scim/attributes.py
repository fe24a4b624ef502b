"""The attributes of people and groups: which are kept, and how their names are written (RFC 7643, 4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from accounts.people.records import ENTERPRISE

USER: Final = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP: Final = "urn:ietf:params:scim:schemas:core:2.0:Group"
ENTERPRISE_PREFIX: Final = "enterprise:"  # of the names of the extension, in plain paths
ITEM_NAMES = ("value", "type", "primary", "display", "$ref")
_URNS = {f"{USER}:".lower(): "", f"{GROUP}:".lower(): "", f"{ENTERPRISE}:".lower(): ENTERPRISE_PREFIX}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a resource keeps. Names without case → as they are written."""

    kept_names: tuple[str, ...]
    of_complex: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # with sub-attributes
    lists: frozenset[str] = frozenset()
    required: frozenset[str] = frozenset()
    fixed: frozenset[str] = frozenset()  # cannot be changed: PATCH of one is refused
    ignored: frozenset[str] = frozenset()  # of the standard, taken and not kept

    def name_of(self, name: str) -> str | None:
        """How an attribute is written; "" for one that is not kept, None for one that the standard does not know."""
        lower = name.lower()
        for each in (*self.kept_names, *self.of_complex):
            if each.lower() == lower:
                return each
        return "" if lower in {each.lower() for each in self.ignored | self.fixed} else None

    def sub_of(self, name: str, sub: str) -> str | None:
        """How a sub-attribute is written; None for one that is not kept."""
        return next((each for each in self.of_complex.get(name, ()) if each.lower() == sub.lower()), None)


PERSON_SHAPE: Final = Shape(
    kept_names=("userName", "externalId", "displayName", "title", "locale", "preferredLanguage", "active"),
    of_complex={
        "name": ("givenName", "familyName", "formatted"),
        "emails": ITEM_NAMES,
        ENTERPRISE: ("department", "division"),
    },
    lists=frozenset({"emails"}),
    required=frozenset({"userName"}),
    fixed=frozenset({"id", "meta", "groups"}),
    ignored=frozenset({
        *("schemas", "nickName", "profileUrl", "userType", "timezone", "password", "phoneNumbers", "ims", "photos"),
        *("addresses", "entitlements", "roles", "x509Certificates"),
    }),
)  # fmt: skip
GROUP_SHAPE: Final = Shape(
    kept_names=("displayName", "externalId"),
    of_complex={"members": ITEM_NAMES},
    lists=frozenset({"members"}),
    required=frozenset({"displayName"}),
    fixed=frozenset({"id", "meta"}),
    ignored=frozenset({"schemas"}),
)


def plain_path(path: str) -> str:
    """A path without case and without the name of its schema; names of the extension begin with `enterprise:`."""
    lower = path.lower()
    for urn, prefix in _URNS.items():
        if lower.startswith(urn):
            return prefix + lower[len(urn) :]
    return lower


def document_of(body: Any, shape: Shape) -> dict[str, Any]:
    """What is kept of the body of a request, with names as they are written. Other attributes are left out."""
    document: dict[str, Any] = {}
    for raw_name, value in body.items() if isinstance(body, Mapping) else ():
        if value is None or not (name := shape.name_of(raw_name)):
            continue
        subs = shape.of_complex.get(name)
        document[name] = value if subs is None else _subs(value, name, shape)
    return document


def _subs(value: Any, name: str, shape: Shape) -> Any:
    if isinstance(value, list):
        return [_subs(item, name, shape) for item in value]
    if not isinstance(value, Mapping):
        return value
    return {sub: each for raw, each in value.items() if each is not None and (sub := shape.sub_of(name, raw))}

"""PATCH (RFC 7644, 3.5.2): operations on the document of a resource, also as Entra and Okta write them.

Entra capitalises operations, sends flags as texts, names attributes by their full path within a value, and removes
members by a list. Okta replaces without a path, and repeats the id.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from accounts.people.records import ENTERPRISE
from accounts.scim.attributes import Shape
from accounts.scim.errors import ScimError, invalid_value
from accounts.scim.filters import Comparison, Joined, Term, filter_parsed, matches

MAX_OPERATIONS = 1_000
PATH = re.compile(r"(?P<name>[\w$-]+)(?:\[(?P<filter>.*)\])?(?:\.(?P<sub>[\w$-]+))?\Z", re.DOTALL)
URN = re.compile(r"urn:ietf:params:scim:schemas:(?:core|extension:\w+):2\.0:\w+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Target:
    """Where an operation aims: an attribute, of a list those items that match, of these a part."""

    name: str  # as it is written; "" for an attribute that is not kept
    items: Term | None = None
    sub: str = ""


def patched(document: Mapping[str, Any], body: Any, shape: Shape) -> dict[str, Any]:
    """The document after all operations of a body. Raises ScimError; then none of them counts."""
    result = deepcopy(dict(document))
    for operation in _operations(body):
        verb = str(operation.get("op", "")).lower()
        if verb not in ("add", "replace", "remove"):
            raise ScimError(f"op must be add, replace or remove, not {verb[:32]!r}.", scim_type="invalidSyntax")
        path, value = operation.get("path"), operation.get("value")
        if path:
            _apply(result, verb, _target(str(path), shape), value, shape)
        elif verb == "remove":
            raise ScimError("An operation that removes needs a path.", scim_type="noTarget")
        elif not isinstance(value, Mapping):
            raise invalid_value("An operation without a path needs an object as its value.")
        else:
            for name, each in value.items():
                if name.lower() not in {fixed.lower() for fixed in shape.fixed}:  # Okta repeats the id
                    _apply(result, verb, _target(name, shape), each, shape)
    return result


def _operations(body: Any) -> list[Mapping[str, Any]]:
    fields = {name.lower(): value for name, value in body.items()} if isinstance(body, Mapping) else {}
    listed = fields.get("operations")
    if not isinstance(listed, list) or not listed or not all(isinstance(each, Mapping) for each in listed):
        raise ScimError("The body needs a list of Operations.", scim_type="invalidSyntax")
    if len(listed) > MAX_OPERATIONS:
        raise ScimError(f"A request has at most {MAX_OPERATIONS} operations.", scim_type="tooMany")
    return [{name.lower(): value for name, value in each.items()} for each in listed]


def _target(path: str, shape: Shape) -> Target:
    """Raises ScimError (invalidPath, mutability)."""
    urn = URN.match(path)
    rest = path[urn.end() :].lstrip(":") if urn else path
    if urn and urn[0].lower() == ENTERPRISE.lower() and ENTERPRISE in shape.of_complex:
        return Target(ENTERPRISE) if not rest else _of_extension(rest, shape)
    match = PATH.match(rest)
    name = shape.name_of(match["name"]) if match else None
    if match is None or name is None:
        raise ScimError(f"There is no attribute {path[:128]!r}.", scim_type="invalidPath")
    if match["name"].lower() in {fixed.lower() for fixed in shape.fixed}:
        raise ScimError(f"{match['name']} cannot be changed.", scim_type="mutability")
    items = filter_parsed(match["filter"]) if match["filter"] and name else None
    sub = (shape.sub_of(name, match["sub"]) or "") if match["sub"] else ""
    return Target("" if match["sub"] and not sub else name, items, sub)


def _of_extension(rest: str, shape: Shape) -> Target:
    sub = shape.sub_of(ENTERPRISE, rest.partition(".")[0])
    return Target(ENTERPRISE, None, sub) if sub else Target("")


def _apply(document: dict[str, Any], verb: str, target: Target, value: Any, shape: Shape) -> None:
    if not target.name:
        return
    if verb != "remove" and value is None:
        verb = "remove"  # a value of null is no value (RFC 7643, 2.5)
    if target.name in shape.lists:
        _apply_to_list(document, verb, target, value)
    elif target.sub:
        part = document.setdefault(target.name, {})
        part.pop(target.sub, None) if verb == "remove" else part.update({target.sub: value})
    elif verb == "remove":
        if target.name in shape.required:
            raise ScimError(f"{target.name} is required.", scim_type="mutability")
        document.pop(target.name, None)
    elif target.name in shape.of_complex:
        _merge(document.setdefault(target.name, {}), value, target.name, shape)
    else:
        document[target.name] = value


def _merge(part: dict[str, Any], value: Any, name: str, shape: Shape) -> None:
    """A complex attribute gets the parts that a value has; the others stay (RFC 7644, 3.5.2.1 and 3.5.2.3)."""
    if not isinstance(value, Mapping):
        raise invalid_value(f"{name} must be an object.")
    for raw, each in value.items():
        if sub := shape.sub_of(name, raw):
            part.pop(sub, None) if each is None else part.update({sub: each})


def _apply_to_list(document: dict[str, Any], verb: str, target: Target, value: Any) -> None:
    items: list[dict[str, Any]] = document.setdefault(target.name, [])
    if target.items is None and not target.sub:
        document[target.name] = _whole_list(items, verb, value)
        return
    aimed = [item for item in items if target.items is None or matches(target.items, item)]
    if verb == "remove":
        for item in aimed if target.sub else ():
            item.pop(target.sub, None)
        document[target.name] = items if target.sub else [item for item in items if item not in aimed]
        return
    if not aimed:
        aimed = [_item_of(target.items)]
        items += aimed
    for item in aimed:
        item.update({target.sub: value} if target.sub else _items(value)[0])


def _whole_list(items: list[dict[str, Any]], verb: str, value: Any) -> list[dict[str, Any]]:
    """A list after an operation on all of it: Entra removes the members that it lists."""
    if verb == "remove":
        leaving = {str(item.get("value")) for item in _items(value)} if value else None
        return [] if leaving is None else [item for item in items if str(item.get("value")) not in leaving]
    additions = _items(value)
    if verb == "replace":
        return additions
    if any(_is_primary(item) for item in additions):
        items = [{name: each for name, each in item.items() if name != "primary"} for item in items]
    by_value = {str(item.get("value")): item for item in [*items, *additions]}
    return list(by_value.values())


def _is_primary(item: Mapping[str, Any]) -> bool:
    return str(item.get("primary", "")).lower() == "true"


def _items(value: Any) -> list[dict[str, Any]]:
    """The items of a value: a list, one object, or plain texts."""
    listed = value if isinstance(value, list) else [value]
    items = [{"value": each} if isinstance(each, str) else each for each in listed]
    if not all(isinstance(item, Mapping) for item in items):
        raise invalid_value("Items of a list must be objects.")
    return [{str(name).lower() if name != "$ref" else name: each for name, each in item.items()} for item in items]


def _item_of(term: Term | None) -> dict[str, Any]:
    """A new item for which the conditions of a path hold: `emails[type eq "work"]` makes one of this type."""
    conditions = term.terms if isinstance(term, Joined) and term.by == "and" else (term,)
    return {each.path: each.value for each in conditions if isinstance(each, Comparison) and each.operator == "eq"}

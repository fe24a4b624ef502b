"""Filters of SCIM as conditions of the database, for the people and the groups of a tenant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from django.db.models import Q, QuerySet

from accounts.models import User, UserGroup
from accounts.scim.errors import ScimError, not_there
from accounts.scim.filters import Comparison, Joined, Negated, OfItems, Term
from accounts.scim.resources import MAIL_TYPE, parsed_id, parsed_time

Condition = Callable[[Comparison], Q]
NOBODY: Final = Q(pk__in=())
LOOKUPS: Final = {
    "eq": "exact",
    "co": "contains",
    "sw": "startswith",
    "ew": "endswith",
    "gt": "gt",
    "ge": "gte",
    "lt": "lt",
    "le": "lte",
}
ORDERED: Final = frozenset({"gt", "ge", "lt", "le"})


def people_of(tenant_id: int) -> QuerySet[User]:
    """The people of a tenant as its directory sees them: without service accounts and whoever was removed.

    Somebody who was removed and let in again by an administrator is there again.
    """
    is_there = Q(directory_entry__removed_at=None) | Q(is_active=True)
    rows = User.objects.filter(is_there, tenant_id=tenant_id, is_service=False)
    return rows.select_related("directory_entry", "tenant").prefetch_related("user_groups").order_by("pk")


def groups_of(tenant_id: int) -> QuerySet[UserGroup]:
    """The user groups of a tenant with their members."""
    return UserGroup.objects.filter(tenant_id=tenant_id).prefetch_related("members__directory_entry").order_by("pk")


def person_find(tenant_id: int, scim_id: str) -> User:
    """Raises ScimError (404) for ids of nobody, of others, and of an earlier entry of somebody who came back."""
    row = people_of(tenant_id).filter(id_condition(scim_id)).first()
    if row is None:
        raise not_there("user", scim_id)
    return row


def group_find(tenant_id: int, scim_id: str) -> UserGroup:
    """Raises ScimError (404)."""
    row = groups_of(tenant_id).filter(_group_id(scim_id)).first()
    if row is None:
        raise not_there("group", scim_id)
    return row


def id_condition(scim_id: Any, prefix: str = "") -> Q:
    """The person of an id."""
    parsed = parsed_id(scim_id)
    if parsed is None:
        return NOBODY
    number, generation = parsed
    is_first = Q(**{f"{prefix}directory_entry": None}) | Q(**{f"{prefix}directory_entry__generation": 0})
    later = Q(**{f"{prefix}directory_entry__generation": generation})
    return Q(**{f"{prefix}pk": number}) & (later if generation else is_first)


def condition_of(term: Term, fields: Mapping[str, Condition]) -> Q:
    """A filter as a condition. Raises ScimError (invalidFilter) for attributes that cannot be looked for."""
    if isinstance(term, Joined):
        joined = condition_of(term.terms[0], fields)
        for each in term.terms[1:]:
            other = condition_of(each, fields)
            joined = joined & other if term.by == "and" else joined | other
        return joined
    if isinstance(term, Negated):
        return ~condition_of(term.term, fields)
    if isinstance(term, OfItems):
        parts = {
            path.removeprefix(f"{term.path}."): each
            for path, each in fields.items()
            if path.startswith(f"{term.path}.")
        }
        if not parts:
            raise _unknown(term.path)
        return condition_of(term.term, parts)
    if term.path not in fields:
        raise _unknown(term.path)
    return fields[term.path](term)


def _unknown(path: str) -> ScimError:
    return ScimError(f"Nothing can be looked for by {path[:128]!r}.", scim_type="invalidFilter")


def _bad_operator(term: Comparison) -> ScimError:
    return ScimError(f"{term.path} cannot be compared by {term.operator}.", scim_type="invalidFilter")


def _text(column: str, *, cased: bool = False) -> Condition:
    """A column of text, "" where there is none."""

    def condition(term: Comparison) -> Q:
        if term.operator == "pr" or (term.operator == "ne" and term.value in (None, "")):
            return Q(**{f"{column}__gt": ""})
        if term.value is None and term.operator == "eq":
            return ~Q(**{f"{column}__gt": ""})
        if not isinstance(term.value, str):
            raise _bad_operator(term)
        lookup = LOOKUPS["eq" if term.operator == "ne" else term.operator]
        case = "" if cased or term.operator in ORDERED else "i"
        match = Q(**{f"{column}__{case}{lookup}": term.value})
        return ~match if term.operator == "ne" else match

    return condition


def _flag(column: str) -> Condition:
    def condition(term: Comparison) -> Q:
        if term.operator == "pr":
            return ~NOBODY
        value = {"true": True, "false": False}.get(str(term.value).lower())
        if value is None or term.operator not in ("eq", "ne"):
            raise _bad_operator(term)
        return Q(**{column: value == (term.operator == "eq")})

    return condition


def _time(column: str) -> Condition:
    def condition(term: Comparison) -> Q:
        if term.operator == "pr":
            return ~NOBODY
        try:
            time = parsed_time(term.value)
        except ValueError:
            raise _bad_operator(term) from None
        if term.operator not in (*ORDERED, "eq", "ne"):
            raise _bad_operator(term)
        match = Q(**{f"{column}__{LOOKUPS['eq' if term.operator == 'ne' else term.operator]}": time})
        return ~match if term.operator == "ne" else match

    return condition


def _same(condition_of_id: Callable[[Any], Q], present: Q) -> Condition:
    """Ids are equal or not."""

    def condition(term: Comparison) -> Q:
        if term.operator == "pr":
            return present
        if term.operator not in ("eq", "ne"):
            raise _bad_operator(term)
        match = condition_of_id(term.value)
        return ~match if term.operator == "ne" else match

    return condition


def _constant(value: str) -> Condition:
    """An attribute that is the same in every item."""

    def condition(term: Comparison) -> Q:
        is_same = term.operator == "pr" or str(term.value).lower() == value
        return ~NOBODY if is_same == (term.operator != "ne") else NOBODY

    return condition


def _group_id(value: Any, column: str = "pk") -> Q:
    parsed = parsed_id(value)
    return Q(**{column: parsed[0]}) if parsed is not None and not parsed[1] else NOBODY


PERSON_FIELDS: Final[Mapping[str, Condition]] = {
    "id": _same(id_condition, ~NOBODY),
    "username": _text("username"),
    "externalid": _text("directory_entry__external_id", cased=True),
    "name.givenname": _text("first_name"),
    "name.familyname": _text("last_name"),
    "emails": _text("email"),
    "emails.value": _text("email"),
    "emails.type": _constant(MAIL_TYPE),
    "emails.primary": _constant("true"),
    "title": _text("role"),
    "locale": _text("locale"),
    "active": _flag("is_active"),
    "enterprise:department": _text("department"),
    "enterprise:division": _text("product"),
    "groups": _same(lambda value: _group_id(value, "user_groups__pk"), Q(user_groups__isnull=False)),
    "groups.value": _same(lambda value: _group_id(value, "user_groups__pk"), Q(user_groups__isnull=False)),
    "groups.display": _text("user_groups__name"),
    "meta.created": _time("date_joined"),
}
GROUP_FIELDS: Final[Mapping[str, Condition]] = {
    "id": _same(_group_id, ~NOBODY),
    "displayname": _text("name"),
    "externalid": _text("external_id", cased=True),
    "members": _same(lambda value: id_condition(value, "members__"), Q(members__isnull=False)),
    "members.value": _same(lambda value: id_condition(value, "members__"), Q(members__isnull=False)),
}

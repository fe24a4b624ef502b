"""Replaces an erased person's name in reader lists of sources, which no relation leads to."""

from __future__ import annotations

import re
from typing import Any

from django.db.models import Q

from accounts.models import User
from accounts.privacy.erase import erase_with, pseudonym_of
from knowledge.models import AccessRequest, Document, ReaderList
from knowledge.services.access_requests import REQUESTED, request_link
from knowledge.services.handlers.security import LIVE, UNKNOWN
from knowledge.services.reader_lists import SEPARATORS, USER
from notifications.models import Notification


@erase_with
def reader_names_forget(user: User) -> None:
    """Put the pseudonym in the place of the name in what sources said about readers; rights stay as they are.

    The lists hold ids of people, and this one's names nobody once the account is gone. A source that goes on to send
    the name brings it back as that of somebody unknown.
    """
    pseudonym = pseudonym_of(user)
    for name in filter(None, (user.username, user.email)):
        _name_forget(user.tenant_id, name, pseudonym)


def _name_forget(tenant_id: int, name: str, pseudonym: str) -> None:
    """In what sources said of documents, and in the lists that were made of it."""
    naming = Q(handled__security__acl__icontains=name) | Q(handled__security__item__icontains=name)
    naming |= Q(handled__security__live__icontains=name)
    documents = Document.objects.select_for_update().filter(naming, tenant=tenant_id)
    for row in documents.only("pk", "handled").order_by("pk").iterator(chunk_size=500):
        security = row.handled["security"]
        renamed = {
            key: name_replaced(security[key], name, pseudonym) for key in ("acl", "item", LIVE) if key in security
        }
        Document.objects.filter(pk=row.pk).update(handled={**row.handled, "security": {**security, **renamed}})
    lists = ReaderList.objects.select_for_update().filter(tenant=tenant_id).order_by("pk")
    for listed in lists.exclude(unknown=[], names=[]):
        replaced = {key: name_replaced(getattr(listed, key), name, pseudonym) for key in ("unknown", "names")}
        if any(getattr(listed, key) != value for key, value in replaced.items()):
            ReaderList.objects.filter(pk=listed.pk).update(**replaced)


@erase_with
def notifications_forget(user: User) -> None:
    """Removes notifications that name an erased person."""
    links = [request_link(row) for row in AccessRequest.objects.filter(user=user)]
    names = (user.username, USER + user.username)
    about = Q(kind=REQUESTED, link__in=links) | Q(kind=UNKNOWN, data__value__in=names)
    Notification.objects.filter(about).delete()


def name_replaced(value: Any, name: str, other: str) -> Any:
    """The value of a field that names readers, with another name for one; as in texts, so in lists and objects."""
    if isinstance(value, list):
        return [name_replaced(item, name, other) for item in value]
    if isinstance(value, dict):
        return {name_replaced(key, name, other): name_replaced(item, name, other) for key, item in value.items()}
    if not isinstance(value, str):
        return value
    parts = re.split(f"({SEPARATORS.pattern})", value)  # the separators, too
    return "".join(_part_replaced(part, name, other) for part in parts)


def _part_replaced(part: str, name: str, other: str) -> str:
    plain = part.strip()
    prefix = USER if plain.startswith(USER) else ""
    if plain.removeprefix(prefix).strip().casefold() != name.casefold():
        return part
    return part.replace(plain, prefix + other)

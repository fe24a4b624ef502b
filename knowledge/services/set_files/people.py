"""People and groups that a set file names, and who they are here. Who is nobody here reads nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from accounts.models import User, UserGroup
from knowledge.models import KnowledgeSet, ReaderList
from knowledge.set_file_errors import MappingInvalidError

USER, GROUP = "user", "group"
ROLES = {"owners": USER, "editors": USER, "members": USER, "member_groups": GROUP}  # relation of a set → who is in it
MAX_NAME = 150


@dataclass(frozen=True, slots=True)
class People:
    """Names of a file with the ids that they have here; those that are missing are nobody."""

    users: Mapping[str, int] = field(default_factory=dict)
    groups: Mapping[str, int] = field(default_factory=dict)

    def ids(self, kind: str, names: Iterable[str]) -> list[int]:
        """Of those who are somebody here."""
        ids_of_names = self.users if kind == USER else self.groups
        return sorted({ids_of_names[name] for name in names if name in ids_of_names})


def people_leaving(knowledge_set: KnowledgeSet, *, documents: Sequence[int]) -> dict[str, dict[str, list[str]]]:
    """Names that travel: of the set by role, and of all lists of readers of its documents."""
    roles = {
        name: sorted(getattr(knowledge_set, name).values_list("username" if kind == USER else "name", flat=True))
        for name, kind in ROLES.items()
    }
    lists = KnowledgeSet.documents.through.objects.filter(knowledgeset=knowledge_set, document__in=documents)
    ids = {pk for pair in lists.values_list("document__readers", "document__source_readers") for pk in pair if pk}
    rows = list(ReaderList.objects.filter(pk__in=ids))
    users = User.objects.filter(pk__in={pk for row in rows for pk in row.users}).values_list("username", flat=True)
    groups = UserGroup.objects.filter(pk__in={pk for row in rows for pk in row.groups}).values_list("name", flat=True)
    return {"roles": roles, "readers": {USER: sorted(users), GROUP: sorted(groups)}}


def names_in(people: Any) -> dict[tuple[str, str], list[str]]:
    """(kind, name) → roles, of what `people_leaving` wrote; everything else is left out."""
    roles: dict[tuple[str, str], list[str]] = {}
    if not isinstance(people, dict):
        return roles
    parts = [(role, kind, _names(people.get("roles"), role)) for role, kind in ROLES.items()]
    parts += [("readers", kind, _names(people.get("readers"), kind)) for kind in (USER, GROUP)]
    for role, kind, names in parts:
        for name in names:
            roles.setdefault((kind, name), []).append(role)
    return roles


def _names(values: Any, name: str) -> list[str]:
    listed = values.get(name) if isinstance(values, dict) else None
    return [entry for entry in listed or () if isinstance(entry, str) and 0 < len(entry) <= MAX_NAME]


def people_here(*, tenant_id: int, names: Iterable[tuple[str, str]], chosen: Mapping[str, str]) -> People:
    """Who the names are here: as chosen ("user:NAME" → name here, "" nobody), else who is called the same.

    Raises MappingInvalidError for a choice of a name that the file does not have, or that is nobody here.
    """
    listed = set(names)
    for key in chosen:
        kind, _colon, name = key.partition(":")
        if (kind, name) not in listed:
            raise MappingInvalidError("name", name=name[:MAX_NAME])
    targets = {(kind, name): chosen.get(f"{kind}:{name}", name) for kind, name in listed}
    here = {
        USER: _ids(User.objects.filter(tenant_id=tenant_id, is_active=True), "username", targets, USER),
        GROUP: _ids(UserGroup.objects.filter(tenant_id=tenant_id), "name", targets, GROUP),
    }
    for (kind, name), target in targets.items():
        if target and target not in here[kind] and f"{kind}:{name}" in chosen:
            raise MappingInvalidError("target", name=target[:MAX_NAME])
    ids_of_kind = {
        kind: {name: here[kind][target] for (of, name), target in targets.items() if of == kind and target in here[of]}
        for kind in (USER, GROUP)
    }
    return People(ids_of_kind[USER], ids_of_kind[GROUP])


def _ids(rows: Any, column: str, targets: Mapping[tuple[str, str], str], kind: str) -> dict[str, int]:
    targets_of_kind = {target for (of, _name), target in targets.items() if of == kind and target}
    return dict(rows.filter(**{f"{column}__in": targets_of_kind}).values_list(column, "pk")) if targets_of_kind else {}


def mapping_of(lines: Iterable[str]) -> dict[str, str]:
    """Choices of lines such as `user:anna=a.berg`; nothing behind `=` is nobody. Raises MappingInvalidError."""
    chosen: dict[str, str] = {}
    for line in lines:
        key, equals, target = line.strip().partition("=")
        if not line.strip():
            continue
        if not equals or key.partition(":")[0] not in (USER, GROUP):
            raise MappingInvalidError("form", line=line.strip()[:80])
        chosen[key.strip()] = target.strip()
    return chosen

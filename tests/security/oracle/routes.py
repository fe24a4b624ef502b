"""Every address of the site, found in its URL patterns, and ids to fill them with."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from django.urls import URLPattern, get_resolver
from django.urls.resolvers import RoutePattern

from tests.security.oracle.facts import KINDS, Facts

PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
ADMIN = re.compile(r"^admin/(accounts|work|knowledge|chat|feedback|evaluation)/(\w+)/")
OF_MODEL = {label.lower(): kind for kind, label in KINDS.items()}
OF_PARAMETER = {
    "set_id": "set",
    "document_id": "document",
    "job_id": "job",
    "source_id": "source",
    "place_id": "place",
    "triple_id": "triple",
    "import_id": "triple_import",
    "file_id": "set_file",
    "relation_id": "relation",
    "request_id": "request",
    "notification_id": "notification",
    "conversation_id": "conversation",
    "message_id": "message",
    "attachment_id": "attachment",
    "announcement_id": "announcement",
    "version_id": "version",
    "chunk_id": "chunk",
    "edit_id": "edit",
    "key_id": "key",
    "lexicon_version_id": "lexicon_version",
    "lexicon_change_id": "lexicon_change",
    "mining_id": "background_job",
    "background_job_id": "background_job",
}
PLAIN = {  # parameters that name no object
    "code": ("0123456789abcdef0123", "nothing"),  # of embedded chats: tests/chat/embeds
    "entity_id": ("1", "2", "3", "5", "9"),
    "decision_id": ("1", "2", "3", "5", "9"),
    "number": ("1", "2", "9", "20"),
    "case": ("1", "2"),
    "verb": ("move", "copy", "remove", "steal"),
    "name": ("ragsite", "ragsite/open", "p1.png"),
    "reference": ("0" * 32,),
    "link_id": ("00000000-0000-0000-0000-000000000002",),  # what links show: tests/chat/pages/test_sharing.py
    "source": ("wiki", "1"),
    "purpose": ("standard", "judge", "nothing"),
    "fingerprint": ("0" * 64, "nothing"),
    "task": ("embed", "rerank", "nothing"),
    "switch_id": ("1", "2"),
    "step": ("pause", "resume", "cancel", "finish", "activate", "roll_back", "nothing"),
    "version_kind": ("query_adapter", "reranker_fit", "nothing"),
    "row_id": ("1", "2", "9"),
    "scim_id": ("1", "2", "3", "User", "urn:ietf:params:scim:schemas:core:2.0:User"),
    "content_type_id": ("1", "7", "20"),
    "app_label": ("accounts", "work", "knowledge", "chat", "feedback", "evaluation"),
    "url": ("knowledge/nothing", "x"),
}
OF_SITE = {"language_model", "search_model"}  # kinds that belong to no tenant
HANGS_ON = {  # kinds without a tenant of their own: column, kind of what they hang on
    "version": ("document_id", "document"),
    "chunk": ("version_id", "version"),
    "edit": ("document_id", "document"),
    "item": ("job_id", "job"),
    "key": ("user_id", "user"),
    "set_source": ("knowledge_set_id", "set"),
    "request": ("knowledge_set_id", "set"),
    "notification": ("recipient_id", "user"),
    "message": ("conversation_id", "conversation"),
    "case": ("message_id", "message"),
    "golden_case": ("golden_set_id", "golden"),
    "run": ("golden_set_id", "golden"),
    "wanted": ("knowledge_set_id", "set"),
    "change": ("knowledge_set_id", "set"),
}
OWNED = {  # kinds that belong to one person: column
    **dict.fromkeys(("key", "request", "conversation", "message", "attachment"), "user_id"),
    "notification": "recipient_id",
    "wanted": "asked_by_id",
    "set_file": "actor_id",
}
FORGED = ("0", "999999999", "9223372036854775807", "-1", "1' OR '1'='1", "00000000-0000-0000-0000-000000000001", "%00")
REGEX = re.compile(r"\(\?P<(\w+)>(?:[^()]|\([^()]*\))*\)")


@dataclass(frozen=True, slots=True)
class Route:
    """One pattern: `path` with `<parameter>` for what is to be filled in."""

    path: str
    name: str
    parameters: tuple[tuple[str, str], ...]  # name, kind of object or ""

    @property
    def model(self) -> str:
        """The kind of object of a page of the administration."""
        found = ADMIN.match(self.path)
        return OF_MODEL[f"{found[1]}.{found[2]}"] if found else ""

    @property
    def tail(self) -> str:
        """What is done: the last part of the name of a page of the administration."""
        return self.name.rpartition("_")[2] if self.model else self.name


def routes_all() -> list[Route]:
    """In the order of the patterns; the same path with several views once."""
    found = dict(reversed(list(_patterns(get_resolver().url_patterns, ""))))
    return sorted((_route(path, name) for path, name in found.items()), key=lambda route: route.path)


def _patterns(patterns: list[object], prefix: str) -> Iterator[tuple[str, str]]:
    for one in patterns:
        is_plain = isinstance(one.pattern, RoutePattern)  # type: ignore[attr-defined]
        text = str(one.pattern)  # type: ignore[attr-defined]
        path = prefix + (text if is_plain else REGEX.sub(r"<\1>", text).strip("^$"))
        if isinstance(one, URLPattern):
            yield path, one.name or ""
        else:
            yield from _patterns(one.url_patterns, path)  # type: ignore[attr-defined]


def _route(path: str, name: str) -> Route:
    model = (found := ADMIN.match(path)) and OF_MODEL[f"{found[1]}.{found[2]}"]
    parameters = []
    for parameter in PARAMETER.findall(path):
        kind = model if parameter in ("object_id", "pk", "id") and model else OF_PARAMETER.get(parameter, "")
        assert kind or parameter in PLAIN or path.startswith("admin/r/"), f"{path}: nothing is known of {parameter}"
        parameters.append((parameter, kind))
    return Route(path, name, tuple(parameters))


@dataclass(frozen=True, slots=True)
class Target:
    """A route with its parameters: `ids` are of objects that exist, by kind; None where one is forged."""

    route: Route
    address: str
    ids: dict[str, int | str] | None


class Aim:
    """Chooses ids: of any tenant, of a related object where an address names two, or forged ones."""

    def __init__(self, facts: Facts, rng: random.Random) -> None:
        self.facts, self.rng = facts, rng
        self.ids = {kind: sorted(rows, key=str) for kind, rows in facts.rows.items()}
        self.edits: dict[int, list[int]] = {}
        for pk, row in facts.rows["edit"].items():
            self.edits.setdefault(row["document_id"], []).append(int(pk))
        self.near: dict[tuple[int, str], list[int | str]] = {}  # tenant, kind → ids
        for kind, rows in facts.rows.items():
            for found in rows:
                homes = list(facts.rows["tenant"]) if kind in OF_SITE else [self._tenant(kind, found)]
                for home in homes:
                    self.near.setdefault((int(home), kind), []).append(found)
        self.mine: dict[tuple[int, str], list[int | str]] = {}  # person, kind → ids
        for kind, column in OWNED.items():
            for found, row in facts.rows[kind].items():
                self.mine.setdefault((row[column], kind), []).append(found)
        self.chunks: dict[int, list[int]] = {}
        for pk, row in facts.rows["chunk"].items():
            document = facts.rows["version"][row["version_id"]]["document_id"]
            self.chunks.setdefault(document, []).append(int(pk))

    def _tenant(self, kind: str, pk: int | str) -> int:
        """The tenant to which an object belongs, by what it hangs on."""
        row = self.facts.row(kind, pk)
        if kind == "tenant":
            return int(row["id"])
        if "tenant_id" in row:
            return int(row["tenant_id"])
        column, parent = HANGS_ON[kind]
        above = row[column]
        return self._tenant(parent, above if isinstance(above, int) else str(above))

    def at(self, route: Route, tenant: int | None = None, person: int | None = None) -> Target:
        """The route filled, with objects of one tenant or of any, and often of one person."""
        ids: dict[str, int | str] | None = {}
        address = "/" + route.path
        for parameter, kind in route.parameters:
            value = self.some(kind, ids, tenant, person) if kind else self.rng.choice(PLAIN.get(parameter, ("1",)))
            if kind and ids is not None:
                ids[kind] = value
            if kind and self.rng.random() < 0.04:
                value, ids = self._forged(parameter), None
            address = re.sub(rf"<(\w+:)?{parameter}>", lambda _, v=value: str(v), address, count=1)
        return Target(route, address, ids)

    def some(
        self,
        kind: str,
        ids: dict[str, int | str] | None = None,
        tenant: int | None = None,
        person: int | None = None,
    ) -> int | str:
        """An object of a kind, of the document that was chosen before where there is one."""
        of = {"edit": self.edits, "chunk": self.chunks}.get(kind, {})
        near = of.get(int(ids["document"]), []) if ids and "document" in ids else []
        near = near or self.mine.get((person or 0, kind), [])
        if near and self.rng.random() < 0.7:
            return self.rng.choice(near)
        return self.rng.choice(self.ids[kind] if tenant is None else self.near[tenant, kind])

    def _forged(self, parameter: str) -> str:
        if parameter in ("conversation_id", "message_id", "attachment_id"):
            return "00000000-0000-0000-0000-000000000001"
        plain = parameter == "object_id"
        return self.rng.choice(FORGED if plain else FORGED[:3])

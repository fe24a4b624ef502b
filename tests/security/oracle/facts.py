"""The facts of a world as plain values, read from its tables once; nothing here asks the product who may do what."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from django.apps import apps

from accounts.models import User
from chat.models import ApprovedSource, Conversation, Message, MessageCitation
from evaluation.models import GoldenSet
from feedback.models import BadCase
from knowledge.models import Document, DocumentVersion, KnowledgeSet

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Person:
    """Who somebody is."""

    pk: int
    role: str  # of the world: a name for messages
    tenant: int
    clearance: int
    is_staff: bool
    administers: bool  # the own tenant at least
    is_platform: bool
    reviews: bool
    creates_sets: bool
    groups: frozenset[int]


@dataclass(frozen=True, slots=True)
class SetFacts:
    tenant: int
    is_open: bool
    shows_originals: bool
    owners: frozenset[int]
    editors: frozenset[int]
    members: frozenset[int]
    groups: frozenset[int]
    rights: str = "both"  # whose count: the set's, those of the source, or both


@dataclass(frozen=True, slots=True)
class DocumentFacts:
    tenant: int
    clearance: int
    is_deleted: bool
    sets: frozenset[int]
    source: int
    live: int | None
    by_keepers: tuple[frozenset[int], frozenset[int]] | None = None  # people and groups who alone may read it
    by_source: tuple[frozenset[int], frozenset[int]] | None = None


@dataclass
class Facts:
    """Rows by id."""

    people: dict[int, Person] = field(default_factory=dict)
    sets: dict[int, SetFacts] = field(default_factory=dict)
    documents: dict[int, DocumentFacts] = field(default_factory=dict)
    rows: dict[str, dict[int | str, Row]] = field(default_factory=dict)  # by kind of object
    cited: dict[str, set[int]] = field(default_factory=dict)  # message → documents
    cited_versions: dict[int, set[int]] = field(default_factory=dict)  # person → versions that own answers cite
    approved: dict[int, set[int]] = field(default_factory=dict)  # approved answer → documents
    cases: dict[int, str] = field(default_factory=dict)  # case → message
    golden_sets: dict[int, set[int]] = field(default_factory=dict)  # golden set → knowledge sets

    def row(self, kind: str, pk: int | str) -> Row:
        return self.rows[kind][pk]


KINDS = {  # kind → model
    "tenant": "accounts.Tenant",
    "user": "accounts.User",
    "group": "accounts.UserGroup",
    "key": "accounts.ApiKey",
    "event": "accounts.AuditEvent",
    "set": "knowledge.KnowledgeSet",
    "document": "knowledge.Document",
    "reader_list": "knowledge.ReaderList",
    "version": "knowledge.DocumentVersion",
    "chunk": "knowledge.Chunk",
    "edit": "knowledge.ChunkEdit",
    "pair": "knowledge.DuplicatePair",
    "relation": "knowledge.DocumentRelation",
    "job": "knowledge.IngestJob",
    "item": "knowledge.IngestItem",
    "source": "knowledge.Source",
    "set_source": "knowledge.SetSource",
    "place": "knowledge.SourcePlace",
    "language_model": "knowledge.LanguageModel",
    "search_model": "knowledge.SearchModel",
    "triple": "knowledge.Triple",
    "triple_import": "knowledge.TripleImport",
    "set_file": "knowledge.SetFile",
    "handler": "knowledge.SourceHandler",
    "attribute": "knowledge.Attribute",
    "options_change": "knowledge.OptionsChange",
    "lexicon_term": "knowledge.LexiconTerm",
    "lexicon_version": "knowledge.LexiconVersion",
    "lexicon_change": "knowledge.LexiconChange",
    "background_job": "work.Job",
    "request": "knowledge.AccessRequest",
    "notification": "notifications.Notification",
    "conversation": "chat.Conversation",
    "message": "chat.Message",
    "attachment": "chat.Attachment",
    "announcement": "chat.Announcement",
    "embed": "chat.Embed",
    "statistics": "chat.StrategyStatistics",
    "case": "feedback.BadCase",
    "approved": "chat.ApprovedAnswer",
    "wanted": "evaluation.WantedDocument",
    "golden": "evaluation.GoldenSet",
    "golden_case": "evaluation.GoldenCase",
    "run": "evaluation.EvaluationRun",
    "change": "evaluation.GatedChange",
}
LARGE = {"markdown", "sketch", "trace", "answer", "answer_html", "text", "anchor_text", "lexemes"}


def facts_of(roles: dict[int, str]) -> Facts:
    """Everything that is in the database now."""
    facts = Facts()
    for kind, label in KINDS.items():
        model = apps.get_model(label)
        names = [f.attname for f in model._meta.concrete_fields if f.name not in LARGE]
        rows = model._default_manager.order_by("pk").values(*names)
        key = model._meta.pk.attname if model._meta.pk else "id"
        key = "key" if kind == "attachment" else key  # by which people know it
        facts.rows[kind] = {(row[key] if isinstance(row[key], int) else str(row[key])): row for row in rows}
    _people(facts, roles)
    _documents(facts)
    cited = MessageCitation.objects.values_list(
        "message_id", "message__conversation__user_id", "document_id", "version_id"
    )
    for message, user, document, version in cited:
        facts.cited.setdefault(str(message), set()).add(document)
        facts.cited_versions.setdefault(user, set()).add(version)
    facts.approved = _pairs(ApprovedSource, "answer_id", "document_id")
    facts.cases = {pk: str(message) for pk, message in BadCase.objects.values_list("pk", "message_id")}
    facts.golden_sets = _pairs(GoldenSet.sets.through, "goldenset_id", "knowledgeset_id")
    for row in facts.rows["message"].values():
        row["user_id"] = Conversation.objects.get(pk=row["conversation_id"]).user_id
    assert Message.objects.count() == len(facts.rows["message"])
    return facts


def _pairs(through: Any, one: str, other: str) -> dict[int, set[int]]:
    found: dict[int, set[int]] = defaultdict(set)
    for left, right in through.objects.values_list(one, other):
        found[left].add(right)
    return found


def _people(facts: Facts, roles: dict[int, str]) -> None:
    groups = _pairs(User.user_groups.through, "user_id", "usergroup_id")
    reviewers = set(User.objects.filter(user_permissions__codename="change_badcase").values_list("pk", flat=True))
    default = next(pk for pk, row in facts.rows["tenant"].items() if row["is_default"])
    for pk, row in facts.rows["user"].items():
        admin = row["is_staff"] and row["is_superuser"]
        facts.people[int(pk)] = Person(
            pk=int(pk),
            role=roles.get(int(pk), "?"),
            tenant=row["tenant_id"],
            clearance=row["clearance"],
            is_staff=row["is_staff"],
            administers=admin,
            is_platform=admin and row["tenant_id"] == default,
            reviews=admin or (row["is_staff"] and pk in reviewers),
            creates_sets=admin or row["can_create_sets"],
            groups=frozenset(groups.get(int(pk), ())),
        )


def _documents(facts: Facts) -> None:
    lists = {
        name: _pairs(getattr(KnowledgeSet, name).through, "knowledgeset_id", column)
        for name, column in (
            ("owners", "user_id"),
            ("editors", "user_id"),
            ("members", "user_id"),
            ("member_groups", "usergroup_id"),
        )
    }
    for pk, row in facts.rows["set"].items():
        people = {name: frozenset(found.get(int(pk), ())) for name, found in lists.items()}
        facts.sets[int(pk)] = SetFacts(
            tenant=row["tenant_id"],
            is_open=row["visibility"] == "everyone",
            shows_originals=row["originals"] == "readers",
            owners=people["owners"],
            editors=people["editors"],
            members=people["members"],
            groups=people["member_groups"],
            rights=row["rights"],
        )
    held = _pairs(Document.sets.through, "document_id", "knowledgeset_id")
    for pk, row in facts.rows["document"].items():
        facts.documents[int(pk)] = DocumentFacts(
            tenant=row["tenant_id"],
            clearance=row["clearance"],
            is_deleted=row["deleted"] is not None,
            sets=frozenset(held.get(int(pk), ())),
            source=row["source_id"],
            live=row["live_version_id"],
            by_keepers=_listed(facts, row["readers_id"]),
            by_source=_listed(facts, row["source_readers_id"]),
        )
    assert DocumentVersion.objects.count() == len(facts.rows["version"])


def _listed(facts: Facts, pk: int | None) -> tuple[frozenset[int], frozenset[int]] | None:
    """The people and groups of a list of readers."""
    row = facts.rows["reader_list"].get(pk or 0)
    return None if row is None else (frozenset(row["users"]), frozenset(row["groups"]))

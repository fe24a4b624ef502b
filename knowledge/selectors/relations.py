"""How documents stand to each other, as far as the asker may open both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Length

from accounts.scope import Scope
from knowledge.indexes.relations import EditionFacts, newer_editions_load
from knowledge.indexes.visibility import Visible, visible_sql
from knowledge.models import Document, DocumentRelation
from knowledge.relation_kinds import KINDS, WORDS
from knowledge.selectors.documents import documents_readable
from knowledge.selectors.neighbours import MOST_NEIGHBOURS, neighbours_among, relations_between
from ragcore.text.names import asked_words
from ragcore.text.replaced_editions import names_of_older, times_of_older
from ragcore.types import ReplacedBy

Newer = dict[int, ReplacedBy | None]
MOST_SHOWN = 200  # relations of one document; `RelationsOf.more` says how many are not listed


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationLine:
    """One relation from the end of one document. `kind`: a kind, or the inverse of one."""

    id: int
    kind: str
    other: Document
    origin: str

    @property
    def words(self) -> str:
        """What the document is to the other one, in the reader's language."""
        return str(WORDS[self.kind])


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationsOf:
    """Relations of one document, in the order of kinds."""

    lines: tuple[RelationLine, ...] = ()
    more: int = 0

    @property
    def replaced_by(self) -> Document | None:
        """A document that replaces it and can be searched."""
        newer = (line.other for line in self.lines if line.kind == "replaced_by")
        return next((other for other in newer if other.live_version_id is not None), None)


def relations_of(*, scope: Scope, document_ids: Collection[int]) -> dict[int, RelationsOf]:
    """Relations by document, of those that have any that the asker may know of. One statement."""
    ids = set(document_ids)
    if not ids:
        return {}
    rows = (
        relations_between(scope=scope, readable=documents_readable(scope=scope))
        .filter(Q(source__in=ids) | Q(target__in=ids))
        .select_related("source", "target")
    )
    lines: dict[int, dict[tuple[str, int], RelationLine]] = defaultdict(dict)
    for row in rows.order_by("origin", "pk"):  # by hand before by rule: each pair is listed once
        kind = KINDS[row.kind]
        for end, other, code in ((row.source, row.target, kind.code), (row.target, row.source, kind.inverse)):
            if end is not None and other is not None and end.pk in ids:
                line = RelationLine(id=row.pk, kind=code, other=other, origin=row.origin)
                lines[end.pk].setdefault((code, other.pk), line)
    return {pk: _listed(of_one.values()) for pk, of_one in lines.items()}


def _listed(lines: Iterable[RelationLine]) -> RelationsOf:
    order = list(WORDS)
    ordered = sorted(lines, key=lambda line: (order.index(line.kind), line.other.title, line.other.pk))
    return RelationsOf(lines=tuple(ordered[:MOST_SHOWN]), more=max(0, len(ordered) - MOST_SHOWN))


def documents_beside(*, scope: Scope, document_ids: Collection[int], kinds: Sequence[str]) -> tuple[int, ...]:
    """Documents that stand to any of these in one of these ways, as far as the asker may open both."""
    readable = documents_readable(scope=scope)
    near = [
        pk
        for base in document_ids
        for pk in neighbours_among(scope=scope, readable=readable, document_id=base, kinds=kinds)
    ]
    return tuple(dict.fromkeys(pk for pk in near if pk not in document_ids))[:MOST_NEIGHBOURS]


def documents_with_relations(*, scope: Scope, name: str) -> tuple[int, ...]:
    """Documents that a name means, by title or file name, the shortest title first; only those with relations."""
    readable = documents_readable(scope=scope)
    related = relations_between(scope=scope, readable=readable)
    ends = Q(pk__in=related.order_by().values("source")) | Q(pk__in=related.order_by().values("target"))
    condition = Q(title__icontains=name)
    if words := asked_words(name):
        condition |= Q(names__terms__contains=words)
    rows = readable.filter(ends).filter(condition).order_by(Length("title"), "pk")
    return tuple(rows.values_list("pk", flat=True)[:MOST_SHOWN])


# ── editions ────────────────────────────────────────────────────────────────────────────────────


def replaced_by(*, scope: Scope, visible: Visible, documents: Collection[int]) -> dict[int, ReplacedBy]:
    """Of these documents, those that another one replaces within what a search may find, by id."""
    rows = newer_editions_load(scope=scope, visible=visible, documents=documents)
    return {pk: _replaced(newer, older) for pk, (newer, older) in rows.items()}


def successors(*, scope: Scope, document_ids: Collection[int]) -> Mapping[int, EditionFacts]:
    """Of these documents, those that a searchable one replaces which the asker may open: id -> the newest one."""
    if not document_ids:
        return {}
    visible = visible_sql(documents_readable(scope=scope))
    rows = newer_editions_load(scope=scope, visible=visible, documents=document_ids)
    return {pk: newer for pk, (newer, _older) in rows.items()}


def is_replaced(document: str) -> Exists:
    """Whether any other document replaces the one in this column, whoever may know: a reason to look, never to tell."""
    rows = DocumentRelation.objects.filter(target=OuterRef(document), kind="replaces", dismissed=False)
    return Exists(rows.order_by())


def _replaced(newer: EditionFacts, older: EditionFacts) -> ReplacedBy:
    texts = ((edition.title, edition.external_id, *edition.metadata.values()) for edition in (older, newer))
    since, until = times_of_older(older.metadata, newer.metadata)
    return ReplacedBy(
        document=newer.document, title=newer.title, names=names_of_older(*texts), since=since, until=until
    )

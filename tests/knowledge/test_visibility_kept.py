"""The text of what an asker may see is kept; the rights themselves are read anew for each search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.db import connection

from accounts.models import User, UserGroup
from knowledge.indexes.corpus_epoch import epoch_now
from knowledge.indexes.statements import fetch
from knowledge.models import Document, KnowledgeSet
from knowledge.selectors import documents_askable
from knowledge.selectors.visibility import visible_to
from knowledge.services import retrieve
from knowledge.services.reader_lists import source_readers_ensure
from knowledge.services.readers import document_readers_set
from knowledge.types import Filters, RetrievalRequest
from tests.factories import ingest, make_admin, make_set, make_user, scope_of

pytestmark = pytest.mark.django_db

DIRECTLY = "SELECT d.id FROM knowledge_document d WHERE d.id IN ({visible})"


@dataclass
class World:
    """A document in a set of members only, and somebody who may not read it yet."""

    reader: User
    group: UserGroup
    closed: KnowledgeSet
    document: Document

    def seen(self, *, limited_by: User | None = None, **narrower: object) -> bool:
        """Whether the reader sees the document, which every form of the rights must answer alike."""
        reader = User.objects.get(pk=self.reader.pk)
        scope = scope_of(reader).limited_to(scope_of(limited_by or reader))
        expected = set(documents_askable(scope=scope, **narrower).values_list("pk", flat=True))  # type: ignore[arg-type]
        visible = visible_to(scope=scope, **narrower)  # type: ignore[arg-type]
        assert {row[0] for row in fetch(visible.sql, visible.params)} == expected
        assert {row[0] for row in fetch(visible.applied(DIRECTLY), visible.params)} == expected
        return self.document.pk in expected

    def finds(self) -> bool:
        """Whether a search of the reader finds it."""
        reader = User.objects.get(pk=self.reader.pk)
        found = retrieve(scope=scope_of(reader), request=RetrievalRequest(query="handover timer"))
        return any(candidate.document == self.document.pk for candidate in found.state.candidates)


@pytest.fixture
def world(owner: User) -> World:
    reader = make_user("reader", clearance=2)
    closed = make_set("closed", owners=[owner], visibility="members")
    make_set("open", owners=[owner])
    group = UserGroup.objects.create(tenant=reader.tenant, name="people")
    closed.member_groups.add(group)
    document = ingest(owner, closed, clearance=1, secret="The handover timer of the closed site is 40 ms.")["secret"]
    return World(reader, group, closed, document)


def narrowed(document: Document, *users: str) -> None:
    admin = User.objects.filter(is_superuser=True).first() or make_admin("root")
    document_readers_set(scope=scope_of(admin), actor=admin, document_id=document.pk, users=users, groups=[])


GIVEN: dict[str, tuple[Callable[[World], object], Callable[[World], object]]] = {
    "membership": (lambda w: w.closed.members.add(w.reader), lambda w: w.closed.members.remove(w.reader)),
    "ownership": (lambda w: w.closed.owners.add(w.reader), lambda w: w.closed.owners.remove(w.reader)),
    "group": (lambda w: w.reader.user_groups.add(w.group), lambda w: w.reader.user_groups.clear()),
    "visibility": (
        lambda w: KnowledgeSet.objects.filter(pk=w.closed.pk).update(visibility="everyone"),
        lambda w: KnowledgeSet.objects.filter(pk=w.closed.pk).update(visibility="members"),
    ),
}
TAKEN: dict[str, Callable[[World], object]] = {
    "the document's clearance": lambda w: Document.objects.filter(pk=w.document.pk).update(clearance=3),
    "the reader's clearance": lambda w: User.objects.filter(pk=w.reader.pk).update(clearance=0),
    "a list of other readers": lambda w: narrowed(w.document, make_user("another").username),
    "a list of nobody": lambda w: narrowed(w.document),
    "other readers as the source says": lambda w: Document.objects.filter(pk=w.document.pk).update(
        source_readers=source_readers_ensure(tenant_id=w.document.tenant_id, value="who is that?")
    ),
    "the document's set": lambda w: w.document.sets.clear(),
    "the document's deletion": lambda w: Document.objects.filter(pk=w.document.pk).update(deleted="2026-01-01T00:00Z"),
    "the set's deletion": lambda w: w.closed.delete(),
}


@pytest.mark.parametrize("right", GIVEN)
def test_a_right_given_or_taken_holds_with_the_next_search_without_any_new_epoch(world: World, right: str) -> None:
    give, take = GIVEN[right]
    epoch = epoch_now(tenant_id=world.reader.tenant_id)

    for _ in range(2):  # the second time all texts are kept already
        assert not world.seen()
        assert not world.finds()
        give(world)
        assert world.seen()
        assert world.finds()
        take(world)

    assert not world.seen()
    assert not world.finds()
    assert epoch_now(tenant_id=world.reader.tenant_id) == epoch


@pytest.mark.every_row
@pytest.mark.parametrize("change", TAKEN)
def test_what_is_taken_away_is_gone_with_the_next_search_without_any_new_epoch(world: World, change: str) -> None:
    world.closed.members.add(world.reader)
    assert world.seen()
    assert world.finds()

    TAKEN[change](world)

    assert not world.seen()
    assert not world.finds()


def test_sets_and_filters_narrow_it_as_they_narrow_the_selector(world: World) -> None:
    world.closed.members.add(world.reader)

    assert world.seen(sets=[world.closed.pk])
    assert not world.seen(sets=[world.closed.pk + 1000])
    assert world.seen(filters=Filters(axis=world.closed.axis))
    assert not world.seen(filters=Filters(tags=("absent",)))
    assert not world.seen(limited_by=make_user("stranger", clearance=0))


def test_the_rights_and_the_epoch_take_one_statement(
    world: World, django_assert_num_queries: Callable[..., object]
) -> None:
    scope = scope_of(world.reader)
    visible_to(scope=scope)

    with django_assert_num_queries(1, connection=connection):  # type: ignore[attr-defined]
        visible = visible_to(scope=scope)

    assert visible.epoch == epoch_now(tenant_id=scope.tenant_id)

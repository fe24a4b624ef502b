"""Documents that only some of those who may read their sets may read: lists narrow, and never widen."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.errors import NotAllowedError, NotFoundError
from accounts.models import AuditEvent, User, UserGroup
from knowledge.errors import UnknownPeopleError
from knowledge.indexes.statements import fetch
from knowledge.models import Document, KnowledgeSet, ReaderList
from knowledge.selectors import documents_askable, documents_kept, documents_readable
from knowledge.selectors.answer_space import answer_space, citations_askable
from knowledge.selectors.documents import search_bounds
from knowledge.selectors.readers import reader_lists, readers_of
from knowledge.selectors.visibility import visible_to
from knowledge.services.deletion import purge
from knowledge.services.reader_lists import reader_lists_purge, reader_names_resolve, source_readers_ensure
from knowledge.services.readers import document_readers_clear, document_readers_set
from tests.factories import ingest, make_admin, make_set, make_tenant, make_user, scope_of
from tests.forms_plugin import examples

TEXT = "The handover timer of the site is 40 ms."
Seen = dict[str, bool]


class House:
    """Three people and two groups who may read one set, its owner, and what each of them finds."""

    def __init__(self) -> None:
        self.owner = make_user("olga")
        self.people = {name: make_user(name) for name in ("ann", "ben", "cleo")}
        self.everyone = make_set("everyone", owners=[self.owner])
        self.groups = {}
        for name, members in {"red": ("ann", "ben"), "blue": ("ben",)}.items():
            self.groups[name] = UserGroup.objects.create(tenant=self.owner.tenant, name=name)
            self.groups[name].members.set([self.people[one] for one in members])
        self.document = ingest(self.owner, self.everyone, timer=TEXT)["timer"]

    def narrow(self, *users: str, groups: tuple[str, ...] = ()) -> None:
        document_readers_set(
            scope=scope_of(self.owner), actor=self.owner, document_id=self.document.pk, users=users, groups=groups
        )

    def say(self, value: object) -> ReaderList | None:
        """What a source says."""
        row = source_readers_ensure(tenant_id=self.owner.tenant_id, value=value)
        Document.objects.filter(pk=self.document.pk).update(source_readers=row)
        return row

    def askers(self) -> set[str]:
        """Who may be answered from it; every form of the rights says the same."""
        found = set()
        for name, person in {**self.people, "olga": self.owner}.items():
            scope = scope_of(person)
            visible = visible_to(scope=scope)
            by_search = bool(fetch(visible.sql, visible.params))
            assert by_search == documents_askable(scope=scope).exists(), name
            if by_search:
                found.add(name)
        return found

    def openers(self) -> set[str]:
        people = {**self.people, "olga": self.owner}
        return {name for name, one in people.items() if documents_readable(scope=scope_of(one)).exists()}


pytestmark = [pytest.mark.django_db, pytest.mark.starts_from(make=House)]


@pytest.fixture
def house(kept_rows) -> House:
    return kept_rows


def test_only_named_people_and_members_of_named_groups_find_and_open_it(house: House) -> None:
    assert house.askers() == {"ann", "ben", "cleo", "olga"}

    house.narrow("cleo", groups=("blue",))

    assert house.askers() == {"ben", "cleo"}
    assert house.openers() == {"ben", "cleo", "olga"}  # who keeps it opens it, but is not answered from it
    assert documents_kept(scope=scope_of(house.owner)).exists()


def test_leaving_a_group_ends_it_at_once(house: House) -> None:
    house.narrow(groups=("red",))
    assert house.askers() == {"ann", "ben"}

    house.people["ben"].user_groups.clear()

    assert house.askers() == {"ann"}
    house.groups["red"].delete()
    assert house.askers() == set()


def test_the_list_of_the_source_and_that_of_the_keepers_both_hold(house: House) -> None:
    house.say(["ann", "cleo"])
    assert house.askers() == {"ann", "cleo"}

    house.narrow("cleo", "ben")
    assert house.askers() == {"cleo"}

    document_readers_clear(scope=scope_of(house.owner), actor=house.owner, document_id=house.document.pk)
    assert house.askers() == {"ann", "cleo"}


@pytest.mark.parametrize(
    ("value", "askers", "unknown"),
    [
        (None, {"ann", "ben", "cleo", "olga"}, []),
        (" ", {"ann", "ben", "cleo", "olga"}, []),
        ("所有人", {"ann", "ben", "cleo", "olga"}, []),
        ([], set(), []),
        ("ann； blue，dora", {"ann", "ben"}, ["dora"]),
        (["group:ann"], set(), ["group:ann"]),
        (["user:ann", "group:red"], {"ann", "ben"}, []),
        ({"ann": 1}, set(), ['{"ann": 1}']),
        (7, set(), ["7"]),
        (["*", "ann"], {"ann"}, ["*"]),
    ],
)
def test_names_that_a_source_gives(house: House, value: object, askers: set[str], unknown: list[str]) -> None:
    row = house.say(value)

    assert house.askers() == askers
    assert (row.unknown if row else []) == unknown


def test_an_unknown_name_lets_somebody_in_once_there_is_such_a_person_of_the_tenant(house: House) -> None:
    house.say("dora")
    make_user("dora", tenant=make_tenant())
    assert reader_names_resolve() == 0
    User.objects.filter(username="dora").delete()

    house.people["dora"] = make_user("dora")
    assert "dora" not in house.askers()
    assert reader_names_resolve() == 1

    assert house.askers() == {"dora"}


def test_a_name_that_a_person_and_a_group_have_names_nobody_without_its_prefix(house: House) -> None:
    UserGroup.objects.create(tenant=house.owner.tenant, name="cleo")

    house.say("cleo")

    assert house.askers() == set()


def test_only_who_keeps_it_changes_and_learns_the_readers(house: House) -> None:
    ann = house.people["ann"]
    for act in (
        lambda: document_readers_set(
            scope=scope_of(ann), actor=ann, document_id=house.document.pk, users=["ann"], groups=[]
        ),
        lambda: document_readers_clear(scope=scope_of(ann), actor=ann, document_id=house.document.pk),
    ):
        with pytest.raises(NotAllowedError):
            act()
    house.narrow("ben")
    with pytest.raises(NotFoundError):
        act()

    make_user("far", tenant=make_tenant())
    with pytest.raises(UnknownPeopleError):
        house.narrow("far")
    assert readers_of(scope=scope_of(house.owner), document=Document.objects.get())[0].users == ("ben",)  # type: ignore[union-attr]
    events = AuditEvent.objects.filter(action="document.readers")
    assert [event.data["after"]["users"] for event in events] == [["ben"]]


def test_who_keeps_one_of_its_sets_only_does_not_open_it(house: House) -> None:
    other = make_user("other")
    house.document.sets.add(make_set("second", owners=[other]))
    assert documents_readable(scope=scope_of(other)).exists()

    admin = make_admin("root")
    document_readers_set(scope=scope_of(admin), actor=admin, document_id=house.document.pk, users=["ann"], groups=[])

    assert not documents_readable(scope=scope_of(other)).exists()
    assert house.openers() == {"ann"}  # not the owner of the first set either: each keeps only a part
    assert documents_readable(scope=scope_of(admin)).exists()


def test_cached_answers_are_shared_only_by_those_whom_the_same_lists_name(house: House) -> None:
    chunk = house.document.live_version.chunks.get()  # type: ignore[union-attr]
    cited = [(chunk.pk, chunk.version_id, house.document.pk)]
    ann, ben, cleo = (scope_of(house.people[name]) for name in ("ann", "ben", "cleo"))
    assert answer_space(scope=ann).lists is None
    assert search_bounds(scope=ann).is_exact

    house.narrow(groups=("red",))

    assert answer_space(scope=ann).lists == answer_space(scope=ben).lists != answer_space(scope=cleo).lists
    assert [citations_askable(scope=one, cited=cited) for one in (ann, ben, cleo)] == [True, True, False]
    assert not search_bounds(scope=ann).is_exact


def test_a_tenant_without_lists_searches_with_the_same_statements_as_before(house: House) -> None:
    scope = scope_of(house.people["ann"])
    assert reader_lists(scope=scope) is None
    assert "readers" not in visible_to(scope=scope).sql

    far = make_tenant()
    source_readers_ensure(tenant_id=far.pk, value="ann")

    assert "readers" not in visible_to(scope=scope).sql


NAMES = ["ann", "ben", "cleo", "red", "blue", "nobody"]


@settings(max_examples=examples(8), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(said=st.none() | st.lists(st.sampled_from(NAMES)), own=st.none() | st.lists(st.sampled_from(NAMES[:3])))
def test_lists_never_widen_and_give_their_intersection(
    house: House, said: list[str] | None, own: list[str] | None
) -> None:
    groups = {"red": {"ann", "ben"}, "blue": {"ben"}}
    document_readers_clear(scope=scope_of(house.owner), actor=house.owner, document_id=house.document.pk)
    before = {"ann", "ben", "cleo", "olga"}

    house.say(said)
    if own is not None:
        house.narrow(*own)

    by_source = before if said is None else set().union(*(groups.get(one, {one}) for one in said))
    by_keepers = before if own is None else set(own)
    assert house.askers() == before & by_source & by_keepers


def test_sets_and_clearance_still_hold_for_named_readers(house: House) -> None:
    house.narrow("ann", "ben")
    User.objects.filter(username="ann").update(clearance=0)
    Document.objects.update(clearance=1)
    house.people["ann"].refresh_from_db()
    assert house.askers() == {"ben"}

    KnowledgeSet.objects.update(visibility="members")

    assert house.askers() == set()


@pytest.mark.full
def test_lists_that_no_document_refers_to_are_purged_and_searches_cost_what_they_did_without(house: House) -> None:
    assert {
        one.field.name
        for one in ReaderList._meta.get_fields(include_hidden=True)
        if one.auto_created and not one.concrete
    } == {"readers", "source_readers"}
    house.narrow("cleo")
    house.narrow("ben", groups=("red",))
    used = house.say(["ann", "ben"])
    house.say("nobody at all")
    house.say(["ann", "ben"])
    assert (ReaderList.objects.count(), purge(days=30, dry_run=True).reader_lists) == (4, 0)

    assert purge(days=30).reader_lists == 2
    assert {used, Document.objects.get().readers} == set(ReaderList.objects.all())
    assert house.askers() == {"ann", "ben"}

    Document.objects.update(readers=None, source_readers=None)
    assert (reader_lists_purge(), reader_lists_purge()) == (2, 0)
    assert reader_lists(scope=scope_of(house.owner)) is None


@pytest.mark.django_db(transaction=True)
def test_a_list_that_somebody_is_about_to_use_is_not_purged_under_their_hands() -> None:
    house = House()
    source_readers_ensure(tenant_id=house.owner.tenant_id, value="ann")
    with transaction.atomic():
        row = source_readers_ensure(tenant_id=house.owner.tenant_id, value="ann")
        assert in_another_connection(reader_lists_purge) == 0
        Document.objects.update(source_readers=row)

    assert in_another_connection(reader_lists_purge) == 0
    assert house.askers() == {"ann"}


def in_another_connection(act: Callable[[], int]) -> int:
    def run() -> int:
        try:
            return act()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result(30)

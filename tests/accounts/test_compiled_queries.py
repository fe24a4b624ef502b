"""A compiled query gives what its query set gives, for any values, in any thread, and composes nothing again."""

import threading
import uuid
from datetime import UTC, datetime

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection, connections
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from accounts.compiled_queries import CompiledQuery
from accounts.models import ApiKey, Tenant, User
from accounts.selectors import api_key_get, key_digest, scope_for

pytestmark = pytest.mark.django_db


@pytest.fixture
def people(db):
    tenants = [Tenant.objects.create(name=name) for name in ("north", "south")]
    return [
        User.objects.create_user(
            f"{tenant.name}-{number}", tenant=tenant, clearance=number, interests=["radio", "无线"]
        )
        for tenant in tenants
        for number in range(3)
    ]


def test_values_flat_values_and_instances_are_those_of_the_query_set(people):
    def of(tenant, clearance):
        rows = User.objects.select_related("tenant").filter(tenant_id=tenant, clearance__lt=clearance)
        return rows.order_by("-username")

    whole = CompiledQuery(of, tenant=int, clearance=int)
    rows = CompiledQuery(
        lambda **v: of(**v).values_list("username", "interests", "clearance"), tenant=int, clearance=int
    )
    flat = CompiledQuery(lambda **v: of(**v).values_list("tenant__name", flat=True)[:2], tenant=int, clearance=int)

    for tenant in Tenant.objects.all():
        for clearance in (0, 1, 3):
            values = {"tenant": tenant.pk, "clearance": clearance}
            assert whole(**values) == list(of(**values))
            assert rows(**values) == list(of(**values).values_list("username", "interests", "clearance"))
            assert flat(**values) == list(of(**values).values_list("tenant__name", flat=True)[:2])


def test_an_instance_comes_with_what_was_selected_beside_it(people):
    one = CompiledQuery(lambda name: User.objects.select_related("tenant").filter(username=name)[:1], name=str)

    found = one.first(name="south-1")

    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert (found.tenant.name, found.interests) == ("south", ["radio", "无线"])
    assert len(captured) == 0
    assert one.first(name="nobody") is None
    found.clearance = 2
    found.save()
    assert User.objects.get(username="south-1").clearance == 2


def test_a_value_may_be_a_date_or_look_like_sql(people):
    since = CompiledQuery(
        lambda day: User.objects.filter(date_joined__gte=day).values_list("pk", flat=True), day=datetime
    )
    named = CompiledQuery(lambda name: User.objects.filter(username=name).values_list("pk", flat=True), name=str)

    assert len(since(day=datetime(2001, 1, 1, tzinfo=UTC))) == User.objects.count()
    assert since(day=datetime(2101, 1, 1, tzinfo=UTC)) == []
    assert named(name="x' OR '1'='1") == []


@pytest.mark.parametrize(
    ("build", "kinds"),
    [
        (lambda person: User.objects.all(), {"person": int}),
        (lambda person: User.objects.filter(clearance=F("clearance") + person).values("pk"), {"person": int}),
        (lambda person: User.objects.filter(username=str(person)), {"person": uuid.UUID}),
    ],
)
def test_what_cannot_be_left_open_is_refused_with_the_first_use(build, kinds):
    with pytest.raises(ImproperlyConfigured):
        CompiledQuery(build, **kinds)(person=1)


@pytest.mark.django_db(transaction=True)
def test_each_thread_asks_by_its_own_connection(people):
    named = CompiledQuery(lambda name: User.objects.filter(username=name).values_list("clearance", flat=True), name=str)
    found = {}

    def ask(name):
        found[name] = named(name=name)
        connections.close_all()

    threads = [threading.Thread(target=ask, args=(f"north-{number}",)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == {"north-0": [0], "north-1": [1], "north-2": [2]}


def test_a_group_that_was_given_or_taken_is_in_the_next_scope(people):
    person = people[0]
    group = person.tenant.user_groups.create(name="readers")

    before = scope_for(person).group_ids
    person.user_groups.add(group)
    given = scope_for(person).group_ids
    person.user_groups.clear()

    assert (before, given, scope_for(person).group_ids) == (frozenset(), {group.pk}, frozenset())


def test_a_key_that_was_revoked_is_not_found_again(people):
    key = ApiKey.objects.create(user=people[0], name="one", digest=key_digest("secret"))

    found = api_key_get("secret")
    key.revoked = datetime(2026, 1, 1, tzinfo=UTC)
    key.save()

    assert (found, found.user.tenant) == (key, people[0].tenant)
    with pytest.raises(Exception, match="key|signed|认证|authenticat"):
        api_key_get("secret")

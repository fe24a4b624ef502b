"""Places in the queues of ingestion, shared among the tenants that have work."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import Tenant
from knowledge.models import IngestItem, IngestJob, QueueTurn
from knowledge.services import documents_bulk, ingestion_advance
from knowledge.services.ingestion.shares import job_in_turn
from knowledge.services.open_items import items_free
from tests.factories import make_set, make_tenant, make_user, scope_of
from tests.forms_plugin import is_full

pytestmark = pytest.mark.django_db

QUEUE = "ingest"
EXAMPLES = 15 if is_full() else 4


def load(tenant: Tenant, documents: int) -> int:
    """A job of small texts, of which nothing is read yet."""
    owner = make_user(tenant=tenant)
    home = make_set(owners=[owner], tenant=tenant)
    rows = [
        {"external_id": f"{home.code} {n}", "text": f"Text {n}.", "title": str(n), "sets": [home.pk]}
        for n in range(documents)
    ]
    done = documents_bulk(scope=scope_of(owner), actor=owner, lines=[json.dumps(row).encode() for row in rows])
    assert not done.rejected
    return done.job_id


def share(tenant: Tenant, value: int | None) -> None:
    Tenant.objects.filter(pk=tenant.pk).update(queue_share=value)


def served(*, called_for: list[int], times: int) -> Counter[int]:
    """Which jobs get so many places, whose workers are called for the jobs in turn."""
    return Counter(job_in_turn(job_id=called_for[n % len(called_for)], queue=QUEUE) for n in range(times))


def test_without_shares_each_worker_goes_to_the_job_it_was_called_for() -> None:
    first, second = load(make_tenant(), 1), load(make_tenant(), 1)

    assert served(called_for=[first, first, second], times=9) == {first: 6, second: 3}
    assert not QueueTurn.objects.exists()


def test_a_share_of_one_next_to_three_is_a_quarter_whoever_calls_more_often_and_all_of_it_alone() -> None:
    small, large = make_tenant(), make_tenant()
    few, many = load(small, 2), load(large, 2)
    share(small, 1)
    share(large, 3)

    assert served(called_for=[few, few, few, many], times=40) == {few: 10, many: 30}
    IngestItem.objects.filter(job=many).update(finished=timezone.now())
    assert served(called_for=[few], times=10) == {few: 10}
    IngestItem.objects.filter(job=many).update(finished=None)
    # who was idle gets no credit, and who was alone owes nothing
    assert served(called_for=[few, many], times=40)[few] in range(9, 12)


@settings(
    max_examples=15 if is_full() else 4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(shares=st.lists(st.integers(1, 5), min_size=2, max_size=3), seed=st.integers(0, 2))
def test_while_all_have_work_each_gets_its_share_within_one_turn(shares: list[int], seed: int) -> None:
    IngestJob.objects.all().delete()
    QueueTurn.objects.all().delete()
    tenants = [make_tenant() for _ in shares]
    jobs = [load(tenant, 1) for tenant in tenants]
    for tenant, value in zip(tenants, shares, strict=True):
        share(tenant, value)
    turns = 12 * sum(shares)

    found = served(called_for=[jobs[seed % len(jobs)]], times=turns)

    for job, value in zip(jobs, shares, strict=True):
        assert abs(found[job] - turns * value / sum(shares)) <= 1
    Tenant.objects.update(queue_share=None)


def test_a_tenant_without_a_share_is_hardly_held_back_by_one_with_a_share() -> None:
    small, free = make_tenant(), make_tenant()
    share(small, 1)
    few, many = load(small, 1), load(free, 1)

    assert served(called_for=[few], times=101)[many] >= 99


@pytest.mark.full
def test_paused_and_cancelled_jobs_get_no_place_and_everything_is_read_in_the_end() -> None:
    small, large = make_tenant(), make_tenant()
    share(small, 1)
    share(large, 3)
    few, many = load(small, 2), load(large, 2)
    IngestJob.objects.filter(pk=many).update(paused=timezone.now())
    assert served(called_for=[few, many], times=4)[few] == 4
    IngestJob.objects.filter(pk=many).update(paused=None)

    for _ in range(20):
        for job in (few, many):
            ingestion_advance(job_id=job)

    assert not IngestItem.objects.filter(items_free(timezone.now())).exists()
    assert IngestItem.objects.filter(stage="live").count() == 4

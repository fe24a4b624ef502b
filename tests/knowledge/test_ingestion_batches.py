"""How much of a job a worker takes at a time."""

import pytest

from knowledge.models import IngestJob
from knowledge.services.documents import job_start
from knowledge.services.ingestion import item_state
from knowledge.services.ingestion.item_state import items_claim
from knowledge.services.registration import Arrival, source_ensure
from knowledge.services.registration_batch import Addressed, documents_register
from tests.factories import scope_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def job(owner, common):
    """A job of 100 small documents."""
    source = source_ensure(tenant_id=owner.tenant_id, name="uploads")
    arrivals = [
        Addressed(
            arrival=Arrival(name="a.txt", content=f"Beam {n}.".encode(), sets=[common], external_id=str(n)),
            source=source,
        )
        for n in range(100)
    ]
    done = documents_register(scope=scope_of(owner), actor=owner, arrivals=arrivals)
    return job_start(
        tenant_id=owner.tenant_id, actor=owner, versions=[one.version for one in done], kind=IngestJob.Kind.BULK
    )


def batches(job):
    sizes = []
    while claimed := items_claim(job_id=job.pk):
        sizes.append(len(claimed))
    return sizes


def test_batches_become_smaller_towards_the_end_so_that_workers_end_together(job):
    sizes = batches(job)

    assert sum(sizes) == 100
    assert sizes[0] == 25, "a quarter of what is left"
    assert sizes == sorted(sizes, reverse=True)
    assert all(size == item_state.SMALLEST_BATCH for size in sizes[-4:-1])


def test_no_batch_is_larger_than_its_queue_allows(job, monkeypatch):
    monkeypatch.setitem(item_state.BATCH_ITEMS, item_state.Queue.INGEST, 10)

    assert batches(job)[:5] == [10, 10, 10, 10, 10]

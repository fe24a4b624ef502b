"""Document sides for a new average, in batches between which people publish."""

from __future__ import annotations

import pytest

from knowledge.indexes.lexical import document_side
from knowledge.indexes.lexical_statistics import (
    DRIFT,
    drifted_statistics,
    effective_length,
    reweigh_begin,
    reweigh_step,
    reweighing_due,
)
from knowledge.models import IndexEntry, LexicalStatistics
from knowledge.services import maintenance
from knowledge.services.maintenance import index_check
from tests.factories import ingest, make_admin, make_set, reweighed

pytestmark = pytest.mark.django_db

LONG = "beta gamma delta epsilon zeta eta theta iota kappa lambda " * 12


@pytest.fixture
def owner():
    return make_admin()


@pytest.fixture
def common(owner):
    return make_set("common", owners=[owner])


@pytest.fixture
def drifted(owner, common):
    """Statistics whose reference is that of the first short text."""
    ingest(owner, common, a="alpha beta")
    texts = {f"d{n}": f"alpha {n} {LONG}" for n in range(6)}
    ingest(owner, common, **texts)
    LexicalStatistics.objects.update(former_reference=None)
    return LexicalStatistics.objects.get()


def sides_are_right(reference):
    """Every entry has the weights that it would get if it were stored with this reference now."""
    for entry in IndexEntry.objects.all():
        length = effective_length(entry.representation, entry.length, reference)
        weights = sorted(entry.bm25.values())
        low = document_side({1: 1}, length=length, average_length=reference)[1]
        if weights[0] != pytest.approx(low, rel=1e-3):
            return False
    return True


def test_batches_give_what_one_pass_gives(drifted):
    average = drifted.total_length / drifted.entries

    batches = reweighed(drifted, limit=2)

    drifted.refresh_from_db()
    assert batches > 3
    assert drifted.reference_length == pytest.approx(average)
    assert drifted.former_reference is None
    assert sides_are_right(average)


def test_an_interrupted_run_goes_on_where_it_was(drifted):
    which = {"tenant_id": drifted.tenant_id, "language": drifted.language}
    reweigh_begin(**which)
    assert not reweigh_step(**which, limit=3).is_over
    assert reweighing_due() == [(drifted.tenant_id, drifted.language)]

    reweigh_begin(**which)  # another worker, later
    while not reweigh_step(**which, limit=3).is_over:
        pass

    drifted.refresh_from_db()
    assert sides_are_right(drifted.reference_length)
    assert reweighing_due() == []


def test_what_is_published_meanwhile_has_the_new_reference_and_is_left_alone(drifted, owner, common):
    which = {"tenant_id": drifted.tenant_id, "language": drifted.language}
    reweigh_begin(**which)
    reweigh_step(**which, limit=2)

    ingest(owner, common, late=f"alpha late {LONG}")
    late = IndexEntry.objects.order_by("-pk").first()
    before = late.bm25.values()
    while not reweigh_step(**which, limit=2).is_over:
        pass

    late.refresh_from_db()
    drifted.refresh_from_db()
    assert late.bm25.values() == before
    assert sides_are_right(drifted.reference_length)
    assert index_check() == []


def test_a_step_without_a_beginning_changes_nothing(drifted):
    before = [entry.bm25.values() for entry in IndexEntry.objects.order_by("pk")]

    step = reweigh_step(tenant_id=drifted.tenant_id, language=drifted.language, limit=10)

    assert (step.changed, step.is_over) == (0, True)
    assert [entry.bm25.values() for entry in IndexEntry.objects.order_by("pk")] == before


def test_the_task_works_off_what_has_drifted(drifted):
    assert drifted_statistics() == [(drifted.tenant_id, drifted.language)]

    done = maintenance.indexes_refresh()

    drifted.refresh_from_db()
    assert done.reweighed == IndexEntry.objects.count()
    assert drifted_statistics() == []
    assert abs(drifted.reference_length / (drifted.total_length / drifted.entries) - 1) < DRIFT

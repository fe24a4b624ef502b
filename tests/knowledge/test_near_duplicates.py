"""Documents that say nearly the same are reported, never dropped."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.errors import NotFoundError
from knowledge.models import Document, DocumentVersion, DuplicatePair, IngestItem, SketchBand
from knowledge.selectors.comparisons import pairs_of
from knowledge.services import versions_compare
from knowledge.services.documents import document_delete
from knowledge.services.near_duplicates import duplicates_record, pair_keep
from tests.factories import ingest, make_set, make_user, run_job, scope_of
from tests.knowledge.uploads import upload

pytestmark = pytest.mark.django_db(transaction=True)

SUBJECTS = ("scheduler", "antenna", "power supply", "paging cycle", "handover", "carrier", "beam", "timer", "alarm")


def report(number, *, changed=""):
    """A text of some length; different numbers share hardly a phrase."""
    lines = [
        f"Point {number * 100 + n}: the {s} of unit {number} was checked {n} times." for n, s in enumerate(SUBJECTS)
    ]
    return "\n\n".join([*lines, changed])


@pytest.fixture
def owner():
    return make_user()


def pairs(owner, **narrowed):
    """What the owner is shown once the background task has compared all that went live."""
    versions_compare()
    return [(p.kind, {p.first.external_id, p.second.external_id}) for p in pairs_of(scope=scope_of(owner), **narrowed)]


def test_the_same_text_under_two_names_and_nearly_the_same_text_are_reported(owner):
    kept = make_set(owners=[owner])

    ingest(owner, kept, a=report(1), b=report(1), c=report(1, changed="One sentence more."), d=report(7))

    found = pairs(owner)
    assert ("exact", {"a", "b"}) in found
    assert any(kind == "near" and "c" in names for kind, names in found)
    assert all("d" not in names for _, names in found)
    assert Document.objects.filter(state="live").count() == 4


def test_a_pair_goes_when_one_of_both_changes_or_is_deleted(owner):
    kept = make_set(owners=[owner])
    ingest(owner, kept, a=report(1), b=report(1), c=report(1))

    ingest(owner, kept, b=report(5))
    assert pairs(owner) == [("exact", {"a", "c"})]
    document_delete(scope=scope_of(owner), actor=owner, document_id=Document.objects.get(external_id="c").pk)

    assert pairs(owner) == []


def test_comparing_twice_finds_nothing_new(owner):
    documents = ingest(owner, make_set(owners=[owner]), a=report(1), b=report(1))
    versions_compare()
    versions = [Document.objects.get(pk=d.pk).live_version_id for d in documents.values()]

    again = duplicates_record(tenant_id=owner.tenant_id, version_ids=versions)

    assert again == 0
    assert DuplicatePair.objects.count() == 1
    assert SketchBand.objects.values("version").distinct().count() == 2


def test_a_kept_pair_is_not_reported_again(owner):
    kept = make_set(owners=[owner])
    documents = ingest(owner, kept, a=report(1), b=report(1))
    versions_compare()
    pair = pairs_of(scope=scope_of(owner)).get()

    pair_keep(scope=scope_of(owner), actor=owner, pair_id=pair.pk)
    ingest(owner, kept, b=report(1, changed="With an addition."))

    assert pairs(owner) == []
    assert documents["a"].pk in (pair.first_id, pair.second_id)


def test_a_pair_with_a_document_that_the_owner_may_not_see_does_not_exist(owner):
    colleague = make_user()
    ingest(owner, make_set(owners=[owner]), a=report(1))
    hidden = upload(
        colleague, make_set(owners=[colleague], visibility="members"), name="b.txt", content=report(1).encode()
    )
    run_job(hidden.job.pk)
    versions_compare()

    assert DuplicatePair.objects.count() == 1
    assert pairs(owner) == []
    with pytest.raises(NotFoundError):
        pair_keep(scope=scope_of(owner), actor=owner, pair_id=DuplicatePair.objects.get().pk)


def test_the_report_of_one_set_has_its_own_pairs_only(owner):
    first, second = make_set(owners=[owner]), make_set(owners=[owner])
    ingest(owner, first, a=report(1), b=report(1))
    ingest(owner, second, c=report(3), d=report(3))

    assert pairs(owner, set_id=first.pk) == [("exact", {"a", "b"})]


def test_texts_without_letters_do_not_keep_the_comparison_busy(owner, monkeypatch):
    monkeypatch.setattr("knowledge.services.near_duplicates.BATCH", 2)
    sent = []
    monkeypatch.setattr("knowledge.queue._send", lambda name, *_: sent.append(name))
    kept = make_set(owners=[owner])
    ingest(owner, kept, x="…", y="— —", z="***", a=report(1), b=report(1))
    sent.clear()

    assert pairs(owner) == [("exact", {"a", "b"})]
    assert (versions_compare(), len(sent)) == (0, 1)


def test_of_many_that_share_a_phrase_only_the_most_alike_are_compared(owner, monkeypatch):
    monkeypatch.setattr("knowledge.services.near_duplicates.CANDIDATES", 1)
    kept = make_set(owners=[owner])
    ingest(owner, kept, far=report(1, changed="Other words follow here. " * 6), near=report(1, changed="One word."))

    ingest(owner, kept, mine=report(1, changed="One word more."))

    assert ("near", {"near", "mine"}) in pairs(owner)
    assert ("near", {"far", "mine"}) not in pairs(owner)


def test_comparing_waits_while_documents_are_being_ingested_but_not_for_ever(owner):
    kept = make_set(owners=[owner])
    ingest(owner, kept, a=report(1), b=report(1))
    held = upload(owner, kept).job.items.get()
    IngestItem.objects.filter(pk=held.pk).update(lease_until=timezone.now() + timedelta(minutes=1))

    assert versions_compare() == 0
    DocumentVersion.objects.update(live_since=timezone.now() - timedelta(hours=1))

    assert versions_compare() == 2
    assert DuplicatePair.objects.count() == 1

"""`manage.py reindex --backend …`: there, and back."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from knowledge.backends.errors import BackendUnavailableError
from knowledge.backends.milvus import collection as milvus_rows
from knowledge.indexes.backend_outbox import outbox_is_watching
from knowledge.models import BackendChange, Document, IndexEntry, TenantBackend
from knowledge.services import backend_changes_apply, backend_sync, document_delete, retrieve
from knowledge.services.backend_sync import backend_check
from knowledge.types import RetrievalRequest
from tests.factories import ingest, make_admin, make_set, make_tenant, scope_of
from tests.knowledge.backends.conftest import copy_all, watch
from tests.knowledge.owned_rows import owned


def corpus_make(owner, common):
    return ingest(owner, common, **{f"d{n}": f"alpha number{n} beta" for n in range(6)})


pytestmark = [pytest.mark.django_db, pytest.mark.starts_from(make=owned(corpus_make))]


@pytest.fixture
def corpus(kept_rows):
    watch()
    return kept_rows[2]


def said(capsys, *arguments):
    call_command("reindex", *arguments)
    return capsys.readouterr().out


def stored(collection, tenant_id):
    return milvus_rows.ids_between(collection, tenant_id=tenant_id, after=0, last=10**9)


def searched_in(user):
    done = retrieve(scope=scope_of(user), request=RetrievalRequest(query="alpha number3", rerank=False))
    note = next(record.note for record in done.state.records if record.stage == "search.coarse")
    return note.get("backend"), [c.passage.external_id for c in done.state.candidates][:1]


def test_a_tenant_is_copied_then_searched_there(milvus, owner, corpus, capsys):
    assert searched_in(owner) == (None, ["d3"])

    out = said(capsys, "--backend", "milvus")

    assert "6 entries are searched in Milvus." in out
    assert stored(milvus, owner.tenant_id) == set(IndexEntry.objects.values_list("pk", flat=True))
    assert searched_in(owner) == ("milvus", ["d3"])
    assert "6 entries in PostgreSQL, 6 in Milvus; 0 of 6 differ" in said(capsys, "--backend", "milvus", "--check")


def test_one_tenant_may_move_and_the_others_stay(milvus, owner, corpus, capsys):
    stranger = make_admin(tenant=make_tenant("other house"))
    ingest(stranger, make_set(owners=[stranger]), theirs="alpha of others")

    said(capsys, "--backend", "milvus", "--tenant", "other house")

    assert searched_in(stranger) == ("milvus", ["theirs"])
    assert searched_in(owner) == (None, ["d3"])


def test_an_interrupted_copy_goes_on_where_it_was(milvus, owner, corpus, monkeypatch, capsys):
    monkeypatch.setattr(backend_sync, "PAGE", 2)
    steps = backend_sync.backend_copy(tenant=owner.tenant)
    first = next(steps)
    steps.close()  # killed
    assert (first.done, first.is_ready) == (2, False)
    assert searched_in(owner) == (None, ["d3"])
    written = []
    monkeypatch.setattr(
        backend_sync,
        "entries_upsert",
        lambda _, page: written.extend(page) or milvus_rows.entries_upsert(_, page),
    )

    said(capsys, "--backend", "milvus")

    assert len(written) == 4
    assert len(stored(milvus, owner.tenant_id)) == 6


def test_another_collection_is_not_searched_before_it_is_full(milvus, owner, corpus, settings):
    TenantBackend.objects.create(tenant=owner.tenant, collection="former", ready=timezone.now(), after=10**9)

    first = next(iter(backend_sync.backend_copy(tenant=owner.tenant)))

    assert not first.is_ready
    assert searched_in(owner) == (None, ["d3"])


def test_what_changes_during_the_copy_is_there_when_it_is_searched(milvus, owner, common, corpus, monkeypatch):
    monkeypatch.setattr(backend_sync, "PAGE", 2)
    for step in backend_sync.backend_copy(tenant=owner.tenant):
        if step.done == 4 and not step.is_ready:
            document_delete(scope=scope_of(owner), actor=owner, document_id=corpus["d0"].pk)
            ingest(owner, common, late="alpha latecomer")

    live = IndexEntry.objects.exclude(version__document=corpus["d0"])
    assert stored(milvus, owner.tenant_id) == set(live.values_list("pk", flat=True))
    assert TenantBackend.objects.get().ready is not None
    assert BackendChange.objects.count() == 0


def test_what_an_earlier_copy_has_left_is_removed(milvus, owner, corpus, capsys):
    copy_all()
    document_delete(scope=scope_of(owner), actor=owner, document_id=corpus["d0"].pk)
    BackendChange.objects.all().delete()  # lost with an old backup

    copy_all()

    assert len(stored(milvus, owner.tenant_id)) == 5


def test_a_check_says_what_is_wrong_and_ends_with_a_fault(milvus, owner, corpus, capsys):
    copy_all()
    milvus_rows.entries_delete(milvus, sorted(stored(milvus, owner.tenant_id))[:2])
    Document.objects.filter(pk=corpus["d5"].pk).update(clearance=3)
    BackendChange.objects.all().delete()

    with pytest.raises(CommandError, match="does not say"):
        call_command("reindex", "--backend", "milvus", "--check")

    found = backend_check(tenant=owner.tenant)
    assert (found.in_postgres, found.in_backend, found.different) == (6, 4, 3)
    said(capsys, "--backend", "milvus", "--set", "common")  # repairs it
    assert backend_check(tenant=owner.tenant).is_fine


def test_differences_are_no_fault_while_changes_wait(milvus, owner, corpus):
    copy_all()
    document_delete(scope=scope_of(owner), actor=owner, document_id=corpus["d0"].pk)

    found = backend_check(tenant=owner.tenant)
    assert (found.waiting, found.refused, found.in_backend, found.is_fine) == (1, 0, 6, True)
    backend_changes_apply()
    assert backend_check(tenant=owner.tenant).in_backend == 5


def test_going_back_needs_nothing_of_milvus(milvus, owner, corpus, settings, capsys):
    copy_all()
    settings.MILVUS_URI = "http://127.0.0.1:9"

    out = said(capsys, "--backend", "postgres")

    assert out.startswith("1 tenants")
    assert searched_in(owner) == (None, ["d3"])
    assert not outbox_is_watching()
    assert not BackendChange.objects.exists()


def test_a_dead_milvus_ends_the_copy_with_words_and_switches_nothing(milvus, owner, corpus, settings):
    settings.MILVUS_URI = "http://127.0.0.1:9"

    with pytest.raises(CommandError, match="does not answer"):
        call_command("reindex", "--backend", "milvus")

    assert searched_in(owner) == (None, ["d3"])


def test_only_one_process_writes_at_a_time(milvus, owner, corpus, monkeypatch):
    from contextlib import nullcontext

    monkeypatch.setattr(backend_sync, "backend_try_lock", lambda: nullcontext(False))

    with pytest.raises(CommandError, match="Another process"):
        call_command("reindex", "--backend", "milvus")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--check"], "go with --backend milvus"),
        (["--backend", "postgres", "--tenant", "x"], "go with --backend milvus"),
        (["--backend", "milvus"], "SEARCH_BACKEND=milvus"),
        (["--backend", "milvus", "--tenant", "nobody"], "no tenant 'nobody'"),
        (["--backend", "milvus", "--set", "nothing"], "no set 'nothing'"),
    ],
)
def test_what_cannot_be_done_is_said(owner, arguments, words):
    with pytest.raises(CommandError, match=words):
        call_command("reindex", *arguments)


def test_a_write_that_fails_in_the_middle_leaves_the_old_state_searched(milvus, owner, corpus, monkeypatch):
    copy_all()

    def down(*_):
        raise BackendUnavailableError

    monkeypatch.setattr(backend_sync, "entries_upsert", down)
    with pytest.raises(BackendUnavailableError):
        list(backend_sync.backend_copy(tenant=owner.tenant))

    assert searched_in(owner) == ("milvus", ["d3"])


@pytest.mark.full
def test_entries_of_deleted_documents_that_stayed_in_the_backend_are_found_and_removed(milvus, owner, corpus, capsys):
    """Nobody has told the backend of the deletion: its news were lost."""
    copy_all()
    document_delete(scope=scope_of(owner), actor=owner, document_id=corpus["d3"].pk)
    Document.objects.filter(pk=corpus["d3"].pk).update(deleted=timezone.now() - timedelta(days=31))
    BackendChange.objects.all().delete()
    entries = set(IndexEntry.objects.filter(version__document=corpus["d3"]).values_list("pk", flat=True))
    assert entries
    assert entries <= stored(milvus, owner.tenant_id)

    with pytest.raises(SystemExit):
        call_command("check_deletions", "--days", "30")
    assert f"{len(entries)} entries of the other search backend" in capsys.readouterr().out
    call_command("check_deletions", "--days", "30", "--repair")

    assert "Left: 0 documents, 0 index entries, 0 files, 0 entries of the other" in capsys.readouterr().out
    assert stored(milvus, owner.tenant_id) == set(IndexEntry.objects.values_list("pk", flat=True))
    assert not Document.objects.filter(pk=corpus["d3"].pk).exists()

"""The database between two tests that commit."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission
from django.db import connection, transaction

from accounts.models import User
from knowledge.indexes.corpus_epoch import epoch_advance, epoch_now
from knowledge.models import Document, IndexEntry, KnowledgeSet
from knowledge.services import document_delete
from tests.database import database
from tests.factories import ingest, make_set, make_user, scope_of

made, epochs = [], []


def owner_with_a_set():
    owner = make_user("owner of shared rows")
    made.append(make_set("shared", owners=[owner]))
    return owner


@pytest.fixture
def owner(shared_rows):
    return shared_rows(owner_with_a_set)


def test_what_a_test_committed_is_removed_and_what_migrations_left_stays(transactional_db):
    make_set("mine", owners=[make_user()])

    database.restore()

    assert not KnowledgeSet.objects.exists()
    assert not User.objects.exists()
    assert database.marks() == database.migrated.marks


def test_permissions_that_a_test_removed_are_there_again(transactional_db):
    before = Permission.objects.count()
    Permission.objects.all().delete()

    database.restore()

    assert Permission.objects.count() == before > 0


def test_shared_rows_are_made_once_and_objects_are_copies(owner):
    before = len(made)
    other = database.share(owner_with_a_set)

    other.username = "changed in memory only"

    assert len(made) == before
    assert owner.pk == other.pk
    assert owner.username == "owner of shared rows"


def test_a_row_outside_the_corpus_is_put_back(owner):
    before = len(made)
    User.objects.filter(pk=owner.pk).update(username="somebody else")
    make_user("one more")

    database.restore()

    assert list(User.objects.values_list("pk", "username")) == [(owner.pk, "owner of shared rows")]
    assert database.share(owner_with_a_set).pk == owner.pk
    assert len(made) == before


def owner_with_an_epoch():
    owner = owner_with_a_set()
    epoch_advance(tenant_id=owner.tenant_id)
    return owner


@pytest.fixture
def owner_of_epoch(shared_rows):
    return shared_rows(owner_with_an_epoch)


def test_a_changed_corpus_is_put_back_and_no_test_sees_the_epoch_of_another(owner_of_epoch):
    before, tenant_id = len(made), owner_of_epoch.tenant_id
    seen = [epoch_now(tenant_id=tenant_id)]
    for advances in (0, 1, 2, 0):
        KnowledgeSet.objects.update(name="another name")
        for _ in range(advances):
            epoch_advance(tenant_id=tenant_id)
            seen.append(epoch_now(tenant_id=tenant_id))

        database.restore()

        seen.append(epoch_now(tenant_id=tenant_id))
        assert KnowledgeSet.objects.get().name == "shared"
    assert len(set(seen)) == len(seen)
    assert database.share(owner_with_an_epoch).pk == owner_of_epoch.pk
    assert len(made) == before


def test_the_vectors_of_a_shared_corpus_are_found_again_and_no_others(shared_rows):
    owner, knowledge_set, documents = shared_rows(corpus_of_two)
    ingest(owner, knowledge_set, third="A third text about antennas.")
    document_delete(scope=scope_of(owner), actor=owner, document_id=documents["first"].pk)

    database.restore()

    assert indexed_by_vector() == {document.live_version_id for document in documents.values()}
    assert set(Document.objects.filter(deleted=None)) == set(documents.values())


def indexed_by_vector():
    """Versions whose entries a walk through the HNSW index meets."""
    nearest = "SELECT version_id FROM knowledge_indexentry ORDER BY coarse <=> %s LIMIT 10"
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        entry = IndexEntry.objects.first()
        cursor.execute(nearest, [str(entry.coarse)])
        return {version for (version,) in cursor.fetchall()}


def corpus_of_two():
    owner = make_user()
    knowledge_set = make_set("two", owners=[owner])
    return owner, knowledge_set, ingest(owner, knowledge_set, first="The first text.", second="The second text.")


@pytest.mark.django_db
@pytest.mark.starts_from(make=owner_with_an_epoch)
@pytest.mark.parametrize("name", ["first", "second"])
def test_kept_rows_are_there_again_after_a_change_and_their_epochs_are_new_ones(kept_rows, name):
    epochs.append(epoch_now(tenant_id=kept_rows.tenant_id))
    assert KnowledgeSet.objects.get().name == "shared"

    KnowledgeSet.objects.update(name=name)
    epoch_advance(tenant_id=kept_rows.tenant_id)

    epochs.append(epoch_now(tenant_id=kept_rows.tenant_id))
    assert len(set(epochs)) == len(epochs)
    assert made[-1].owners.get().pk == kept_rows.pk


def test_others_find_an_empty_database(transactional_db):
    assert not KnowledgeSet.objects.exists()
    assert not User.objects.exists()

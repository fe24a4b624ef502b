"""The database between two tests that commit."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission

from accounts.models import User
from knowledge.indexes.corpus_epoch import epoch_advance, epoch_now
from knowledge.models import KnowledgeSet
from tests.database import database
from tests.factories import make_set, make_user

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


def test_a_changed_corpus_is_made_anew(owner):
    before = len(made)
    KnowledgeSet.objects.update(name="another name")

    database.restore()
    fresh = database.share(owner_with_a_set)

    assert len(made) == before + 1
    assert fresh.pk != owner.pk
    assert KnowledgeSet.objects.get().name == "shared"


def owner_with_an_epoch():
    owner = owner_with_a_set()
    epoch_advance(tenant_id=owner.tenant_id)
    return owner


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

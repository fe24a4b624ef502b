"""The database between two tests that commit."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission

from accounts.models import User
from knowledge.models import KnowledgeSet
from tests.database import database
from tests.factories import make_set, make_user

made = []


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


def test_others_find_an_empty_database(transactional_db):
    assert not KnowledgeSet.objects.exists()
    assert not User.objects.exists()

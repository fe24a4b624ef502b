"""Fixtures for the services that `tests.services_plugin` starts, and for the database between two tests."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from django.conf import settings
from django.db import connection
from django.test import TransactionTestCase
from django.utils import translation
from pytest_django import DjangoDbBlocker
from pytest_django.plugin import blocking_manager_key

from knowledge import model_setup
from knowledge.indexes import corpus_epoch, search_space
from knowledge.model_circuits import circuits_forget
from knowledge.model_setup import setup_forget, setup_now
from ragsite.garbage import COLLECT_AFTER
from tests.database import (
    connections_close,
    connections_left,
    copy_migrated,
    database,
    epochs_advance,
    migrate_once,
)
from tests.forms_plugin import needs_database
from tests.kept_dictionary import dictionary_keep
from tests.kept_vectors import vectors_keep
from tests.services_plugin import MIGRATED_LOCK

# tests with one of these fixtures start from shared rows, all others from an empty database
SHARING, KEEPING = "shared_rows", "kept_rows"
KEPT_MARK = "starts_from"


def pytest_configure() -> None:
    """Sign-ins in tests are many and their passwords protect nothing, so they are hashed quickly."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher", *settings.PASSWORD_HASHERS]
    settings.WHITENOISE_AUTOREFRESH = True  # files are looked for when they are asked for, not by each client
    gc.disable()  # until everything is imported, see below


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Imported modules and collected tests stay to the end: the collector of garbage need not walk over them each time.

    Measured with the tests of the lab: 19 % less processor time.
    """
    gc.freeze()  # what is garbage already stays, too: looking for it takes a second
    gc.set_threshold(*COLLECT_AFTER)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Each test begins in the default language; shared rows leave before a test that does not ask for them.

    They leave before its transaction begins.
    """
    translation.deactivate()
    names = set(getattr(item, "fixturenames", ()))
    if database.shared is None or database.is_lent or names & {SHARING, KEEPING}:
        return
    if needs_database(item):
        with item.config.stash[blocking_manager_key].unblock():
            database.drop_shared()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[object]:
    """Migrate before the limit of a test's time begins; other processes wait once their first test needs the rows."""
    lock = os.environ.get(MIGRATED_LOCK)
    if lock and not database.is_prepared and needs_database(item):
        with item.config.stash[blocking_manager_key].unblock():
            migrate_once(Path(lock))
        database.is_prepared = True
    return (yield)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None, django_db_blocker: DjangoDbBlocker) -> None:
    """pytest-django's; services of our own hold a migrated database, of which each process gets a copy."""
    if lock := os.environ.get(MIGRATED_LOCK):
        with django_db_blocker.unblock():
            migrate_once(Path(lock))  # mostly done already, but for a fixture that a test asks for by its name
        copy_migrated()


@pytest.fixture(scope="session")
def django_db_setup(
    request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[None]:
    """pytest-django's, and what a test commits is removed by `tests.database` instead of Django's flush."""
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch:
        database.remember_migrated()
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda case: database.restore())
        with django_db_blocker.block():
            yield
        connections_close()
        if left := connections_left(seconds=20):
            request.node.warn(pytest.PytestWarning(f"These connections keep the test database in use: {left}"))


@pytest.fixture(scope="session", autouse=True)
def texts_are_encoded_once() -> Iterator[None]:
    """A packaged model computes the vector of a text from that text alone, so once is enough; so is the dictionary."""
    with pytest.MonkeyPatch.context() as patch:
        vectors_keep(patch)
        dictionary_keep(patch)
        yield


@pytest.fixture(autouse=True)
def counts_are_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers are counted again after every change, also where a busy machine counts slowly."""
    monkeypatch.setattr(corpus_epoch, "CHEAP_SECONDS", float("inf"))


@pytest.fixture(autouse=True)
def models_are_forgotten() -> Iterator[None]:
    """A model that failed in one test is asked in the next one; one that was registered is not used there."""
    yield
    circuits_forget()
    if setup_now().version is not None:
        setup_forget()


@pytest.fixture
def shared_rows(transactional_db: None) -> Any:
    """`shared_rows(make)`: the objects that `make` makes, with their rows, made once for many tests."""
    return database.share


@pytest.fixture
def _django_db_helper(rows_below: None, _django_db_helper: None) -> None:
    """pytest-django's, in which the transaction of a test begins; before it, the rows of `kept_rows` are committed."""


@pytest.fixture
def rows_below(request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    """Commit what the test starts from, unless an earlier test of the file has left it there."""
    if KEEPING in request.fixturenames:
        with django_db_blocker.unblock():
            database.share(maker_of(request))


@pytest.fixture
def kept_rows(request: pytest.FixtureRequest, db: None) -> Any:
    """What the function of the mark `starts_from` made, once for many tests that run in a transaction.

    Whatever such a test changes is rolled back, so that the corpus is there for the next one, which it is not with
    `shared_rows`. For a test that commits both are the same.
    """
    made = database.share(maker_of(request))
    if connection.in_atomic_block:
        epochs_advance()
    return made


def maker_of(request: pytest.FixtureRequest) -> Callable[[], Any]:
    mark = request.node.get_closest_marker(KEPT_MARK)
    assert mark, f"{KEEPING} needs @pytest.mark.{KEPT_MARK}(make=…)"
    made: Callable[[], Any] = mark.kwargs["make"]
    return made


@pytest.fixture
def redis_client() -> Iterator[redis.Redis]:
    """The Redis of this test process, empty before and after the test."""
    with redis.Redis.from_url(os.environ["REDIS_URL"], decode_responses=True) as client:
        client.flushdb()
        yield client
        client.flushdb()


@pytest.fixture
def nothing_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a process remembers for some seconds stays: the clock adds no statement to those that a test counts."""
    for name in ("TAIL_SECONDS", "INDEX_SECONDS"):
        monkeypatch.setattr(search_space, name, 1e9)
    monkeypatch.setattr(model_setup, "REFRESH_SECONDS", 1e9)


@pytest.fixture
def few_general_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six general texts instead of two hundred: what is found among them says nothing here, and takes seconds."""
    pairs = [("What is a slice?", f"A slice has {n} items.") for n in range(3)]
    pairs += [("什么是切片？", f"切片有 {n} 个元素。") for n in range(3)]
    monkeypatch.setattr("ragcore.training.general_pairs.general_pairs", lambda: pairs)

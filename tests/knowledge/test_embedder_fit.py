"""How the configured model is shortened: measured once, stored, never changed."""

from __future__ import annotations

import hashlib
import threading

import numpy as np
import pytest
from django.db import connection, transaction

from knowledge import model_registry
from knowledge.embedder_fit import fit_forget, new_vectors_check, weights_verify
from knowledge.indexes.statements import fetch, maintenance_try_lock
from knowledge.model_setup import setup_forget
from knowledge.models import EmbedderFit, SetVector, WholeVector
from ragcore.errors import EmbedderRefusedError
from tests.scripted_llm import Reply, serving

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("few_general_texts")]
DIRECTIONS = 60


def vectors(texts, *, dimensions, first, noise=0.0):
    """What tells texts apart stands in 60 numbers from `first` on."""
    rows = np.full((len(texts), dimensions), 1e-3)
    for row, text in zip(rows, texts, strict=True):
        seed = int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)
        given = np.random.default_rng(seed).normal(size=DIRECTIONS)
        row[first : first + DIRECTIONS] = given[: dimensions - first]
        row += noise * np.random.default_rng(seed + 1).normal(size=dimensions) * np.linalg.norm(row) / dimensions**0.5
    return rows


@pytest.fixture
def configured(settings):
    """The embedder of a server whose vectors have a form."""
    with serving() as server:

        def configure(**form):
            server.respond = lambda asked: Reply(
                vectors=tuple(map(tuple, vectors(asked.body["input"], **form).tolist()))
            )
            settings.EMBEDDER, settings.EMBEDDING_BASE_URL = "openai:bge-m3", server.url
            model_registry.embedder_of.cache_clear()
            return model_registry.embedder()

        yield configure
    model_registry.embedder_of.cache_clear()
    setup_forget()


def vector_store(kind):
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")  # it belongs to no entry
    kind.objects.create(
        entry_id=1,
        chunk_id=1,
        version_id=1,
        tenant_id=1,
        representation="body",
        embedding_model="bge-m3",
        vector=[1.0] * 768,
    )


def cosines_of(rows):
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit @ unit.T


@pytest.mark.full
def test_a_wide_model_without_a_usable_prefix_is_projected_the_same_way_everywhere(configured):
    texts = [f"text {number}" for number in range(30)]
    embedder = configured(dimensions=1024, first=900)

    found = embedder.embed_documents(texts)

    row = EmbedderFit.objects.get()
    assert (row.model, row.dimensions, row.kept_prefix > 0.95) == ("bge-m3", 1024, True)
    wanted = cosines_of(vectors(texts, dimensions=1024, first=900))
    np.testing.assert_allclose(cosines_of(found), wanted, atol=0.01)
    np.testing.assert_allclose(cosines_of(found[:, :384]), wanted, atol=0.01)
    another_process = configured(dimensions=1024, first=900)
    np.testing.assert_allclose(another_process.embed_documents(texts), found, atol=1e-4)
    assert EmbedderFit.objects.count() == 1
    assert model_registry.cosine_floor(tenant_id=1) == row.floor
    assert 0.3 < row.floor < 0.6  # 60 numbers tell texts apart: unrelated ones spread by 0.13


def test_a_matryoshka_model_keeps_its_numbers(configured):
    embedder = configured(dimensions=1024, first=10)

    found = embedder.embed_queries(["one", "two"])

    row = EmbedderFit.objects.get()
    assert (row.projection, row.kept_whole) == (None, 1.0)
    given = vectors(["one", "two"], dimensions=1024, first=10)[:, :768]
    np.testing.assert_allclose(found, given / np.linalg.norm(given, axis=1, keepdims=True), atol=1e-5)


def test_vectors_that_an_earlier_version_has_cut_stay_comparable(configured):
    embedder = configured(dimensions=1024, first=900)
    vector_store(WholeVector)

    found = embedder.embed_documents(["one", "two"])

    assert found.shape == (2, 768)
    assert (EmbedderFit.objects.get().projection, EmbedderFit.objects.get().kept_whole) == (None, None)


def test_a_server_that_changes_its_model_is_noticed(configured):
    configured(dimensions=1024, first=10).embed_queries(["one"])

    other = configured(dimensions=2048, first=10)

    with pytest.raises(EmbedderRefusedError, match="2048 dimensions; its stored vectors have 1024"):
        other.embed_queries(["one"])


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_a_model_without_vectors_is_measured_anew_in_every_process_once_that_is_wanted(configured):
    used_before = configured(dimensions=900, first=10)
    used_before.embed_queries(["one"])
    configured(dimensions=1024, first=10)  # the server has another model by now

    assert fit_forget("bge-m3")

    assert used_before.embed_documents(["one", "two"]).shape == (2, 768)
    assert EmbedderFit.objects.get().dimensions == 1024


@pytest.mark.parametrize("kind", [WholeVector, SetVector])
def test_how_stored_vectors_were_shortened_is_not_forgotten(configured, kind):
    configured(dimensions=1024, first=10).embed_queries(["one"])
    vector_store(kind)

    assert not fit_forget("bge-m3")

    assert EmbedderFit.objects.exists()


def test_other_weights_behind_the_same_name_make_no_new_vectors(configured):
    configured(dimensions=768, first=10).embed_queries(["one"])
    after_a_restart = configured(dimensions=768, first=10)
    after_a_restart.embed_queries(["one"])
    new_vectors_check(after_a_restart)

    retrained = configured(dimensions=768, first=300)
    assert retrained.embed_queries(["one"]).shape == (1, 768)  # questions go on

    with pytest.raises(EmbedderRefusedError, match="its weights have changed"):
        new_vectors_check(retrained)
    configured(dimensions=768, first=10)  # the server has the former ones again
    new_vectors_check(retrained)


def test_a_rounding_is_no_change_of_weights(configured):
    configured(dimensions=768, first=10, noise=0.05).embed_queries(["one"])

    new_vectors_check(rounded := configured(dimensions=768, first=10))
    rounded.embed_queries(["one"])
    new_vectors_check(rounded)


@pytest.mark.django_db(transaction=True)
def test_a_model_that_an_earlier_version_has_measured_is_told_from_others_from_now_on(configured):
    embedder = configured(dimensions=768, first=10)
    EmbedderFit.objects.create(model=embedder.model, dimensions=768, floor=0.2)
    with transaction.atomic():
        embedder.embed_queries(["one"])
    assert EmbedderFit.objects.get().probes is None  # no lock until a question is over

    weights_verify(embedder)

    assert len(EmbedderFit.objects.get().probes) == 3 * 768 * 2
    with pytest.raises(EmbedderRefusedError, match="its weights have changed"):
        weights_verify(configured(dimensions=768, first=300))


def test_a_model_that_cannot_be_shortened_stores_nothing(configured):
    embedder = configured(dimensions=32, first=0)

    with pytest.raises(EmbedderRefusedError, match="32 dimensions"):
        embedder.embed_documents(["one"])

    assert not EmbedderFit.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_who_uses_a_model_for_the_first_time_keeps_the_locks_that_it_holds(configured):
    """The pool gave another connection otherwise: the lock stayed with the first one, and nobody made vectors."""
    embedder = configured(dimensions=768, first=0)
    EmbedderFit.objects.create(model=embedder.model, dimensions=768, floor=0.2)
    other = threading.Thread(target=with_connection, args=(session_locks,))  # so that the pool has two
    other.start()
    other.join()

    with maintenance_try_lock() as alone:
        embedder.embed_documents(["one"])
        held = session_locks()

    assert (alone, held, session_locks()) == (True, 1, 0)


@pytest.mark.django_db(transaction=True)
def test_threads_that_compute_keep_no_connection(configured):
    embedder = configured(dimensions=768, first=0)
    EmbedderFit.objects.create(model=embedder.model, dimensions=768, floor=0.2)
    kept = []

    def first_use():
        embedder.embed_documents(["one"])
        kept.append(connection.connection)

    computing = threading.Thread(target=with_connection, args=(first_use,))
    computing.start()
    computing.join()

    assert kept == [None]


def with_connection(work):
    try:
        work()
    finally:
        connection.close()


def session_locks():
    """How many locks of sessions are held in this database."""
    [[count]] = fetch(
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
        {},
    )
    return count

"""Vectors of the sentences of passages: stored with them, served within rights, made later where they are missing."""

from __future__ import annotations

import re
from zlib import crc32

import numpy as np
import pytest
from django.db import connection, transaction

from knowledge import model_registry
from knowledge.indexes import sentence_vectors as sentences_sql
from knowledge.indexes.embedder_fill import DROPS
from knowledge.indexes.index_maintenance import entries_purge
from knowledge.indexes.sentence_vectors import SentenceSpace, sentences_load, space_of
from knowledge.indexes.visibility import visible_sql
from knowledge.jobs import embed_sentences
from knowledge.model_setup import hosts_allowed, setup_forget
from knowledge.models import Chunk, IndexEntry, PassageSentences
from knowledge.queue import FILL_SENTENCES
from knowledge.search_model_setup import spec_of
from knowledge.search_profile import search_profile
from knowledge.selectors import documents_askable
from knowledge.services import sentence_vectors
from knowledge.services.documents import document_delete
from knowledge.services.edits import (
    chunk_disable,
    chunk_questions_set,
    chunk_replace,
    edit_undo,
    passage_lock,
    passage_prepare,
    passage_reindex,
)
from knowledge.services.embedder_sweep import vectors_sweep
from knowledge.services.embedder_switch import former_drop, switch_back, switch_cancel, switch_finish, switch_start
from knowledge.types import RetrievalRequest
from knowledge.wiring import retrieval_pipeline
from ragcore.types.sentence_vectors import sentence_key
from tests.factories import ingest, make_admin, make_set, make_tenant, make_user, scope_of
from tests.knowledge.fills import sentences_tend, vectors_tend
from tests.knowledge.indexes.test_plans import explained, indexes_used, many_make, visible
from tests.knowledge.locks import apart
from tests.knowledge.test_embedder_switch import platform, server, target, who
from tests.work.contract import KindContract, lease_lapse
from work.models import Job
from work.upkeep import due_start

pytestmark = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)  # for what is done in another connection meanwhile
__all__ = ["platform", "server", "target", "visible", "who"]
TEXT = "The tilt is set by a motor. A feeder cable connects the radio unit with the mast."
FEEDER = "A feeder cable connects the radio unit with the mast."
OTHER = "The battery lasts for four hours when the mains fail."
FILLED = """
INSERT INTO knowledge_passagesentences (chunk_id, version_id, tenant_id, embedding_model, space, keys, numbers)
SELECT chunk_id, version_id, tenant_id, embedding_model, 'bags-1', '', '' FROM knowledge_indexentry
"""


def word_vector(word):
    return np.random.default_rng(crc32(word.encode())).normal(size=384)


def bags_of_words(sentences):
    """float32[n, 384] in which sentences with the same words are near."""
    rows = [np.sum([word_vector(word) for word in re.findall(r"\w+", one.text.lower())], axis=0) for one in sentences]
    return np.array([row / np.linalg.norm(row) for row in rows], np.float32)


@pytest.fixture(autouse=True)
def forgotten():
    yield
    setup_forget()


@pytest.fixture
def calls(monkeypatch):
    """The model in use gives vectors of sentences; what it is asked for, by call."""
    return gives_sentences(model_registry.embedder(), monkeypatch)


def gives_sentences(embedder, monkeypatch, space="bags-1"):
    asked = []

    def embed_sentences(sentences):
        asked.append([one.text for one in sentences])
        return bags_of_words(sentences)

    monkeypatch.setattr(embedder, "sentence_space", space, raising=False)
    monkeypatch.setattr(embedder, "embed_sentences", embed_sentences, raising=False)
    return asked


def plain_site(settings):
    """A site whose model gives no vectors of sentences."""
    settings.EMBEDDER = "embedded"
    setup_forget()


def index_of(user, sets=()):
    """What the pipeline of a person looks sentences up in."""
    request = RetrievalRequest(query="", sets=sets)
    return retrieval_pipeline(search_profile(scope=scope_of(user), request=request)).ports.sentences


def chunk_of(document):
    return Chunk.objects.get(version=document.live_version_id, retired=None)


def stored():
    return dict(PassageSentences.objects.order_by("chunk_id").values_list("chunk_id", "space"))


# ── with new passages ───────────────────────────────────────────────────────────────────────────


def test_a_question_is_near_to_the_sentence_that_answers_it_by_the_model_of_two_languages(settings):
    settings.EMBEDDER = "embedded_e5"
    setup_forget()
    owner = make_admin()
    chunk = chunk_of(ingest(owner, make_set("masts", owners=[owner]), tilt=TEXT)["tilt"])
    index = index_of(owner)

    found = index.vectors([chunk.pk, chunk.pk + 1])
    question = index.question_vector("馈线连接什么设备？")  # what does the feeder cable connect?

    assert list(found) == [chunk.pk]
    cosines = dict(zip(found[chunk.pk].keys.tolist(), found[chunk.pk].cosines(question).tolist(), strict=True))
    assert len(cosines) == 2
    assert max(cosines, key=cosines.get) == sentence_key(FEEDER)
    assert np.linalg.norm(question) == pytest.approx(1, abs=1e-5)


def test_passages_and_their_sentences_appear_together(owner, common, calls):
    documents = ingest(owner, common, tilt=TEXT, dots="| 1 | 2 |\n|---|---|\n| 3 | 4 |")
    tilt, dots = chunk_of(documents["tilt"]), chunk_of(documents["dots"])

    row = PassageSentences.objects.get(chunk_id=tilt.pk)
    assert (row.version_id, row.tenant_id, row.embedding_model, row.space) == (
        tilt.version_id,
        owner.tenant_id,
        model_registry.live_model(),
        "bags-1",
    )
    assert (len(row.keys), len(row.numbers)) == (2 * 8, 2 * 384)
    empty = PassageSentences.objects.get(chunk_id=dots.pk)
    assert (bytes(empty.keys), bytes(empty.numbers)) == (b"", b"")
    assert list(index_of(owner).vectors([tilt.pk, dots.pk])) == [tilt.pk]
    calls.clear()
    assert (sentences_tend(), calls) == (0, [])  # the one without a sentence is not looked for again


def test_a_document_goes_live_without_them_where_they_cannot_be_made(owner, common, calls, monkeypatch, caplog):
    def broken(_sentences):
        calls.append([])
        raise RuntimeError("no memory for the graph")

    with monkeypatch.context() as patch:
        patch.setattr(model_registry.embedder(), "embed_sentences", broken)
        documents = ingest(owner, common, **{f"page {n}": f"{TEXT} {n} pages." for n in range(5)})

    assert "no memory for the graph" in caplog.text
    assert all(document.live_version_id for document in documents.values())
    assert (stored(), len(calls)) == ({}, sentence_vectors.FAILURES)  # then it is not asked any more
    assert sentences_tend() == len(documents) == len(stored())


def test_one_passage_that_fails_takes_no_other_one_along(owner, common, calls, monkeypatch):
    embed = model_registry.embedder().embed_sentences
    monkeypatch.setattr(
        model_registry.embedder(), "embed_sentences", lambda s: 1 / 0 if s[0].text == OTHER else embed(s)
    )

    documents = ingest(owner, common, tilt=TEXT, battery=OTHER, feeder=FEEDER)

    assert list(stored()) == sorted(chunk_of(documents[name]).pk for name in ("tilt", "feeder"))


def test_a_model_without_them_costs_nothing(owner, common, settings, monkeypatch):
    plain_site(settings)
    monkeypatch.setattr(sentence_vectors, "headed_sentences", lambda *_: 1 / 0)
    monkeypatch.setattr(embed_sentences, "passages_without", lambda *_, **__: 1 / 0)

    document = ingest(owner, common, tilt=TEXT)["tilt"]
    chunk_replace(scope=scope_of(owner), actor=owner, chunk_id=chunk_of(document).pk, text=OTHER)

    assert (index_of(owner), sentences_tend(), stored()) == (None, 0, {})


# ── changes of passages ─────────────────────────────────────────────────────────────────────────


def test_edits_replace_them(owner, common, calls):
    by = {"scope": scope_of(owner), "actor": owner}
    before = chunk_of(ingest(owner, common, tilt=TEXT)["tilt"])

    after = chunk_replace(**by, chunk_id=before.pk, text=OTHER)

    assert list(stored()) == [after.pk]
    (found,) = index_of(owner).vectors([before.pk, after.pk]).values()
    assert found.keys.tolist() == [sentence_key(OTHER)]
    asked = chunk_questions_set(**by, chunk_id=after.pk, questions=["How long does it last?"])
    assert list(stored()) == [asked.pk]
    edit = chunk_disable(**by, chunk_id=asked.pk)
    assert stored() == {}
    again = edit_undo(**by, edit_id=edit.pk)
    assert list(stored()) == [again.pk]


def test_a_passage_whose_entries_are_written_anew_keeps_them(owner, common, calls):
    chunk = chunk_of(ingest(owner, common, tilt=TEXT)["tilt"])
    fresh = passage_prepare(chunk, questions=["What sets the tilt?"])

    with transaction.atomic():
        passage_reindex(fresh=fresh, totals=passage_lock(chunk, fresh=fresh))

    assert list(stored()) == [chunk.pk]
    assert IndexEntry.objects.filter(chunk=chunk, representation="question").exists()


@committed
def test_former_versions_and_deleted_documents_are_not_served_and_go_with_their_entries(owner, common, calls):
    documents = ingest(owner, common, tilt=TEXT, battery=OTHER)
    old, battery = chunk_of(documents["tilt"]), chunk_of(documents["battery"])
    new = chunk_of(ingest(owner, common, tilt=FEEDER)["tilt"])
    document_delete(scope=scope_of(owner), actor=owner, document_id=battery.version.document_id)

    assert list(stored()) == [old.pk, battery.pk, new.pk]
    assert list(index_of(owner).vectors([old.pk, battery.pk, new.pk])) == [new.pk]
    assert entries_purge(age_seconds=0, limit=100) > 0
    assert list(stored()) == [new.pk]
    Chunk.objects.filter(pk=new.pk).delete()
    assert stored() == {}


def test_nobody_gets_those_of_another_tenant_or_of_what_they_may_not_read(owner, common, calls):
    stranger, colleague = make_admin(tenant=make_tenant("other")), make_user(tenant=owner.tenant)
    closed = make_set("closed", owners=[owner], visibility="restricted")
    open_page = chunk_of(ingest(owner, common, tilt=TEXT)["tilt"])
    secret = chunk_of(ingest(owner, closed, battery=OTHER)["battery"])
    both = [open_page.pk, secret.pk]

    assert sorted(index_of(owner).vectors(both)) == both
    assert list(index_of(owner, sets=[common.pk]).vectors(both)) == [open_page.pk]
    assert list(index_of(colleague).vectors(both)) == [open_page.pk]
    assert index_of(stranger).vectors(both) == {}
    of_owner = visible_sql(documents_askable(scope=scope_of(owner)))
    wrong = {"scope": scope_of(stranger), "visible": of_owner, "space": space_of(model_registry.embedder())}
    assert sentences_load(**wrong, chunks=both) == {}  # by the tenant alone


def test_damaged_ones_are_logged_and_missing(owner, common, calls, caplog):
    documents = ingest(owner, common, tilt=TEXT, battery=OTHER)
    tilt, battery = chunk_of(documents["tilt"]), chunk_of(documents["battery"])
    PassageSentences.objects.filter(chunk_id=tilt.pk).update(numbers=b"cut")

    assert list(index_of(owner).vectors([tilt.pk, battery.pk])) == [battery.pk]
    assert f"passage {tilt.pk} are damaged" in caplog.text


# ── in the background ───────────────────────────────────────────────────────────────────────────


@pytest.fixture
def upgraded(owner, common, calls):
    """Passages of a release that stored none."""
    documents = ingest(owner, common, tilt=TEXT, battery=OTHER, feeder=FEEDER)
    PassageSentences.objects.all().delete()
    calls.clear()
    return sorted(chunk_of(document).pk for document in documents.values())


def test_passages_of_an_earlier_release_get_theirs(owner, upgraded, calls):
    old, *_ = upgraded
    chunk_replace(scope=scope_of(owner), actor=owner, chunk_id=old, text="The motor is new.")
    (edited,) = stored()

    sentences_tend()

    assert list(stored()) == [*upgraded[1:], edited]  # none for what nobody finds any more
    assert sorted(index_of(owner).vectors([*upgraded, edited])) == [*upgraded[1:], edited]


def test_a_worker_that_is_killed_loses_the_batch_at_hand(upgraded, calls, monkeypatch):
    monkeypatch.setattr(embed_sentences, "BATCH", 1)
    embed = model_registry.embedder().embed_sentences
    with monkeypatch.context() as patch:
        patch.setattr(model_registry.embedder(), "embed_sentences", lambda s: killed() if calls else embed(s))
        with pytest.raises(SystemExit):
            sentences_tend()
    for job in Job.objects.filter(kind=FILL_SENTENCES):
        lease_lapse(job)
    assert list(stored()) == upgraded[:1]
    calls.clear()

    assert sentences_tend() == 2

    assert (list(stored()), len(calls)) == (upgraded, 2)


def killed():
    raise SystemExit


@committed
def test_what_is_changed_while_its_vectors_are_made_is_left_to_who_changes_it(owner, upgraded, calls, monkeypatch):
    tilt, *others = upgraded
    embed = model_registry.embedder().embed_sentences

    def edited(sentences):
        monkeypatch.setattr(model_registry.embedder(), "embed_sentences", embed)
        apart(lambda: chunk_replace(scope=scope_of(owner), actor=owner, chunk_id=tilt, text="The motor is new."))
        return embed(sentences)

    monkeypatch.setattr(model_registry.embedder(), "embed_sentences", edited)

    assert sentences_tend() == 3  # that of the edit among them
    assert list(stored()) == [*others, chunk_of(Chunk.objects.get(pk=tilt).version.document).pk]


@committed
def test_a_passage_that_somebody_is_changing_is_not_waited_for(upgraded, calls):
    with transaction.atomic():
        Chunk.objects.select_for_update().get(pk=upgraded[0])
        apart(sentences_tend)

    assert list(stored()) == upgraded[1:]


def test_vectors_of_an_earlier_space_are_replaced(owner, upgraded, calls, monkeypatch):
    sentences_tend()
    gives_sentences(model_registry.embedder(), monkeypatch, space="bags-2")
    assert index_of(owner).vectors(upgraded) == {}

    sentences_tend()

    assert stored() == dict.fromkeys(upgraded, "bags-2")
    assert PassageSentences.objects.count() == 3


# ── another model ───────────────────────────────────────────────────────────────────────────────


def of_model(model):
    return PassageSentences.objects.filter(embedding_model=model).count()


@committed
def test_another_model_gets_its_own_and_takes_them_along(who, target, calls, monkeypatch):
    owner = who["actor"]
    documents = ingest(owner, make_set("masts", owners=[owner]), tilt=TEXT, battery=OTHER)
    chunks = sorted(chunk_of(document).pk for document in documents.values())
    before = model_registry.live_model()
    row = switch_start(**who, target=target)
    gives_sentences(model_registry.embedder_of(spec_of(target, hosts_allowed())), monkeypatch, space="others-1")
    vectors_tend()
    assert sentences_tend() == 2
    assert (of_model(before), of_model(row.model)) == (2, 2)

    switch_finish(**who, switch_id=row.pk)

    index = index_of(owner)
    assert index.space == SentenceSpace(row.model, "others-1")
    assert sorted(index.vectors(chunks)) == chunks
    vectors_sweep()
    assert of_model(before) == 2  # for the way back
    switch_back(**who)
    assert index_of(owner).space == SentenceSpace(before, "bags-1")
    former_drop(**who)
    vectors_sweep(model=row.model)
    assert (of_model(before), of_model(row.model)) == (2, 0)


@committed
def test_a_batch_for_a_model_that_somebody_gives_up_meanwhile_is_not_stored(who, target, calls, monkeypatch):
    owner = who["actor"]
    ingest(owner, make_set("masts", owners=[owner]), tilt=TEXT)
    row = switch_start(**who, target=target)
    embedder = model_registry.embedder_of(spec_of(target, hosts_allowed()))
    gives_sentences(embedder, monkeypatch)
    embed = embedder.embed_sentences

    def cancels(sentences):
        apart(lambda: (switch_cancel(**who, switch_id=row.pk), vectors_sweep()))
        return embed(sentences)

    monkeypatch.setattr(embedder, "embed_sentences", cancels)

    assert (sentences_tend(), of_model(row.model)) == (0, 0)


# ── plans ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.starts_from(make=many_make)
def test_they_are_looked_up_by_passage(visible):
    with connection.cursor() as cursor:
        cursor.execute(FILLED)
        cursor.execute("ANALYZE knowledge_passagesentences")
    tenant, model = IndexEntry.objects.values_list("tenant_id", "embedding_model").first()
    named = {"tenant": tenant, "model": model, "space": "bags-1", "after": 0, "limit": 32}

    load = indexes_used(sentences_sql.LOAD.format(visible=visible.sql), {**visible.params, **named, "chunks": "{1,2}"})
    drop = indexes_used(DROPS["sentences"], named)
    missing = explained(sentences_sql.MISSING, named)

    assert "knowledge_passagesentences_pkey" in load & drop
    assert "knowledge_passagesentences_pkey" in missing
    assert "Seq Scan" not in missing


class TestEmbedSentences(KindContract):
    @pytest.fixture(autouse=True)
    def _passages(self, upgraded, calls, monkeypatch):
        self.passages = upgraded
        monkeypatch.setattr(embed_sentences, "BATCH", 1)

    def start(self):
        return due_start(kind=FILL_SENTENCES)[0]

    def outcome(self, job):
        return list(stored())

    def whole(self):
        return self.passages

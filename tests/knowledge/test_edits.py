"""Owners' edits of passages: at once, kept for citations, and done again when the document is ingested again."""

from __future__ import annotations

import pytest
from django.db import connection
from django.utils.module_loading import import_string

from accounts.errors import NotAllowedError, NotFoundError
from knowledge import model_registry
from knowledge.errors import PassageChangedError
from knowledge.models import Chunk, ChunkEdit, IndexEntry
from knowledge.selectors import chunk_get, chunks_of
from knowledge.services.edits import chunk_disable, chunk_questions_set, chunk_replace, edit_undo
from knowledge.services.maintenance import index_check
from knowledge.services.reingest import document_rebuild, edits_reapply
from knowledge.services.retrieval import retrieve
from knowledge.types import RetrievalRequest
from ragcore.errors import EmptyDocumentError
from ragcore.types import ChunkDraft
from tests.factories import ingest, make_set, make_user, run_job, scope_of
from tests.knowledge.uploads import upload

pytestmark = pytest.mark.django_db(transaction=True)

TEXT = "The paging cycle of the base station is 320 milliseconds."


@pytest.fixture
def owner():
    return make_user()


@pytest.fixture
def document(owner):
    return ingest(owner, make_set("radio", owners=[owner]), a=TEXT)["a"]


def passage(owner, document):
    return chunks_of(scope=scope_of(owner), document_id=document.pk).get()


def found(owner, question):
    done = retrieve(scope=scope_of(owner), request=RetrievalRequest(query=question))
    return [c.passage.text for c in done.state.candidates if c.passage]


def test_a_new_text_is_found_at_once_and_the_old_one_is_not(owner, document):
    old = passage(owner, document)

    fresh = chunk_replace(
        scope=scope_of(owner),
        actor=owner,
        chunk_id=old.pk,
        text="The paging cycle is 640 milliseconds on zircon sites.",
    )

    assert found(owner, "zircon paging") == [fresh.text]
    assert all("320" not in text for text in found(owner, "paging cycle 320 milliseconds"))
    assert passage(owner, document) == fresh


def test_the_superseded_passage_can_still_be_opened_from_a_citation(owner, document):
    old = passage(owner, document)

    chunk_replace(scope=scope_of(owner), actor=owner, chunk_id=old.pk, text="Another text.")

    assert chunk_get(scope=scope_of(owner), chunk_id=old.pk).text == TEXT
    assert not IndexEntry.objects.filter(chunk=old).exists()


def test_statistics_stay_those_of_a_recount_through_every_kind_of_edit(owner, document):
    scope = scope_of(owner)

    fresh = chunk_replace(scope=scope, actor=owner, chunk_id=passage(owner, document).pk, text="Quite new words.")
    fresh = chunk_questions_set(scope=scope, actor=owner, chunk_id=fresh.pk, questions=["How new are the words?"])
    edit = chunk_disable(scope=scope, actor=owner, chunk_id=fresh.pk)
    assert index_check() == []
    edit_undo(scope=scope, actor=owner, edit_id=edit.pk)

    assert index_check() == []
    assert found(owner, "new words") == ["Quite new words."]


def test_a_disabled_passage_is_found_by_nothing_until_it_is_enabled(owner, document):
    scope = scope_of(owner)
    edit = chunk_disable(scope=scope, actor=owner, chunk_id=passage(owner, document).pk)

    assert found(owner, "paging cycle base station") == []
    edit_undo(scope=scope, actor=owner, edit_id=edit.pk)

    assert found(owner, "paging cycle base station") == [TEXT]
    assert not ChunkEdit.objects.exists()


def test_an_owners_question_finds_a_passage_that_shares_no_word_with_it(owner, document):
    ingest(owner, make_set("other", owners=[owner]), b="Antennas have many ports.")

    chunk_questions_set(
        scope=scope_of(owner),
        actor=owner,
        chunk_id=passage(owner, document).pk,
        questions=["Wie oft horcht das Handgerät?", " Wie oft horcht das Handgerät? "],
    )

    assert found(owner, "Wie oft horcht das Handgerät?")[0] == TEXT
    assert ChunkEdit.objects.get().questions == ["Wie oft horcht das Handgerät?"]


def test_undoing_a_new_text_brings_the_original_back(owner, document):
    scope = scope_of(owner)
    first = chunk_replace(scope=scope, actor=owner, chunk_id=passage(owner, document).pk, text="First.")
    chunk_replace(scope=scope, actor=owner, chunk_id=first.pk, text="Second.")

    restored = edit_undo(scope=scope, actor=owner, edit_id=ChunkEdit.objects.get().pk)

    assert restored.text == TEXT
    assert found(owner, "paging cycle") == [TEXT]


def test_somebody_who_was_slower_is_told(owner, document):
    old = passage(owner, document)
    chunk_replace(scope=scope_of(owner), actor=owner, chunk_id=old.pk, text="Faster.")

    with pytest.raises(PassageChangedError):
        chunk_replace(scope=scope_of(owner), actor=owner, chunk_id=old.pk, text="Slower.")

    assert passage(owner, document).text == "Faster."


def test_only_who_keeps_the_document_edits_it(owner, document):
    reader = make_user()

    with pytest.raises(NotAllowedError):
        chunk_replace(
            scope=scope_of(reader), actor=reader, chunk_id=passage(owner, document).pk, text="Not mine to change."
        )
    with pytest.raises(NotFoundError):
        edit_undo(scope=scope_of(reader), actor=reader, edit_id=0)

    assert passage(owner, document).text == TEXT


def test_an_empty_text_is_refused(owner, document):
    with pytest.raises(EmptyDocumentError):
        chunk_replace(scope=scope_of(owner), actor=owner, chunk_id=passage(owner, document).pk, text=" \n ")


def test_edits_are_done_again_when_the_document_is_rebuilt(owner, document):
    scope = scope_of(owner)
    fresh = chunk_replace(scope=scope, actor=owner, chunk_id=passage(owner, document).pk, text="Zircon paging.")
    chunk_questions_set(scope=scope, actor=owner, chunk_id=fresh.pk, questions=["What about zircon?"])

    run_job(document_rebuild(scope=scope, actor=owner, document_id=document.pk).pk)

    document.refresh_from_db()
    assert document.live_version.number == 2
    now = passage(owner, document)
    assert (now.text, now.edit.state, now.version_id) == ("Zircon paging.", "applied", document.live_version_id)
    assert now.entries.filter(representation="question").count() == 1
    assert index_check() == []


def test_an_edit_whose_passage_is_gone_is_reported_and_comes_back_with_it(owner):
    kept, scope = make_set(owners=[owner]), scope_of(owner)
    made = upload(owner, kept, external_id="x", content=b"# A\n\nThe old words stand here.")
    run_job(made.job.pk)
    chunk_replace(scope=scope, actor=owner, chunk_id=passage(owner, made.document).pk, text="Edited words.")

    run_job(upload(owner, kept, external_id="x", content=b"# A\n\nSomething else.").job.pk)

    assert ChunkEdit.objects.get().state == ChunkEdit.State.LOST
    assert "Something else." in passage(owner, made.document).text
    run_job(upload(owner, kept, external_id="x", content=b"# A\n\nThe old words stand here.").job.pk)
    assert ChunkEdit.objects.get().state == ChunkEdit.State.APPLIED
    assert passage(owner, made.document).text == "Edited words."


def test_a_passage_that_grew_keeps_the_edit_of_its_part(owner):
    kept, scope = make_set(owners=[owner]), scope_of(owner)
    made = upload(owner, kept, external_id="x", content=b"The cell has 4 ports.")
    run_job(made.job.pk)
    chunk_replace(scope=scope, actor=owner, chunk_id=passage(owner, made.document).pk, text="The cell has 8 ports.")

    run_job(upload(owner, kept, external_id="x", content=b"A preface.\n\nThe cell has 4 ports.").job.pk)

    text = passage(owner, made.document).text
    assert "A preface." in text
    assert "8 ports" in text
    assert "4 ports" not in text
    restored = edit_undo(scope=scope, actor=owner, edit_id=ChunkEdit.objects.get().pk)
    assert "A preface." in restored.text
    assert "4 ports" in restored.text


def test_two_edits_whose_passages_became_one_are_one_edit(owner):
    kept, scope = make_set(owners=[owner]), scope_of(owner)
    made = upload(owner, kept, external_id="x", content=b"Alpha is one.")
    run_job(made.job.pk)
    chunk_replace(scope=scope, actor=owner, chunk_id=passage(owner, made.document).pk, text="Alpha is two.")
    ChunkEdit.objects.create(
        document=made.document, kind="replace", anchor_text="Beta is one.", anchor_sha256="0" * 64, text="Beta is two."
    )

    run_job(upload(owner, kept, external_id="x", content=b"Alpha is one.\n\nBeta is one.").job.pk)

    edit = ChunkEdit.objects.get()
    assert passage(owner, made.document).text == "Alpha is two.\n\nBeta is two."
    assert (edit.anchor_text, edit.text) == ("Alpha is one.\n\nBeta is one.", "Alpha is two.\n\nBeta is two.")


def test_an_anchor_that_stands_in_two_passages_is_not_guessed(owner, document):
    ChunkEdit.objects.create(document=document, kind="replace", anchor_text="ports", anchor_sha256="0" * 64, text="x")
    drafts = [ChunkDraft(ordinal=n, text=f"{n} ports here", tokens=3) for n in range(2)]

    done = edits_reapply(document_id=document.pk, drafts=drafts)

    assert len(done.lost) == 1
    assert [draft.text for draft in done.drafts] == ["0 ports here", "1 ports here"]


def test_a_disabled_passage_stays_disabled_after_rebuilding(owner, document):
    scope = scope_of(owner)
    edit = chunk_disable(scope=scope, actor=owner, chunk_id=passage(owner, document).pk)

    run_job(document_rebuild(scope=scope, actor=owner, document_id=document.pk).pk)

    document.refresh_from_db()
    assert document.live_version.number == 2
    assert found(owner, "paging cycle") == []
    assert Chunk.objects.get(version=document.live_version_id).retired is not None
    edit_undo(scope=scope, actor=owner, edit_id=edit.pk)
    assert found(owner, "paging cycle") == [TEXT]


# ── while a new version is on its way ───────────────────────────────────────────────────────────


def test_an_edit_made_while_a_new_version_is_embedded_is_in_it(owner, document, monkeypatch):
    scope = scope_of(owner)
    job = document_rebuild(scope=scope, actor=owner, document_id=document.pk)
    at_the_right_moment(
        monkeypatch,
        lambda: chunk_replace(scope=scope, actor=owner, chunk_id=passage(owner, document).pk, text="Zircon paging."),
    )

    run_job(job.pk)

    document.refresh_from_db()
    assert document.live_version.number == 2
    assert passage(owner, document).text == "Zircon paging."
    assert (job.items.get().stage, job.items.get().losses) == ("live", 0)
    assert index_check() == []


def test_an_edit_taken_back_while_a_new_version_is_embedded_is_not_in_it(owner, document, monkeypatch):
    scope = scope_of(owner)
    edit = chunk_disable(scope=scope, actor=owner, chunk_id=passage(owner, document).pk)
    job = document_rebuild(scope=scope, actor=owner, document_id=document.pk)
    at_the_right_moment(monkeypatch, lambda: edit_undo(scope=scope, actor=owner, edit_id=edit.pk))

    run_job(job.pk)

    document.refresh_from_db()
    assert document.live_version.number == 2
    assert found(owner, "paging cycle") == [TEXT]
    assert index_check() == []


@pytest.mark.parametrize("change", ["replace", "questions", "undo"])
def test_whoever_edits_a_version_that_is_replaced_meanwhile_is_told(owner, document, monkeypatch, change):
    scope, chunk = scope_of(owner), passage(owner, document)
    if change == "undo":
        chunk = chunk_replace(scope=scope, actor=owner, chunk_id=chunk.pk, text="Zircon paging.")
    job = document_rebuild(scope=scope, actor=owner, document_id=document.pk)
    once_before(monkeypatch, "knowledge.services.edits.passage_lock", lambda: run_job(job.pk))

    with pytest.raises(PassageChangedError):
        {
            "replace": lambda: chunk_replace(scope=scope, actor=owner, chunk_id=chunk.pk, text="Too late."),
            "questions": lambda: chunk_questions_set(scope=scope, actor=owner, chunk_id=chunk.pk, questions=["Why?"]),
            "undo": lambda: edit_undo(scope=scope, actor=owner, edit_id=chunk.edit_id),
        }[change]()

    assert passage(owner, document).text == ("Zircon paging." if change == "undo" else TEXT)
    assert index_check() == []


def test_nothing_is_locked_while_a_passage_is_embedded(owner, document, monkeypatch):
    depths = []
    monkeypatch.setattr(
        "knowledge.services.edits.embedder",
        lambda: depths.append(connection.in_atomic_block) or model_registry.embedder(),
    )

    chunk_replace(scope=scope_of(owner), actor=owner, chunk_id=passage(owner, document).pk, text="Zircon paging.")

    assert depths == [False]


def at_the_right_moment(monkeypatch, act):
    """Let something happen once, when a batch has been described and is being embedded."""
    once_before(monkeypatch, "knowledge.services.ingestion.advance.texts_embed", act)


def once_before(monkeypatch, name, act):
    real, waiting = import_string(name), [act]

    def first(*args, **kwargs):
        while waiting:
            waiting.pop()()
        return real(*args, **kwargs)

    monkeypatch.setattr(name, first)

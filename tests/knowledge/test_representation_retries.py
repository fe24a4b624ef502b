"""What rules wrote while the language model was down is written by the model once it answers."""

from __future__ import annotations

import json
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.db import OperationalError, transaction
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from accounts.errors import NotAllowedError
from accounts.models import AuditEvent
from knowledge.indexes.backend_outbox import entries_of_documents, outbox_watch
from knowledge.indexes.corpus_epoch import epoch_advance, epoch_now
from knowledge.jobs.retry_representations import RetryRepresentations
from knowledge.model_registry import live_model
from knowledge.models import (
    BackendChange,
    Chunk,
    Document,
    IndexEntry,
    IngestItem,
    LexicalStatistics,
    RepresentationRetry,
    Term,
)
from knowledge.queue import RETRY_REPRESENTATIONS
from knowledge.selectors import chunks_of
from knowledge.selectors.representation_retries import retries_of_document, retries_of_set
from knowledge.services import document_delete, representation_retries, retries_start
from knowledge.services.edits import chunk_questions_set, chunk_replace
from knowledge.services.maintenance import index_check
from knowledge.services.model_slots import background_model
from knowledge.services.reingest import document_rebuild
from knowledge.services.representation_retries import MAX_ATTEMPTS, set_representations_retry
from ragcore.llm.openai_chat import OpenAIChatModel
from ragsite.metrics_page import metrics_page
from tests.factories import ingest, make_set, make_tenant, make_user, reweighed, run_job, scope_of
from tests.knowledge.locks import Beside
from tests.knowledge.test_edits import once_before
from tests.knowledge.uploads import upload
from tests.scripted_llm import Reply, serving
from tests.work.contract import KindContract, lease_lapse, work_off
from work.claims import job_claim, job_release
from work.errors import JobLostError
from work.models import OPEN, Job
from work.runner import slice_run

BOTH = {"representations": {"summaries": True, "questions": True}}
SMALL = {"chunking": {"section_tokens": 100, "min_tokens": 64, "max_tokens": 200}}
TEXT = " ".join(f"The cell number {n} serves slice {n} with timer T{n} of the network." for n in range(12))
SUMMARY = "The cell of each number serves a slice with a timer of the network: T0, T1, T2, T3."
QUESTIONS = {
    "factual": "Which slice serves the cell number?",
    "explanatory": "How is the timer of the network served?",
    "comparative": "How do timer T1 and timer T2 differ?",
}
UP = Reply(texts=(json.dumps({"summary": SUMMARY, **QUESTIONS}),))
DOWN = Reply(status=503)
USELESS = Reply(texts=(json.dumps({"summary": "Nothing.", **dict.fromkeys(QUESTIONS, "Who won the cup?")}),))


async def no_wait(seconds):
    return None


@contextmanager
def model_down(patch):
    """A model server that is down until a test says something else."""
    with serving() as scripted:
        scripted.default = DOWN
        model = OpenAIChatModel(scripted.url, "", "scripted", sleep=no_wait)
        patch.setattr("knowledge.services.model_slots.light_model", lambda: model)
        yield scripted


def passage_make():
    """A passage that was ingested while the model was down, and whose first pause is over."""
    with pytest.MonkeyPatch.context() as patch, model_down(patch):
        owner = make_user()
        kept = make_set("cells", owners=[owner], options=BOTH)
        document = ingest(owner, kept, a=TEXT)["a"]
        due()
    return owner, kept, document


pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.starts_from(make=passage_make)]


@pytest.fixture
def llm(monkeypatch):
    with model_down(monkeypatch) as scripted:
        yield scripted


@pytest.fixture
def owner(request, transactional_db):
    return request.getfixturevalue("kept_rows")[0] if "document" in request.fixturenames else make_user()


@pytest.fixture
def kept(request, owner):
    if "document" in request.fixturenames:
        return request.getfixturevalue("kept_rows")[1]
    return make_set("cells", owners=[owner], options=BOTH)


@pytest.fixture
def document(kept_rows, llm):
    return kept_rows[2]


def representations_retry():
    """What the scheduler starts, and a worker does after the last one was killed; for how many passages it wrote."""
    for job in Job.objects.filter(kind=RETRY_REPRESENTATIONS):
        lease_lapse(job)
    retries_start()
    jobs = Job.objects.filter(kind=RETRY_REPRESENTATIONS, state__in=OPEN)
    return sum(work_off(job).done for job in jobs)


def due():
    RepresentationRetry.objects.update(not_before=None)


def kinds(document):
    rows = IndexEntry.objects.filter(version__live_for=document).order_by("chunk__ordinal", "representation")
    return list(rows.values_list("representation", flat=True))


def entries(document):
    """All that the index holds of a document, without ids."""
    terms = dict(Term.objects.values_list("pk", "text"))
    ordinals = dict(Chunk.objects.values_list("pk", "ordinal"))
    rows = entries_of_documents(document_ids=[document.pk], model=live_model(), after=0, limit=1000)
    return sorted(
        (
            ordinals[row.chunk_id],
            row.representation,
            row.language,
            row.embedding_model,
            sorted((terms[pk], weight) for pk, weight in row.weights.items()),
            row.vector.tolist(),
        )
        for row in rows
    )


def statistics(owner):
    rows = LexicalStatistics.objects.filter(tenant=owner.tenant_id).order_by("language")
    words = Term.objects.filter(tenant=owner.tenant_id, frequency__gt=0).order_by("language", "text")
    return (
        list(rows.values_list("language", "entries", "total_length")),
        list(words.values_list("language", "text", "frequency")),
    )


def passages(owner, document):
    rows = chunks_of(scope=scope_of(owner), document_id=document.pk).order_by("ordinal")
    return list(rows.values_list("ordinal", "kind", "text", "tokens", "parent__ordinal"))


def asked(llm):
    """How many requests there were since the last call."""
    count = len(llm.requests)
    llm.requests.clear()
    return count


# ── recording ───────────────────────────────────────────────────────────────────────────────────


def test_what_rules_wrote_because_the_model_was_down_is_recorded_and_counted(owner, kept, document):
    row = RepresentationRetry.objects.get()
    counts = retries_of_set(scope=scope_of(owner), set_id=kept.pk)

    assert (row.chunk.version_id, row.reason) == (document.live_version_id, "unavailable")
    assert (row.lacks_summary, row.lacks_questions, row.attempts) == (True, True, 0)
    assert (counts.unreached, counts.unusable, counts.given_up) == (1, 0, 0)
    assert counts == retries_of_document(scope=scope_of(owner), document=document)
    assert passages_by_rules()[("unavailable", "waiting")] == 1


def passages_by_rules():
    """(reason, state) → the number that `/metrics` gives."""
    families = text_string_to_metric_families(metrics_page().decode())
    [family] = [one for one in families if one.name == "ragsite_passages_by_rules"]
    return {(sample.labels["reason"], sample.labels["state"]): sample.value for sample in family.samples}


def test_the_metrics_are_told_without_the_database(monkeypatch):
    def down():
        raise OperationalError("connection refused")

    monkeypatch.setattr("ragsite.metrics_page.retries_counted", down)

    page = metrics_page().decode()

    assert "ragsite_answers_total" in page
    assert "ragsite_passages_by_rules" not in page


def test_where_nobody_asks_for_a_model_nothing_is_recorded(owner, llm, monkeypatch):
    rules = {"representations": {"summaries": True, "questions": True, "language_model": False}}
    ingest(owner, make_set(owners=[owner], options=rules), a=TEXT)
    ingest(owner, make_set(owners=[owner]), b=TEXT + " More.")
    monkeypatch.setattr("knowledge.services.model_slots.light_model", lambda: None)
    ingest(owner, make_set(owners=[owner], options=BOTH), c=TEXT + " Other.")

    assert not RepresentationRetry.objects.exists()
    assert llm.requests == []


def test_counts_say_nothing_of_documents_above_the_clearance(owner, kept, llm):
    low = make_user(clearance=1)
    kept.owners.add(low)
    ingest(owner, kept, clearance=3, a=TEXT)

    assert retries_of_set(scope=scope_of(owner), set_id=kept.pk).total == 1
    assert retries_of_set(scope=scope_of(low), set_id=kept.pk).total == 0


# ── the model answers again ─────────────────────────────────────────────────────────────────────


def test_the_entries_are_those_that_the_model_would_have_made_at_first(owner, kept, document, llm):
    llm.default = UP
    elsewhere = make_user(tenant=make_tenant())
    there = make_set(owners=[elsewhere], options=BOTH)
    ingest(elsewhere, there, a=TEXT)
    first = there.documents.get()
    epoch_advance(tenant_id=owner.tenant_id)
    before, cited = epoch_now(tenant_id=owner.tenant_id), passages(owner, document)
    assert entries(document) != entries(first)

    assert representations_retry() == 1

    assert entries(document) == entries(first)
    assert kinds(document) == ["body", "question", "question", "question", "summary"]
    assert statistics(owner) == statistics(elsewhere)
    counts = Document.objects.values_list("passages", "entries")
    assert counts.get(pk=document.pk) == counts.get(pk=first.pk) == (1, 5)
    assert passages(owner, document) == cited
    assert epoch_now(tenant_id=owner.tenant_id) == before + 1
    assert not RepresentationRetry.objects.exists()
    assert index_check() == []


@pytest.mark.full
def test_a_long_document_with_a_section_and_a_table_across_passages_is_made_as_at_first(owner, llm, monkeypatch):
    rows = "\n".join(f"| T{n} | {n} milliseconds in the cell of the network |" for n in range(40))
    text = (
        f"# Cells\n\n## North\n\n{TEXT}\n\n## Timers\n\n| Timer | Value |\n| --- | --- |\n{rows}\n\n## South\n\n{TEXT}"
    )
    options = {**BOTH, **SMALL}
    monkeypatch.setattr(representation_retries, "BATCH", 3)
    document = uploaded(owner, text, options)
    before = {row.ordinal: row.pk for row in chunks_of(scope=scope_of(owner), document_id=document.pk)}
    section = Chunk.objects.get(version__live_for=document, kind="section")
    due()
    llm.default = UP
    elsewhere = make_user(tenant=make_tenant())
    first = uploaded(elsewhere, text, options)

    assert representations_retry() > 3

    for totals in LexicalStatistics.objects.all():  # weights depend on the average length at their time
        reweighed(totals)
    assert entries(document) == entries(first)
    assert passages(owner, document) == passages(elsewhere, first)
    assert statistics(owner) == statistics(elsewhere)
    after = {row.ordinal: row.pk for row in chunks_of(scope=scope_of(owner), document_id=document.pk)}
    assert [ordinal for ordinal in before if before[ordinal] != after[ordinal]] == [section.ordinal]
    old = Chunk.objects.get(pk=section.pk)  # an outline that was cited can still be opened
    assert (old.text, old.retired is None) == (section.text, False)
    assert index_check() == []


def uploaded(owner, text, options):
    done = upload(owner, make_set(owners=[owner], options=options), content=text.encode())
    run_job(done.job.pk)
    return Document.objects.get(pk=done.document.pk)


@pytest.fixture
def outbox():
    outbox_watch(on=True)
    yield
    outbox_watch(on=False)


def test_another_search_backend_hears_of_the_new_entries(document, llm, outbox):
    llm.default = UP

    representations_retry()

    assert set(BackendChange.objects.values_list("document_id", flat=True)) == {document.pk}


def test_what_the_model_wrote_at_first_is_kept_until_it_writes_everything(owner, kept, llm):
    llm.script(UP)  # the summary; then it is down
    document = ingest(owner, kept, a=TEXT)["a"]
    row = RepresentationRetry.objects.get()
    assert (row.lacks_summary, row.lacks_questions) == (False, True)
    due()
    before = entries(document)

    llm.script(USELESS, UP)
    assert representations_retry() == 0
    assert entries(document) == before
    due()
    llm.default = UP

    assert representations_retry() == 1
    assert not RepresentationRetry.objects.exists()
    assert entries(document) != before


def test_a_part_that_the_model_writes_is_taken_and_the_rest_asked_for_again(document, llm):
    llm.script(UP, USELESS)

    assert representations_retry() == 1

    row = RepresentationRetry.objects.get()
    assert (row.lacks_summary, row.lacks_questions, row.reason, row.attempts) == (False, True, "refused", 1)
    assert index_check() == []


# ── the model fails again ───────────────────────────────────────────────────────────────────────


@pytest.mark.full
def test_the_first_request_without_an_answer_ends_the_run_and_the_pauses_grow(owner, kept, document, llm):
    ingest(owner, kept, **{f"b{n}": f"{TEXT} Note {n}." for n in range(5)})
    due()
    asked(llm)
    before, pauses = entries(document), []
    for _ in range(3):
        assert representations_retry() == 0
        assert asked(llm) == 2  # one passage, with one short retry
        assert representations_retry() == 0
        assert asked(llm) == 0  # it rests, also for what was not tried yet
        row = RepresentationRetry.objects.exclude(tried=None).order_by("-tried").first()
        pauses.append(round((row.not_before - row.tried).total_seconds()))
        RepresentationRetry.objects.filter(faults__gt=0).update(not_before=timezone.now())
        RepresentationRetry.objects.filter(faults=0).update(not_before=timezone.now() + timedelta(hours=9))

    assert pauses == [60, 120, 240]
    assert entries(document) == before
    assert set(RepresentationRetry.objects.values_list("reason", "attempts", "given_up")) == {("unavailable", 0, None)}


def test_when_it_answers_nobody_rests_any_more(owner, kept, document, llm):
    representations_retry()
    ingest(owner, kept, b=f"{TEXT} Note.")
    RepresentationRetry.objects.filter(faults=0).update(requested=timezone.now())
    llm.default = UP

    assert representations_retry() == 2
    assert not RepresentationRetry.objects.exists()


@pytest.mark.full
def test_answers_that_are_refused_are_asked_for_a_few_times_only(owner, kept, document, llm):
    llm.default = USELESS
    before = entries(document)
    for attempt in range(1, MAX_ATTEMPTS + 1):
        assert representations_retry() == 0
        assert (asked(llm), RepresentationRetry.objects.get().attempts) == (2, attempt)
        due()

    assert representations_retry() == 0
    assert asked(llm) == 0
    assert entries(document) == before
    counts = retries_of_set(scope=scope_of(owner), set_id=kept.pk)
    assert (counts.unreached, counts.unusable, counts.given_up) == (0, 0, 1)
    assert passages_by_rules()[("refused", "given_up")] == 1


def test_a_passage_that_the_model_does_not_take_keeps_no_other_from_it(owner, kept, document, llm):
    ingest(owner, kept, b=f"{TEXT} Note.")
    due()
    llm.script(Reply(status=400), Reply(status=400))
    llm.default = UP

    assert representations_retry() == 1

    row = RepresentationRetry.objects.get()
    assert (row.version_id, row.reason, row.attempts) == (document.live_version_id, "rejected", 1)


def test_an_unexpected_fault_with_one_passage_counts_for_that_one(owner, kept, document, llm, monkeypatch):
    text = "\n\n".join(f"# Part {n}\n\n{TEXT}" for n in range(3))
    kept.options = {**BOTH, **SMALL}
    kept.save()
    other = ingest(owner, kept, b=text)["b"]
    RepresentationRetry.objects.filter(version__live_for=document).delete()
    due()
    llm.default = UP
    bad = RepresentationRetry.objects.filter(chunk__kind="body").latest("pk").chunk_id
    real = representation_retries._prepared

    def prepared(row, made):
        return 1 / 0 if row.pk == bad else real(row, made)

    monkeypatch.setattr(representation_retries, "_prepared", prepared)
    waiting = RepresentationRetry.objects.count()

    assert representations_retry() == waiting - 1
    assert list(RepresentationRetry.objects.values_list("pk", "attempts")) == [(bad, 1)]
    assert other.live_version.chunks.exists()


# ── what goes first, and limits ─────────────────────────────────────────────────────────────────


def test_ingestion_goes_first_unless_a_passage_has_waited_long(owner, kept, document, llm):
    llm.default = UP
    at_work = IngestItem.objects.get()
    IngestItem.objects.filter(pk=at_work.pk).update(
        finished=None, stage="parsed", lease_until=timezone.now() + timedelta(minutes=1)
    )

    assert (representations_retry(), asked(llm)) == (0, 0)
    RepresentationRetry.objects.update(created=timezone.now() - timedelta(hours=2))
    assert representations_retry() == 1


def test_a_new_record_waits_a_moment(owner, kept, llm):
    ingest(owner, kept, a=TEXT)
    llm.default = UP

    assert representations_retry() == 0
    assert RepresentationRetry.objects.get().not_before > timezone.now()


def test_each_request_holds_a_slot_of_the_model(document, llm, redis_client, settings, monkeypatch):
    settings.MODEL_CONCURRENCY = 1
    llm.default = UP
    held = []

    class Watched(OpenAIChatModel):
        async def stream(self, messages, **options):
            held.append(redis_client.zcard("model-slots:llm"))
            async for event in super().stream(messages, **options):
                yield event

    monkeypatch.setattr("knowledge.services.model_slots.light_model", lambda: Watched(llm.url, "", "scripted"))

    assert representations_retry() == 1
    assert held == [1, 1]


def test_what_is_left_when_the_time_of_a_slice_is_over_is_another_slice(owner, kept, document, llm, monkeypatch):
    ingest(owner, kept, b=f"{TEXT} Note.")
    due()
    llm.default = UP
    monkeypatch.setattr(RetryRepresentations, "slice_seconds", 0)
    retries_start()
    job = Job.objects.get(kind=RETRY_REPRESENTATIONS)

    assert slice_run(job_id=job.pk)

    job.refresh_from_db()
    assert (job.state, job.done) == ("queued", 1)
    assert work_off(job).done == 2


# ── what has changed meanwhile ──────────────────────────────────────────────────────────────────


def delete(owner, document):
    document_delete(scope=scope_of(owner), actor=owner, document_id=document.pk)


def replace_version(owner, document):
    ingest(owner, document.sets.get(), a="Another text.")


def edit(owner, document):
    chunk = chunks_of(scope=scope_of(owner), document_id=document.pk).get()
    chunk_replace(scope=scope_of(owner), actor=owner, chunk_id=chunk.pk, text=f"{TEXT} It was edited.")


def add_questions(owner, document):
    chunk = chunks_of(scope=scope_of(owner), document_id=document.pk).get()
    chunk_questions_set(scope=scope_of(owner), actor=owner, chunk_id=chunk.pk, questions=["What is zircon?"])


def change_options(owner, document):
    row = document.sets.get()
    row.options = {"representations": {"summaries": True, "questions": True, "language_model": False}}
    row.save()


CHANGES = {
    "deleted": delete,
    "a new version": replace_version,
    "edited": edit,
    "given questions": add_questions,
    "other options": change_options,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("when", ["before", "while the model writes", "before it is stored"])
def test_what_has_changed_stays_as_it_is(owner, document, llm, monkeypatch, change, when):
    llm.default = UP
    places = {
        "while the model writes": "knowledge.services.representation_retries.document_represent",
        "before it is stored": "knowledge.services.representation_retries._settle",
    }
    if when in places:
        once_before(monkeypatch, places[when], lambda: CHANGES[change](owner, document))
    else:
        CHANGES[change](owner, document)
    seen = []
    monkeypatch.setattr(
        "knowledge.services.representation_retries.passage_reindex", lambda **more: seen.append("replaced")
    )

    assert representations_retry() == 0

    assert seen == []
    assert not RepresentationRetry.objects.filter(version=document.live_version_id).exists()
    assert index_check() == []


def test_an_edited_passage_that_is_ingested_again_while_the_model_is_down_is_the_owners(owner, document, llm):
    edit(owner, document)
    job = document_rebuild(scope=scope_of(owner), actor=owner, document_id=document.pk)
    run_job(job.pk)

    assert Chunk.objects.get(version__live_for=document).edit is not None
    assert not RepresentationRetry.objects.filter(version__live_for=document).exists()


# ── killed, or two at once ──────────────────────────────────────────────────────────────────────


class Killed(BaseException):
    """What nobody catches."""


@pytest.mark.parametrize("place", ["passage_embed", "passage_lock", "passage_reindex", "epoch_advance"])
def test_a_worker_that_is_killed_loses_and_doubles_nothing(owner, document, llm, monkeypatch, place):
    llm.default = UP
    before, words = entries(document), statistics(owner)
    module = "edits" if place == "epoch_advance" else "representation_retries"

    def kill(*args, **more):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(f"knowledge.services.{module}.{place}", kill)
        with pytest.raises(Killed):
            representations_retry()

    assert (entries(document), statistics(owner)) == (before, words)
    assert RepresentationRetry.objects.get().attempts == 0
    assert representations_retry() == 1
    assert kinds(document) == ["body", "question", "question", "question", "summary"]
    assert index_check() == []
    assert representations_retry() == 0


def test_one_worker_at_a_time_asks(owner, document, llm):
    llm.default = UP
    elsewhere = Job.objects.create(kind=RETRY_REPRESENTATIONS, tenant=make_tenant("elsewhere"))
    assert job_claim(job_id=elsewhere.pk)
    retries_start()
    job = Job.objects.get(kind=RETRY_REPRESENTATIONS, tenant=owner.tenant)

    assert not slice_run(job_id=job.pk)
    assert asked(llm) == 0

    job_release(Job.objects.get(pk=elsewhere.pk), rest_seconds=60)
    assert work_off(job).done == 1


def test_a_worker_that_comes_late_replaces_nothing_a_second_time(owner, document, llm):
    """Its lease lapsed, and another worker was quicker."""
    llm.default = UP
    retries_start()
    job = job_claim(job_id=Job.objects.get(kind=RETRY_REPRESENTATIONS).pk)
    rows = representation_retries.retries_next(tenant_id=owner.tenant_id)
    made = representation_retries._represent(rows, representation_retries._options(rows[0]), background_model())
    fresh = representation_retries._prepared(rows[0], made)
    representations_retry()
    ids = set(IndexEntry.objects.values_list("pk", flat=True))

    with pytest.raises(JobLostError):
        representation_retries._settle(job, rows[0], fresh, {})

    assert set(IndexEntry.objects.values_list("pk", flat=True)) == ids


class TestRetriesAsJobs(KindContract):
    """Of one passage, whose rights nobody changes meanwhile."""

    @pytest.fixture(autouse=True)
    def _document(self, document, llm):
        llm.default = UP
        self.document = document

    def start(self):
        retries_start()
        return Job.objects.get(kind=RETRY_REPRESENTATIONS)

    def outcome(self, job):
        return kinds(self.document), RepresentationRetry.objects.count()

    def whole(self):
        return ["body", "question", "question", "question", "summary"], 0


def test_publishing_waits_for_a_replacement_and_not_the_other_way_round(owner, kept, document, llm, monkeypatch):
    llm.default = UP
    publishing = Beside(lambda: ingest(owner, kept, b=f"{TEXT} Note."))
    real = representation_retries.passage_reindex

    def reindex(**more):
        publishing.start_and_wait_for_lock()
        real(**more)

    monkeypatch.setattr(representation_retries, "passage_reindex", reindex)

    assert representations_retry() == 1

    publishing.end()
    assert index_check() == []


# ── an owner asks for it at once ────────────────────────────────────────────────────────────────


def test_an_owner_does_not_wait_for_the_pause(owner, kept, document, llm):
    representations_retry()
    llm.default = UP
    asked(llm)
    assert (representations_retry(), asked(llm)) == (0, 0)

    assert set_representations_retry(scope=scope_of(owner), actor=owner, set_id=kept.pk) == 1

    assert representations_retry() == 1
    event = AuditEvent.objects.filter(action="set.enrich").get()
    assert (event.actor, event.target) == (owner, "cells")


def test_an_owner_may_have_tried_what_was_given_up(owner, kept, document, llm):
    RepresentationRetry.objects.update(given_up=timezone.now(), attempts=MAX_ATTEMPTS, reason="refused")
    llm.default = UP
    assert representations_retry() == 0

    set_representations_retry(scope=scope_of(owner), actor=owner, set_id=kept.pk)

    assert representations_retry() == 1


def test_a_request_that_meets_a_silent_model_waits_like_the_others(owner, kept, document, llm):
    set_representations_retry(scope=scope_of(owner), actor=owner, set_id=kept.pk)
    representations_retry()
    asked(llm)

    assert (representations_retry(), asked(llm)) == (0, 0)
    assert RepresentationRetry.objects.get().requested is None


def test_only_who_keeps_the_set_may_ask(owner, kept, document):
    member = make_user()
    with pytest.raises(NotAllowedError):
        set_representations_retry(scope=scope_of(member), actor=member, set_id=kept.pk)

    assert RepresentationRetry.objects.get().requested is None


def test_documents_that_are_also_in_sets_of_others_are_left_to_the_schedule(owner, kept, document):
    document.sets.add(make_set("others", owners=[make_user()]))

    assert set_representations_retry(scope=scope_of(owner), actor=owner, set_id=kept.pk) == 0


def test_the_request_is_sent_when_it_is_committed(owner, kept, document, monkeypatch):
    sent = []
    monkeypatch.setattr("work.queue.current_app.send_task", lambda name, **more: sent.append(name))
    with transaction.atomic():
        set_representations_retry(scope=scope_of(owner), actor=owner, set_id=kept.pk)
        assert sent == []

    assert sent == ["work.run_slice"]

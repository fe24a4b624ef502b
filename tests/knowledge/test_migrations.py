"""Data of earlier schemas is carried over."""

from __future__ import annotations

import time
from datetime import timedelta
from importlib import import_module

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.test.utils import CaptureQueriesContext

from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.models import (
    CorpusEpoch,
    Document,
    DocumentNames,
    DocumentVersion,
    IndexEntry,
    IngestJob,
    LexiconChange,
    RepresentationRetry,
    SiteOptions,
    SyncRun,
    TenantVectors,
    VectorCells,
    WholeVector,
)
from knowledge.selectors import job_get
from knowledge.services import document_delete, vector_rotations
from knowledge.services.edits import chunk_replace
from knowledge.services.sources import sources_start_due, sync_run
from knowledge.services.sources.sync_runs import LEASE_SECONDS
from tests.factories import ingest, make_admin, make_set, scope_of
from tests.knowledge.sources.building import folder_source
from tests.migrating import migrations_apply, migrations_unapply, models_rendered_late

pytestmark = pytest.mark.django_db(transaction=True)

RUNS = ("knowledge", "0008", "0009")
COUNTS = {"found": 7, "new": 2, "changed": 1, "left_out": 0, "deleted": 0, "refused_more": 0, "unchanged": 3}
MESSAGES = {"refused": [{"path": "a.bin", "code": "x", "message": "No."}], "faults": [], "notes": []}
LONG = " ".join(f"The cell number {n} serves slice {n} with timer T{n} of the network." for n in range(12))
EMPTY = {"state": "waiting", "trigger": "", "waiting": [], "request": {}, "heartbeat": 0.0, "token": "", "before": {}}


@pytest.fixture
def owner():
    return make_admin()


@pytest.fixture
def old_jobs(owner):
    """Makes jobs as they were stored before runs had rows; ends with the present schema, whatever happens."""
    made = migrations_unapply(*RUNS).get_model("knowledge", "IngestJob").objects

    def make(**state):
        report = {**COUNTS, **MESSAGES, **EMPTY, **state}
        return made.create(tenant_id=owner.tenant_id, created_by_id=owner.pk, kind="sync", report=report).pk

    yield make
    migrations_apply(*RUNS)


def test_runs_that_wait_go_on_or_are_over_become_rows_and_reports_again(old_jobs, owner, settings, tmp_path):
    beat = time.time() - 20
    state = {"state": "waiting", "trigger": "schedule", "waiting": [5, 3], "heartbeat": beat, "before": {"found": 4}}
    waiting = old_jobs(**state)
    running = old_jobs(state="running", trigger="person", waiting=[3], heartbeat=beat, token="abc", before={"found": 4})
    done = old_jobs(state="done", trigger="command", heartbeat=beat)
    fetch = old_jobs(state="waiting", trigger="webhook", request={"url": "https://docs.invalid/p"}, heartbeat=beat)
    archive = old_jobs(state="done", trigger="archive")
    lost = old_jobs(state="running", token="abc", heartbeat=time.time() - LEASE_SECONDS - 1, before={"found": 0})

    migrations_apply(*RUNS)

    runs = {run.pk: run for run in SyncRun.objects.all()}
    assert {pk: run.state for pk, run in runs.items()} == {
        waiting: "waiting",
        running: "running",
        done: "done",
        fetch: "waiting",
        lost: "running",
    }
    assert archive not in runs
    assert (runs[waiting].trigger, runs[waiting].pending_sources) == ("schedule", [5, 3])
    assert runs[running].checkpoint == {"found": 4}
    assert runs[running].lease_until - runs[running].heartbeat == timedelta(seconds=LEASE_SECONDS)
    assert runs[running].heartbeat.timestamp() == pytest.approx(beat)
    assert runs[fetch].request == {"url": "https://docs.invalid/p"}
    assert all(job.report == {**COUNTS, **MESSAGES} for job in IngestJob.objects.all())
    status = job_get(scope=scope_of(owner), job_id=done)
    assert (status.state, [error["code"] for error in status.errors]) == ("partial", ["x"])

    old = migrations_unapply(*RUNS).get_model("knowledge", "IngestJob").objects

    report = old.get(pk=waiting).report
    assert report.pop("heartbeat") == pytest.approx(beat)
    wanted = {**COUNTS, **MESSAGES, **EMPTY, **state}
    assert report == {name: value for name, value in wanted.items() if name != "heartbeat"}
    assert old.get(pk=archive).report == {**COUNTS, **MESSAGES, **EMPTY, "state": "done", "trigger": "archive"}

    migrations_apply(*RUNS)

    check_taken_up_again(owner, settings, tmp_path, job_id=lost)


def check_taken_up_again(owner, settings, folder, *, job_id):
    """A run that a worker of before has lost goes on from where it was."""
    settings.SOURCE_FOLDERS = [str(folder)]
    (folder / "a.txt").write_text("one")
    source = folder_source(owner, folder)
    SyncRun.objects.filter(pk=job_id).update(pending_sources=[source.pk])

    assert job_get(scope=scope_of(owner), job_id=job_id).state == "running"
    assert job_id in sources_start_due()
    done = sync_run(job_id=job_id)

    assert (done.run.state, done.report["found"], done.report["new"]) == ("done", 1, COUNTS["new"] + 1)


# ── vectors, names, and what the language model did not write ────────────────────────────────────

VECTORS = ("knowledge", "0014", "0015", "0016", "0017", "0018", "0046", "0051", "0069")
ALL_FAILED = {"summary.extractive": 2, "question.rules": 2, "section.outline": 1, "model.unavailable": 3}
REPORTS = {
    "failed": ALL_FAILED,
    "summaries": {"summary.extractive": 1, "model.skipped": 1, "model.unavailable": 3},
    "partly": {**ALL_FAILED, "summary.model": 4, "question.model": 4, "section.model": 1},
    "refused": {"summary.extractive": 1, "model.refused": 1},
    "without_model": {"summary.extractive": 1, "question.rules": 1},
    "deleted": ALL_FAILED,
    "edited": ALL_FAILED,
}


def test_vectors_names_and_missing_representations_of_before_are_carried_over(owner):
    versions = ingest_with_reports(owner)
    vectors, names = whole_vectors(), document_terms()

    try:
        old = migrations_unapply(*VECTORS).get_model("knowledge", "IndexEntry").objects
        kept = {entry.pk: list(entry.fine) for entry in old.all()}
    finally:
        migrations_apply(*VECTORS)
        keys_of_several_models()

    assert len(vectors) > len(REPORTS)
    assert kept == vectors == whole_vectors()
    check_retries(versions)
    deleted = DocumentVersion.objects.get(pk=versions["deleted"]).document_id
    assert document_terms() == {document: terms for document, terms in names.items() if document != deleted}
    assert any("/ran/tilt plan" in terms for terms in names.values())


def ingest_with_reports(owner):
    """Documents whose reports count what a language model did not write; ids of their versions by name."""
    home = make_set(owners=[owner], options={"representations": {"summaries": True, "language_model": False}})
    documents = ingest(owner, home, **{name: f"{LONG} Note {name}." for name in REPORTS})
    ingest(
        owner,
        make_set("common", owners=[owner]),
        **{"RAN/tilt_plan": "Tilt the antenna.", "b": "随机接入从前导码开始。"},
    )
    for name, counts in REPORTS.items():
        version = documents[name].live_version
        version.report = {"representations": counts}
        version.save()
        version.chunks.create(ordinal=9, kind="section", text="Outline", tokens=2)
        version.chunks.create(ordinal=10, text="Too short for a summary.", tokens=5)
    versions = {name: document.live_version_id for name, document in documents.items()}
    DocumentVersion.objects.get(pk=versions["summaries"]).chunks.filter(kind="section").delete()
    document_delete(scope=scope_of(owner), actor=owner, document_id=documents["deleted"].pk)
    passage = DocumentVersion.objects.get(pk=versions["edited"]).chunks.get(ordinal=0)
    chunk_replace(scope=scope_of(owner), actor=owner, chunk_id=passage.pk, text="Mine.")
    return versions


def check_retries(versions):
    """Passages that rules described for a model that was down are recorded, except deleted and edited ones."""
    rows = RepresentationRetry.objects.order_by("version_id", "chunk__ordinal")
    found = rows.values_list("version_id", "chunk__ordinal", "lacks_summary", "lacks_questions", "reason", "attempts")
    wanted = {
        (versions["failed"], 0, True, True, "unavailable", 0),
        (versions["failed"], 9, True, False, "unavailable", 0),
        (versions["failed"], 10, False, True, "unavailable", 0),
        (versions["summaries"], 0, True, False, "unavailable", 0),
    }
    assert set(found.exclude(version_id=versions["edited"])) == wanted
    edited = rows.filter(version_id=versions["edited"])
    assert list(edited.values_list("chunk__ordinal", flat=True)) == [9, 10]


def keys_of_several_models():
    """The table of vectors was made anew as 0014 makes it; 0041 has changed its key since."""
    with connection.cursor() as cursor:
        cursor.execute(import_module("knowledge.migrations.0041_search_models").KEYS)


def whole_vectors():
    return {one.entry_id: list(one.vector) for one in WholeVector.objects.all()}


def document_terms():
    return {row.document_id: row.terms for row in DocumentNames.objects.all()}


# ── identity of documents ───────────────────────────────────────────────────────────────────────

HOMES = ("knowledge", "0020", "0021")


def test_identities_get_homes_and_records_of_several_keepers_stay_apart_on_the_way_back(owner):
    first, second = make_set("first", owners=[owner]), make_set("second", owners=[owner])
    document = ingest(owner, first, second, e1="Alpha.")["e1"]
    try:
        migrations_unapply(*HOMES)
        migrations_apply(*HOMES)
        document.refresh_from_db()
        assert document.home == first.pk
        values = {"tenant": owner.tenant, "source": document.source, "external_id": "e1", "title": "Theirs"}
        other = Document.objects.create(**values, sha256="0" * 64, home=second.pk)
        migrations_unapply(*HOMES)
    finally:
        migrations_apply(*HOMES)

    assert list(Document.objects.order_by("pk").values_list("external_id", flat=True)) == ["e1", f"e1~{other.pk}"]


# ── indexes ─────────────────────────────────────────────────────────────────────────────────────

CELLS = ("knowledge", "0051", "0069")  # which drops one of the two tables
CELL_INDEXES = ["knowledge_whole_cell"]
BROKEN_OFF = """
CREATE INDEX knowledge_whole_cell ON knowledge_wholevector (tenant_id, cell);
CREATE INDEX knowledge_latent_cell ON knowledge_latentvector (tenant_id);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'knowledge_latent_cell'::regclass
"""  # one as 0046 made it before, one whose build was broken off


def test_indexes_of_cells_are_built_beside_other_work_and_once_more_where_that_was_broken_off():
    migrations_unapply(*CELLS)
    try:
        with connection.cursor() as cursor:
            cursor.execute(BROKEN_OFF)
    finally:
        with CaptureQueriesContext(connection) as queries:
            migrations_apply(*CELLS)

    made = [one["sql"] for one in queries if "CREATE INDEX" in one["sql"]]
    assert [sql.split(" ON ")[0] for sql in made] == ['CREATE INDEX CONCURRENTLY "knowledge_latent_cell"']
    valid = "SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE indisvalid"
    with connection.cursor() as cursor:
        cursor.execute(f"{valid} AND relname LIKE 'knowledge_%_cell' ORDER BY relname")
        assert [name for (name,) in cursor.fetchall()] == CELL_INDEXES


# ── lexicons ────────────────────────────────────────────────────────────────────────────────────

QUOTATIONS = ("knowledge", "0056", "0066")  # the last one takes a table away that the first one changes


def test_the_history_of_lexicons_keeps_no_quotations_of_before(owner):
    values = {"text": "CA", "status": "candidate"}
    quoted = {**values, "evidence": "Carrier Aggregation (CA)"}
    common = {"tenant_id": owner.tenant_id, "text": "CA"}
    try:
        changes = migrations_unapply(*QUOTATIONS).get_model("knowledge", "LexiconChange").objects
        changes.create(**common, before=None, after=quoted)
        changes.create(**common, before=quoted, after=None)
    finally:
        migrations_apply(*QUOTATIONS)
    kept = list(LexiconChange.objects.order_by("pk").values_list("before", "after"))
    try:
        changes = migrations_unapply(*QUOTATIONS).get_model("knowledge", "LexiconChange").objects
        back = list(changes.order_by("pk").values_list("before", "after"))
    finally:
        migrations_apply(*QUOTATIONS)

    assert kept == [(None, values), (values, None)]
    assert back == [(None, {**values, "evidence": ""}), ({**values, "evidence": ""}, None)]


# ── vectors ─────────────────────────────────────────────────────────────────────────────────────

DOMAIN_VECTORS = ("knowledge", "0069")
JOINED = """
INSERT INTO knowledge_latentvector (entry_id, latent_id, chunk_id, version_id, tenant_id, representation,
    embedding_model, vector, cell)
SELECT entry_id, %(latent)s, chunk_id, version_id, tenant_id, representation, 'm+latent-1', vector, 0
FROM knowledge_wholevector
"""


def test_domain_vectors_go_with_their_cells_and_what_was_answered_by_them(owner):
    ingest(owner, make_set("first", owners=[owner]), e1="Alpha beta gamma.")
    before = CorpusEpoch.objects.get(tenant=owner.tenant_id).value
    try:
        apps = migrations_unapply(*DOMAIN_VECTORS)
        latent = apps.get_model("knowledge", "LatentModel").objects.create(
            tenant_id=owner.tenant_id, model="m", number=1, passages=1
        )
        apps.get_model("knowledge", "LatentTerm").objects.create(latent=latent, term_id=1, rarity=1, vector=[1] * 384)
        with connection.cursor() as cursor:
            cursor.execute(JOINED, {"latent": latent.pk})
        apps.get_model("knowledge", "TenantVectors").objects.update(latent=latent.pk, latents=[latent.pk])
        packed = {"centres": b"", "projection": b"", "counts": b"", "passages": 1}
        cells = apps.get_model("knowledge", "VectorCells").objects
        for name in ("m", "m+latent-1"):
            cells.create(tenant_id=owner.tenant_id, name=name, **packed)
    finally:
        migrations_apply(*DOMAIN_VECTORS)

    tables = connection.introspection.table_names()
    assert not [name for name in tables if name.startswith("knowledge_latent")]
    assert [cells.name for cells in VectorCells.objects.all()] == ["m"]
    assert CorpusEpoch.objects.get(tenant=owner.tenant_id).value > before
    assert WholeVector.objects.exists()


ROTATIONS = ("knowledge", "0071")


def test_rotations_of_corpora_give_way_to_the_packaged_one_by_maintenance(owner, monkeypatch):
    monkeypatch.setattr(vector_rotations, "SETTLE_SECONDS", 0.0)
    ingest(owner, make_set("first", owners=[owner]), e1="Alpha beta gamma.")
    before = IndexEntry.objects.get()
    try:
        apps = migrations_unapply(*ROTATIONS)
        fitted = apps.get_model("knowledge", "VectorRotation").objects.create(
            tenant_id=owner.tenant_id, model=before.embedding_model, projection=b"", passages=1
        )
        apps.get_model("knowledge", "TenantVectors").objects.update(rotation=fitted.pk, former=[-1])
        IndexEntry.objects.update(rotation=fitted.pk, coarse=[1.0] * 384)
    finally:
        migrations_apply(*ROTATIONS)

    state = TenantVectors.objects.get()
    assert (state.rotation, state.former, state.is_behind) == (-1, [], True)
    assert vector_rotations.rotations_refresh() == 1
    assert not TenantVectors.objects.get().is_behind
    moved = IndexEntry.objects.get()
    assert moved.rotation == -1
    assert list(moved.coarse) == pytest.approx(list(before.coarse), abs=2e-3)  # from the stored halves


# ── options ─────────────────────────────────────────────────────────────────────────────────────

FORMER_OPTIONS = ("knowledge", "0070")


def test_options_that_became_fields_leave_the_settings_of_sites_and_sets(owner):
    stored = {"retrieval": {"top_k": 7, "alpha_slope": 2.0}, "answer": {"loop_seconds": 30.0}}
    SiteOptions.objects.update_or_create(tenant=owner.tenant, defaults={"options": stored})
    home = make_set("first", owners=[owner], options=stored)
    try:
        migrations_unapply(*FORMER_OPTIONS)
    finally:
        migrations_apply(*FORMER_OPTIONS)

    home.refresh_from_db()
    assert (
        home.options
        == SiteOptions.objects.get(tenant=owner.tenant).options
        == {"retrieval": {"top_k": 7}, "answer": {}}
    )


# ── everything, in the long form ────────────────────────────────────────────────────────────────


@pytest.mark.full
def test_all_apps_go_back_behind_the_first_of_these_and_come_again(owner):
    document = ingest(owner, make_set("first", owners=[owner]), e1="Alpha.")["e1"]
    leaves = MigrationExecutor(connection).loader.graph.leaf_nodes()
    try:
        with models_rendered_late():
            MigrationExecutor(connection).migrate(
                [("knowledge", "0007_options_history"), ("accounts", "0007_drop_axes")]
            )
    finally:
        MigrationExecutor(connection).migrate(leaves)

    document.refresh_from_db()
    assert document.state == Document.State.LIVE
    assert document_terms()[document.pk]


def test_numbers_of_epochs_go_on_from_the_highest_in_use(owner):
    CorpusEpoch.objects.create(tenant_id=owner.tenant_id, value=500, everywhere=400)
    migrations_unapply("knowledge", "0068")

    migrations_apply("knowledge", "0068")

    epoch_advance(tenant_id=owner.tenant_id)
    epoch = CorpusEpoch.objects.get(tenant_id=owner.tenant_id)
    assert epoch.value == epoch.everywhere > 500

"""Data of earlier schemas is carried over."""

from __future__ import annotations

import time
from importlib import import_module

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.models import (
    CorpusEpoch,
    Document,
    DocumentNames,
    DocumentVersion,
    EmbedderSwitch,
    IndexEntry,
    IngestJob,
    LexiconChange,
    QueryAdapter,
    RepresentationRetry,
    RerankerFit,
    SearchModel,
    SetEmbedder,
    SiteOptions,
    Source,
    SyncRun,
    TenantVectors,
    VectorCells,
    WholeVector,
)
from knowledge.queue import (
    FILL_SET_VECTORS,
    FILL_VECTORS,
    set_embedder_subject,
    switch_subject,
)
from knowledge.selectors import job_get
from knowledge.services import document_delete, vector_rotations
from knowledge.services.edits import chunk_replace
from knowledge.services.fill_jobs import fill_of
from tests.factories import ingest, make_admin, make_set, scope_of
from tests.knowledge.sources.building import folder_source, sync_run
from tests.migrating import long_released, migrations_apply, migrations_unapply, models_rendered_late
from work.claims import jobs_sweep
from work.models import Job

pytestmark = pytest.mark.django_db(transaction=True)

RUNS = ("knowledge", "0008", "0009", "0072", "0073", "0074")
GONE = [900_005, 900_003]  # ids of no source
COUNTS = {"found": 7, "new": 2, "changed": 1, "left_out": 0, "deleted": 0, "refused_more": 0, "unchanged": 3}
MESSAGES = {"refused": [{"path": "a.bin", "code": "x", "message": "No."}], "faults": [], "notes": []}
LONG = " ".join(f"The cell number {n} serves slice {n} with timer T{n} of the network." for n in range(12))
EMPTY = {"state": "waiting", "trigger": "", "waiting": [], "request": {}, "heartbeat": 0.0, "token": "", "before": {}}


@pytest.fixture
def owner():
    return make_admin()


@pytest.fixture
def reading(owner):
    """Two sources that seem to be read."""
    values = {"tenant": owner.tenant, "owner": owner, "kind": "folder", "outcome": "running"}
    return [Source.objects.create(name=name, **values) for name in ("read", "forgotten")]


@pytest.fixture
def old_jobs(owner, reading):
    """Makes jobs as they were stored before runs had rows; ends with the present schema, whatever happens."""
    made = migrations_unapply(*RUNS).get_model("knowledge", "IngestJob").objects

    def make(**state):
        report = {**COUNTS, **MESSAGES, **EMPTY, **state}
        return made.create(tenant_id=owner.tenant_id, created_by_id=owner.pk, kind="sync", report=report).pk

    yield make
    migrations_apply(*RUNS)


@long_released
def test_runs_that_wait_go_on_or_are_over_become_rows_and_reports_again(old_jobs, owner, reading, settings, tmp_path):
    beat = time.time() - 20
    source, without_run = reading
    state = {"state": "waiting", "trigger": "schedule", "waiting": GONE, "heartbeat": beat, "before": {"found": 4}}
    waiting = old_jobs(**state)
    running = old_jobs(
        state="running", trigger="person", waiting=[source.pk], heartbeat=beat, token="abc", before={"found": 4}
    )
    done = old_jobs(state="done", trigger="command", heartbeat=beat)
    fetch = old_jobs(state="waiting", trigger="webhook", request={"url": "https://docs.invalid/p"}, heartbeat=beat)
    archive = old_jobs(state="done", trigger="archive")
    lost = old_jobs(state="running", token="abc", heartbeat=time.time() - 301, before={"found": 0})

    migrations_apply(*RUNS)

    runs = {run.pk: run for run in SyncRun.objects.select_related("work")}
    assert {pk: run.state for pk, run in runs.items()} == {
        waiting: "waiting",
        running: "waiting",  # for the next worker: those of before are gone
        done: "done",
        fetch: "waiting",
        lost: "waiting",
    }
    assert archive not in runs
    work = runs[waiting].work
    assert (runs[waiting].trigger, work.kind, work.subject) == ("schedule", "knowledge.sync_sources", f"job:{waiting}")
    assert (work.tenant_id, work.author_id) == (owner.tenant_id, owner.pk)
    assert work.arguments == {"job_id": waiting, "sources": GONE, "trusted_folder": ""}
    assert runs[running].work.checkpoint == {"position": 0, "counts": {"found": 4}}
    assert runs[fetch].request == {"url": "https://docs.invalid/p"}
    assert (runs[fetch].work.kind, runs[fetch].work.arguments) == ("knowledge.fetch_page", {"job_id": fetch})
    source.refresh_from_db()
    assert (source.run_id, source.outcome) == (running, "running")
    without_run.refresh_from_db()
    assert (without_run.run_id, without_run.outcome) == (None, "failed")
    assert all(job.report == {**COUNTS, **MESSAGES} for job in IngestJob.objects.all())
    status = job_get(scope=scope_of(owner), job_id=done)
    assert (status.state, [error["code"] for error in status.errors]) == ("partial", ["x"])

    old = migrations_unapply(*RUNS).get_model("knowledge", "IngestJob").objects

    report = old.get(pk=waiting).report
    assert report.pop("heartbeat") == pytest.approx(time.time(), abs=300)  # when it was taken back
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
    work = SyncRun.objects.get(pk=job_id).work
    work.arguments = {**work.arguments, "sources": [source.pk]}
    work.save(update_fields=["arguments"])

    assert job_get(scope=scope_of(owner), job_id=job_id).state == "queued"
    assert jobs_sweep() > 0
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


@long_released
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


@long_released
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


@long_released
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


@long_released
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


@long_released
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


@long_released
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


@long_released
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


NOBODY_SETS = ("knowledge", "0080")


@pytest.mark.parametrize(
    ("site", "of_set", "site_after", "set_after"),
    [
        (
            {"retrieval": {"top_k": 7, "exact": False}, "answer": {"loop_tokens": 900, "style": "simple"}},
            {"retrieval": {"query_adapter": 0, "fused_limit": 40}, "representations": {"captions": False}},
            {"retrieval": {"top_k": 7}, "answer": {"style": "simple"}},
            {"retrieval": {"fused_limit": 40}, "representations": {}},
        ),
        (
            {"facts": {"extract": True, "entities": False}},
            {"facts": {"model_passages": 0}},
            {"facts": {"reading": "model", "entities": False}},
            {"facts": {"reading": "rules"}},
        ),
        (
            {"facts": {"model_passages": 0}},
            {"facts": {"extract": True}},
            {"facts": {}},
            {"facts": {"reading": "rules"}},
        ),
        (
            {"facts": {"extract": True, "model_passages": 90}},
            {"facts": {"extract": False}},
            {"facts": {"reading": "model"}},
            {"facts": {"reading": "off"}},
        ),
        ({"facts": {"extract": True}}, {"facts": {}}, {"facts": {"reading": "model"}}, {"facts": {}}),
    ],
)
def test_options_that_nobody_sets_leave_the_settings_and_who_reads_for_facts_stays(
    owner, site, of_set, site_after, set_after
):
    SiteOptions.objects.update_or_create(tenant=owner.tenant, defaults={"options": site})
    home = make_set("first", owners=[owner], options=of_set)
    try:
        migrations_unapply(*NOBODY_SETS)
    finally:
        migrations_apply(*NOBODY_SETS)

    home.refresh_from_db()
    assert SiteOptions.objects.get(tenant=owner.tenant).options == site_after
    assert home.options == set_after


# ── background work ─────────────────────────────────────────────────────────────────────────────

FILLS = ("knowledge", "0076")


@pytest.fixture
def fills(owner):
    """A change of the site's model that is being made, one of a set that is paused, and one that is ready."""
    model = SearchModel.objects.create(task="embed", provider="server", name="m", url="http://m", vectors="m")
    switch = EmbedderSwitch.objects.create(target=model, model="m", author=owner)
    named = {"tenant_id": owner.tenant_id, "target": model, "model": "m", "number": 1, "author": owner}
    homes = [make_set(name, owners=[owner]) for name in ("first", "second")]
    paused, ready = (
        SetEmbedder.objects.create(**named, knowledge_set=home, state=state)
        for home, state in zip(homes, ("paused", "ready"), strict=True)
    )
    return switch, paused, ready


@long_released
def test_vectors_that_are_being_made_go_on_as_jobs(owner, fills):
    switch, paused, ready = fills
    before = migrations_unapply(*FILLS)
    try:
        failed = {"error_code": "embedder_refused", "error_data": {"reason": "answer_format"}}
        switches = before.get_model("knowledge", "EmbedderSwitch").objects
        switches.filter(pk=switch.pk).update(done=3, total=9, **failed)
        before.get_model("knowledge", "SetEmbedder").objects.filter(pk__in=[paused.pk, ready.pk]).update(
            done=4, total=4, heartbeat=timezone.now()
        )
    finally:
        migrations_apply(*FILLS)

    site = fill_of(FILL_VECTORS, switch_subject(switch.pk))
    assert (site.state, site.done, site.total, site.author_id) == ("queued", 3, 9, None)
    assert {"error_code": site.error_code, "error_data": site.error_data} == failed
    of_sets = [fill_of(FILL_SET_VECTORS, set_embedder_subject(row.pk)) for row in (paused, ready)]
    assert [(job.state, job.done, job.tenant_id) for job in of_sets] == [
        ("paused", 4, owner.tenant_id),
        ("done", 4, owner.tenant_id),
    ]


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


@long_released
def test_numbers_of_epochs_go_on_from_the_highest_in_use(owner):
    CorpusEpoch.objects.create(tenant_id=owner.tenant_id, value=500, everywhere=400)
    migrations_unapply("knowledge", "0068")

    migrations_apply("knowledge", "0068")

    epoch_advance(tenant_id=owner.tenant_id)
    epoch = CorpusEpoch.objects.get(tenant_id=owner.tenant_id)
    assert epoch.value == epoch.everywhere > 500


# ── trainings ───────────────────────────────────────────────────────────────────────────────────

TRAININGS = ("knowledge", "0077", "0078")


@long_released
def test_trainings_go_on_as_jobs_and_come_back(owner):
    home = make_set("radio", owners=[owner])
    common = {"tenant_id": owner.tenant_id, "author_id": owner.pk}
    of_set = {**common, "knowledge_set_id": home.pk, "model": "words", "origins": ["title"]}
    fault = {"error_code": "adapter_training", "error_message": "It was …"}
    lost = {**fault, "error_data": {"reason": "lost"}}
    few = {**fault, "error_data": {"reason": "few", "found": 1, "least": 20}}
    try:
        apps = migrations_unapply(*TRAININGS)
        adapters, fits = (apps.get_model("knowledge", name).objects for name in ("QueryAdapter", "RerankerFit"))
        adapters.create(**of_set, number=1, state="ready", weights=b"w", round=7, rounds=40, seconds=9.5, starts=1)
        adapters.create(**of_set, number=2, state="failed", **lost)
        adapters.create(**of_set, number=3, state="failed", **few)
        under_way = {"starts": 2, "slices": 1, "checkpoint": b"state", "figures": {"searched": 3, "to_search": 8}}
        adapters.create(**of_set, number=4, state="training", **under_way)
        adapters.create(**of_set, number=5, state="no_gain")
        fits.create(**common, number=1, state="queued")
    finally:
        migrations_apply(*TRAININGS)
    shown = ("state", "done", "total", "error_code", "error_data", "attempt")
    jobs = list(Job.objects.filter(kind="evaluation.train_adapter").order_by("pk"))
    fit_job = Job.objects.get(kind="evaluation.fit_reranker")
    reached = QueryAdapter.objects.get(number=4)
    states = list(QueryAdapter.objects.order_by("number").values_list("state", "reason"))
    try:
        apps = migrations_unapply(*TRAININGS)
        rows = apps.get_model("knowledge", "QueryAdapter").objects.order_by("number")
        back = list(rows.values_list("state", "round", "rounds", "seconds", "error_code", "error_data"))
    finally:
        migrations_apply(*TRAININGS)

    assert [tuple(getattr(job, name) for name in shown) for job in jobs] == [
        ("done", 7, 40, "", {}, 1),
        ("failed", 0, 0, "interrupted", {}, 0),
        ("failed", 0, 0, "adapter_training", few["error_data"], 0),
        ("queued", 0, 0, "", {}, 2),
        ("done", 0, 0, "", {}, 0),
    ]
    failed = ("dropped", "failed")
    assert states == [("ready", ""), failed, failed, ("building", ""), ("dropped", "no_gain")]
    assert jobs[3].figures == {"searched": 3, "to_search": 8, "seconds": 0.0}
    assert (reached.state, bytes(reached.checkpoint)) == ("building", b"state")
    assert (fit_job.state, fit_job.subject) == ("queued", f"version:{RerankerFit.objects.get().pk}")
    assert back == [
        ("ready", 7, 40, 9.5, "", {}),
        ("failed", 0, 0, 0.0, "interrupted", {}),
        ("failed", 0, 0, 0.0, "adapter_training", few["error_data"]),
        ("queued", 0, 0, 0.0, "", {}),
        ("no_gain", 0, 0, 0.0, "", {}),
    ]

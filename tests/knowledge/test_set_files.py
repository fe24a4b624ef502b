"""A set travels: what arrives is what has left, whatever happens on the way."""

from __future__ import annotations

import asyncio
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command

from accounts.errors import MissingRightError, NameTakenError, NotAllowedError, NotFoundError
from accounts.models import AuditEvent
from chat.answering.answer_config import resolve_answer_config
from chat.answering.context import AnswerContext, build_question
from chat.answering.pipeline import compute_answer
from chat.answers.approval import answer_approve
from chat.models import ApprovedAnswer
from chat.types import AnswerRecord, AnswerRequest, ignore_event
from evaluation.models import GoldenCase, GoldenSet
from knowledge.access_errors import QuotaExceededError
from knowledge.indexes.checks import frequencies_drift, incomplete_documents, passages_drift, totals_drift
from knowledge.model_registry import embedder
from knowledge.models import (
    Chunk,
    ChunkEdit,
    Document,
    DocumentRelation,
    IndexEntry,
    KnowledgeSet,
    LexiconVersion,
    SetFile,
    Triple,
    WholeVector,
)
from knowledge.queue import EXPORT_SET, IMPORT_SET
from knowledge.selectors.documents import documents_askable
from knowledge.services.edits import chunk_disable, chunk_questions_set, chunk_replace
from knowledge.services.lexicon import lexicon_publish, term_save
from knowledge.services.options import set_options_update
from knowledge.services.readers import document_readers_set
from knowledge.services.relations.by_hand import relation_add
from knowledge.services.set_files import exporting
from knowledge.services.set_files.container import MANIFEST, PartsReader, manifest_signed
from knowledge.services.set_files.exporting import export_open, set_export_start
from knowledge.services.set_files.importing import (
    set_file_delete,
    set_files_expire,
    set_import_offer,
    set_import_start,
)
from knowledge.services.triples import triples_import
from knowledge.set_file_errors import MappingInvalidError, SetFileInvalidError, SetFileStateError, SetNotExportableError
from tests.factories import ingest, make_set, make_tenant, make_user, scope_of
from tests.work.contract import KindContract, killed, lease_lapse, once_before_a_checkpoint, work_off
from work.models import Job
from work.runner import slice_run

SITES = ("Elm", "Oak", "Birch", "Cedar", "Maple", "Ash", "Pine", "Larch", "Alder", "Willow")
TEXTS = {
    f"site-{name.lower()}": (
        f"# {name} site\n\nThe battery of the {name} site lasts for {hours} hours when the mains fail.\n\n"
        f"## Antenna\n\nThe antenna tilt of the {name} site is {hours + 20} degrees. "
        f"The contact of the {name} site is room {hours * 7}.\n"
    )
    for hours, name in enumerate(SITES, 3)
} | {
    f"note-{number}": f"# Note {number}\n\nA remote unit of type R{number} weighs {number + 11} kilograms.\n"
    for number in range(10)
}
QUESTIONS = (
    *(f"How long does the battery of the {name} site last?" for name in SITES),
    *(f"What is the antenna tilt of the {name} site?" for name in SITES),
    *(f"How much does a remote unit of type R{number} weigh?" for number in range(10)),
    "Who won the football cup?",
    "Which room is the contact of the Elm site?",
)


def ask(user: Any, question: str, **narrowed: Any) -> AnswerRecord:
    scope = scope_of(user)
    request = AnswerRequest(query=question, cache=False, personal=False, **narrowed)
    context = AnswerContext(
        scope=scope,
        request=request,
        config=resolve_answer_config(scope=scope, request=request),
        question=build_question(question, history=(), profile=None, user=user),
        events=ignore_event,
    )
    return asyncio.run(compute_answer(context))


def told(record: AnswerRecord) -> tuple[Any, ...]:
    """The text of an answer, and which documents it cites where."""
    cited = [one for one in record.citations if one.cited]
    return record.text, [(one.number, one.external_id, one.position, one.segment) for one in cited]


def coarse_of(knowledge_set: KnowledgeSet) -> dict[tuple[str, int, str], list[float]]:
    """The short vectors that a search compares, to the last bit, by document, passage and representation."""
    entries = IndexEntry.objects.filter(version__document__sets=knowledge_set).select_related("chunk")
    rows = entries.values_list("version__document__external_id", "chunk__ordinal", "representation", "coarse")
    return {(name, ordinal, kind): list(coarse) for name, ordinal, kind, coarse in rows}


def exported(owner: Any, knowledge_set: KnowledgeSet) -> Path:
    row = set_export_start(scope=scope_of(owner), actor=owner, set_id=knowledge_set.pk)
    job = work_off(Job.objects.get(kind=EXPORT_SET, subject=row.subject))
    assert (job.state, job.error_code, job.error_data) == ("done", "", {})
    row.refresh_from_db()
    assert (row.state, row.size_bytes > 0) == ("done", True)
    return Path(default_storage.path(row.file))


def offered(user: Any, path: Path) -> SetFile:
    with path.open("rb") as content:
        return set_import_offer(scope=scope_of(user), actor=user, name="plans.set.zip", content=content)


def import_begun(user: Any, path: Path, **choices: Any) -> Job:
    row = offered(user, path)
    set_import_start(scope=scope_of(user), actor=user, file_id=row.pk, **choices)
    return Job.objects.get(kind=IMPORT_SET, subject=row.subject)


def imported(user: Any, path: Path, **choices: Any) -> KnowledgeSet:
    job = work_off(import_begun(user, path, **choices))
    assert (job.state, job.error_code, job.error_data) == ("done", "", {})
    made = SetFile.objects.get(pk=job.arguments["file_id"])
    assert (made.state, made.file) == ("done", "")
    assert made.knowledge_set is not None
    return made.knowledge_set


def changed(path: Path, tmp_path: Path, change: Any) -> Path:
    """A copy of a file whose parts went through `change(name, content)`; None leaves one out."""
    copy = tmp_path / "changed.zip"
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(copy, "w") as target:
        for info in source.infolist():
            content = change(info.filename, source.read(info))
            if content is not None:
                target.writestr(info.filename, content, info.compress_type)
    return copy


def manifest_with(**values: Any) -> Any:
    def change(name: str, content: bytes) -> bytes:
        return json.dumps(manifest_signed({**json.loads(content), **values})).encode() if name == MANIFEST else content

    return change


@pytest.fixture
def owner():
    return make_user("anna", can_create_sets=True)


@pytest.fixture
def plans(owner):
    return make_set("plans", name="Site plans", owners=[owner], visibility="members", persona="Planner")


@pytest.fixture
def there():
    """Somebody of another tenant who may make sets."""
    return make_user("berta", tenant=make_tenant(), can_create_sets=True)


@pytest.fixture
def small(owner, plans):
    """Two documents in the set."""
    ingest(owner, plans, **{name: TEXTS[name] for name in ("site-elm", "site-oak")})
    return plans


# ── there and here ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.django_db(transaction=True)
def test_the_same_questions_get_the_same_answers_in_another_tenant(owner, plans, there, redis_client):
    ingest(owner, plans, **TEXTS)
    before = [told(ask(owner, question, sets=(plans.pk,))) for question in QUESTIONS]
    path = exported(owner, plans)
    embedded = []
    model = embedder()
    real = type(model).embed_documents

    def counting(self, texts):
        embedded.extend(texts)
        return real(self, texts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(model), "embed_documents", counting)
        made = imported(there, path)

    assert embedded == []
    assert made.tenant == there.tenant
    assert coarse_of(made) == coarse_of(plans)
    assert [told(ask(there, question, sets=(made.pk,))) for question in QUESTIONS] == before
    assert sum(bool(citations) for _answer, citations in before) > len(QUESTIONS) // 2
    assert [*totals_drift(), *frequencies_drift(), *passages_drift(), *incomplete_documents()] == []


@pytest.mark.django_db
def test_everything_of_a_set_arrives(owner, plans, there):
    documents = ingest(owner, plans, **{name: TEXTS[name] for name in ("site-elm", "site-oak", "note-1", "note-2")})
    scope = scope_of(owner)
    first, second = (Chunk.objects.get(version__document=documents[name]) for name in ("site-elm", "note-2"))
    replaced = chunk_replace(scope=scope, actor=owner, chunk_id=first.pk, text="The battery lasts for 99 hours.")
    chunk_disable(scope=scope, actor=owner, chunk_id=second.pk)
    oak = Chunk.objects.filter(version__document=documents["site-oak"]).order_by("ordinal").first()
    chunk_questions_set(scope=scope, actor=owner, chunk_id=oak.pk, questions=["How long does Oak last?"])
    Document.objects.filter(pk=documents["site-oak"].pk).update(tags=["power"], metadata={"vendor": "Acme"}, weight=1.5)
    cara = make_user("cara")
    document_readers_set(
        scope=scope, actor=owner, document_id=documents["note-1"].pk, users=["anna", "cara"], groups=[]
    )
    plans.members.set([cara])
    term_save(scope=scope, actor=owner, set_id=plans.pk, values={"text": "RU", "synonyms": ["remote unit"]})
    version = lexicon_publish(scope=scope, actor=owner, set_id=plans.pk)
    LexiconVersion.objects.filter(pk=version.pk).update(state="live")
    set_options_update(scope=scope, actor=owner, set_id=plans.pk, options={"retrieval": {"top_k": 8}})
    fact = json.dumps({"subject": "Elm", "relation": "has", "object": "battery"}).encode()
    triples_import(scope=scope, actor=owner, lines=[fact], form="jsonl", set_id=plans.pk, name="facts")
    golden = GoldenSet.objects.create(tenant=owner.tenant, name="plans")
    golden.sets.set([plans])
    GoldenCase.objects.create(golden_set=golden, question="Battery?", relevant=["site-elm"], grades={"site-elm": 2})
    GoldenCase.objects.create(golden_set=golden, question="Tilt?", relevant=[f"#{documents['site-oak'].pk}"])
    GoldenCase.objects.create(golden_set=golden, question="Other?", relevant=["of-another-set"])
    answer_approve(scope=scope, actor=owner, question="How long?", answer="99 hours [1].", chunks=[replaced])

    relation_add(
        scope=scope,
        actor=owner,
        document_id=documents["note-2"].pk,
        kind="replaces",
        other_id=documents["note-1"].pk,
    )

    anna_there = make_user("anna.there", tenant=there.tenant)
    made = imported(there, exported(owner, plans), people={"user:anna": "anna.there"})

    here = {row.external_id: row for row in Document.objects.filter(sets=made)}
    relations = DocumentRelation.objects.filter(source__sets=made).values_list("source", "kind", "target", "origin")
    assert list(relations) == [(here["note-2"].pk, "replaces", here["note-1"].pk, "hand")]
    assert set(here) == set(documents)
    assert (made.code, made.name, made.persona, made.visibility) == ("plans", "Site plans", "Planner", "members")
    assert set(made.owners.all()) == {there, anna_there}
    assert list(made.members.all()) == []  # nobody there is called cara
    assert made.options == {"retrieval": {"top_k": 8}}
    assert (here["site-oak"].tags, here["site-oak"].metadata, here["site-oak"].weight) == (
        ["power"],
        {"vendor": "Acme"},
        1.5,
    )
    elm = list(Chunk.objects.filter(version=here["site-elm"].live_version).order_by("ordinal"))
    assert elm[0].text == "The battery lasts for 99 hours."
    assert elm[0].text_before_edit == first.text
    disabled = Chunk.objects.get(version=here["note-2"].live_version)
    assert (disabled.retired is not None, disabled.entries.count()) == (True, 0)
    assert sorted(ChunkEdit.objects.filter(document__sets=made).values_list("kind", flat=True)) == [
        "disable",
        "questions",
        "replace",
    ]
    asked = documents_askable(scope=scope_of(there), sets=[made.pk]).values_list("external_id", flat=True)
    assert "note-1" not in asked  # the importer keeps it, and is not among its readers
    assert "note-1" in documents_askable(scope=scope_of(anna_there)).values_list("external_id", flat=True)
    assert [entry["text"] for entry in LexiconVersion.objects.get(knowledge_set=made, state="live").entries] == ["RU"]
    assert list(Triple.objects.filter(knowledge_set=made).values_list("subject", "object")) == [("Elm", "battery")]
    cases = {case.question: case for case in GoldenCase.objects.filter(golden_set__sets=made)}
    assert {name: case.relevant for name, case in cases.items()} == {
        "Battery?": ["site-elm"],
        "Tilt?": [f"#{here['site-oak'].pk}"],
    }
    assert cases["Battery?"].grades == {"site-elm": 2}
    approved = ApprovedAnswer.objects.get(tenant=there.tenant)
    assert (approved.answer, approved.sources.get().chunk) == ("99 hours [1].", elm[0])
    with here["site-oak"].live_version.file.open("rb") as file:
        assert file.read().decode() == TEXTS["site-oak"]
    assert AuditEvent.objects.filter(action="set.imported", tenant=there.tenant).count() == 1


@pytest.mark.django_db
def test_an_import_shows_first_what_it_would_do(owner, small, there):
    make_set("plans", tenant=there.tenant)
    small.members.set([make_user("cara")])

    row = offered(there, exported(owner, small))

    assert row.state == "offered"
    summary = row.summary
    assert (summary["documents"], summary["code"], summary["free_code"]) == (2, "plans", "plans-2")
    assert summary["model"]["is_same"] is True
    assert {(one["kind"], one["name"], one["is_here"]) for one in summary["people"]} == {
        ("user", "anna", False),
        ("user", "cara", False),
    }
    assert not Document.objects.filter(tenant=there.tenant).exists()
    with pytest.raises(NameTakenError):
        set_import_start(scope=scope_of(there), actor=there, file_id=row.pk)
    with pytest.raises(MappingInvalidError):
        set_import_start(scope=scope_of(there), actor=there, file_id=row.pk, code="b", people={"user:cara": "nobody"})
    set_import_start(scope=scope_of(there), actor=there, file_id=row.pk, code="b", people={"user:cara": "berta"})
    work_off(Job.objects.get(kind=IMPORT_SET, subject=row.subject))
    made = KnowledgeSet.objects.get(tenant=there.tenant, code="b")
    assert [user.username for user in made.members.all()] == ["berta"]
    with pytest.raises(SetFileStateError):
        set_import_start(scope=scope_of(there), actor=there, file_id=row.pk, code="c")


@pytest.mark.django_db
def test_texts_are_embedded_anew_where_another_model_has_made_the_vectors(owner, small, there, tmp_path):
    path = exported(owner, small)

    def other(name: str, content: bytes) -> bytes:
        if name == "set.json":
            about = json.loads(content)
            return json.dumps({**about, "model": {**about["model"], "name": "another"}}).encode()
        return content

    made = imported(there, resigned(changed(path, tmp_path, other), tmp_path))

    versions = Document.objects.filter(sets=made).values("live_version")
    vectors = WholeVector.objects.filter(version_id__in=versions)
    assert vectors.count() > 0
    assert set(vectors.values_list("embedding_model", flat=True)) == {embedder().model}


def resigned(path: Path, tmp_path: Path) -> Path:
    """A copy whose manifest fits its parts, as somebody could write it who wants to."""
    import hashlib

    copy = tmp_path / "resigned.zip"
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(copy, "w") as target:
        parts = []
        for info in source.infolist():
            content = source.read(info)
            if info.filename != MANIFEST:
                digest = hashlib.sha256(content).hexdigest()
                parts.append({"name": info.filename, "bytes": len(content), "sha256": digest})
                target.writestr(info.filename, content, info.compress_type)
        manifest = {**json.loads(source.read(MANIFEST)), "parts": parts}
        target.writestr(MANIFEST, json.dumps(manifest_signed(manifest)), zipfile.ZIP_DEFLATED)
    return copy


# ── rights ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.django_db
def test_only_who_may_open_everything_exports(owner, small):
    reader, cleared = make_user(), make_user(clearance=0)
    small.members.set([reader])
    small.owners.add(cleared)
    Document.objects.filter(sets=small, external_id="site-elm").update(clearance=3)

    with pytest.raises(NotAllowedError):
        set_export_start(scope=scope_of(reader), actor=reader, set_id=small.pk)
    with pytest.raises(SetNotExportableError):
        set_export_start(scope=scope_of(cleared), actor=cleared, set_id=small.pk)
    exported(owner, small)
    row = SetFile.objects.get()
    with pytest.raises(NotFoundError):
        export_open(scope=scope_of(cleared), actor=cleared, file_id=row.pk)
    small.owners.remove(owner)
    with pytest.raises(NotAllowedError):
        export_open(scope=scope_of(owner), actor=owner, file_id=row.pk)


@pytest.mark.django_db
def test_nobody_imports_what_is_above_their_clearance_or_without_the_right(owner, small, there):
    Document.objects.filter(sets=small, external_id="site-elm").update(clearance=3)
    path = exported(owner, small)
    low = make_user(tenant=there.tenant, clearance=1, can_create_sets=True)

    with pytest.raises(MissingRightError):
        offered(make_user(tenant=there.tenant), path)
    assert offered(low, path).summary["above_clearance"] == 1
    made = imported(low, path)

    assert list(Document.objects.filter(sets=made).values_list("external_id", flat=True)) == ["site-oak"]


@pytest.mark.django_db
def test_a_quota_holds(owner, small, there):
    path = exported(owner, small)
    there.tenant.max_documents = 1
    there.tenant.save()

    row = offered(there, path)

    assert [one["code"] for one in row.summary["conflicts"]] == ["quota_exceeded"]
    with pytest.raises(QuotaExceededError):
        set_import_start(scope=scope_of(there), actor=there, file_id=row.pk)


# ── bad files ───────────────────────────────────────────────────────────────────────────────────


def refusal(user: Any, path: Path) -> tuple[str, str]:
    with pytest.raises(SetFileInvalidError) as caught:
        offered(user, path)
    assert SetFile.objects.filter(kind="import").count() == 0
    return caught.value.reason, caught.value.message


@pytest.mark.django_db
def test_bad_files_are_refused_with_the_reason(owner, small, there, tmp_path):
    path = exported(owner, small)

    later = refusal(there, changed(path, tmp_path, manifest_with(version=99)))
    assert later[0] == "later"
    assert "99" in later[1]
    assert refusal(there, changed(path, tmp_path, manifest_with(format="other")))[0] == ""
    edited = changed(path, tmp_path, lambda name, content: content + b" " if name == "set.json" else content)
    assert refusal(there, edited)[0] == "changed"
    by_hand = changed(path, tmp_path, lambda n, c: c.replace(b'"version": 1', b'"version": 0') if n == MANIFEST else c)
    assert refusal(there, by_hand)[0] == "manifest_changed"
    without = changed(path, tmp_path, lambda name, content: None if name == "people.json" else content)
    assert refusal(there, without)[0] == "missing"
    cut = tmp_path / "cut.zip"
    cut.write_bytes(path.read_bytes()[:-2000])
    assert refusal(there, cut)[0] == "truncated"
    text = tmp_path / "text.zip"
    text.write_bytes(b"not a zip file")
    assert refusal(there, text)[0] == ""


@pytest.mark.django_db
def test_paths_and_bombs_are_refused(owner, small, there, tmp_path):
    path = exported(owner, small)

    for name in ("../../etc/passwd", "/etc/passwd", "documents/../x.jsonl", "files/readme.txt"):
        copy = tmp_path / "extra.zip"
        shutil.copy(path, copy)
        with zipfile.ZipFile(copy, "a") as target:
            target.writestr(name, b"x")
        assert refusal(there, copy)[0] == "unexpected"
    bomb = tmp_path / "bomb.zip"
    shutil.copy(path, bomb)
    with zipfile.ZipFile(bomb, "a") as target:
        target.writestr(f"files/{'a' * 64}", b"\0" * 3_000_000, zipfile.ZIP_DEFLATED)
    assert refusal(there, bomb)[0] == "unsafe"


@pytest.mark.django_db
def test_a_part_that_was_edited_is_found_before_anything_is_written(owner, small, there, tmp_path):
    path = exported(owner, small)
    name = "documents/000001.jsonl"
    edited = changed(path, tmp_path, lambda n, c: c.replace(b"battery", b"bottery") if n == name else c)

    job = work_off(import_begun(there, edited))

    assert (job.state, job.error_code) == ("failed", "set_file_invalid")
    assert job.error_data["part"] == name
    assert not KnowledgeSet.objects.filter(tenant=there.tenant).exists()
    assert SetFile.objects.get(pk=job.arguments["file_id"]).state == "failed"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        (b'"clearance":0', b'"clearance":9', "clearance"),
        (b'"file_name":"', b'"file_name":"../', "version.file_name"),
        (b'"weight":1.0', b'"weight":1e9', "weight"),
        (b'"ordinal":0', b'"ordinal":-1', "chunks.ordinal"),
        (b'"has_vectors":true', b'"has_vectors":1', "has_vectors"),
    ],
)
def test_values_that_nobody_exports_are_refused(owner, small, there, tmp_path, old, new, field):
    edited = changed(exported(owner, small), tmp_path, lambda n, c: c.replace(old, new) if "documents/" in n else c)

    job = work_off(import_begun(there, resigned(edited, tmp_path)))

    assert (job.state, job.error_code, job.error_data["field"]) == ("failed", "set_file_invalid", field)
    assert not Document.objects.filter(tenant=there.tenant).exists()


# ── on the way ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.django_db
class TestExport(KindContract):
    @pytest.fixture(autouse=True)
    def one_document_a_part(self, monkeypatch, owner, small):
        monkeypatch.setattr(exporting, "BATCH_DOCUMENTS", 1)
        self.owner, self.set = owner, small

    def start(self) -> Job:
        SetFile.objects.all().delete()
        row = set_export_start(scope=scope_of(self.owner), actor=self.owner, set_id=self.set.pk)
        return Job.objects.get(kind=EXPORT_SET, subject=row.subject)

    def outcome(self, job: Job) -> Any:
        row = SetFile.objects.get(pk=job.arguments["file_id"])
        if row.state != "done":
            return row.state
        with PartsReader(Path(default_storage.path(row.file))) as reader:
            return {name: reader.parts[name]["sha256"] for name in reader.parts if name != "set.json"}

    def whole(self) -> Any:
        return self.outcome(work_off(self.start()))

    def test_a_stale_worker_writes_nothing_after_another_one_took_the_job_over(self, monkeypatch) -> None:
        """The stale one has the file; the other one is put off until that has seen that the job is lost."""
        job = self.start()

        def successor() -> None:
            lease_lapse(job)
            slice_run(job_id=job.pk)

        once_before_a_checkpoint(monkeypatch, successor)
        assert slice_run(job_id=job.pk)

        job.refresh_from_db()
        assert (job.state, job.done, job.error_code) == ("queued", 0, "set_file_busy")
        Job.objects.filter(pk=job.pk).update(not_before=None)
        assert self.outcome(work_off(job)) == self.whole()


@pytest.mark.django_db
def test_an_import_that_is_killed_goes_on_and_nothing_of_it_is_seen_by_others(owner, small, there, monkeypatch):
    monkeypatch.setattr(exporting, "BATCH_DOCUMENTS", 1)
    KnowledgeSet.objects.filter(pk=small.pk).update(visibility="everyone")
    other = make_user(tenant=there.tenant)
    job = import_begun(there, exported(owner, small))
    seen = []
    for at in (1, 2, 2, 1, 1):
        killed(job, monkeypatch, at=at, is_stored=at == 2)
        seen.append(documents_askable(scope=scope_of(other)).count())

    work_off(job)

    assert seen == [0] * 5
    assert Job.objects.get(pk=job.pk).state == "done"
    made = KnowledgeSet.objects.get(tenant=there.tenant)
    assert sorted(made.documents.values_list("external_id", flat=True)) == ["site-elm", "site-oak"]
    assert documents_askable(scope=scope_of(other)).count() == 2


@pytest.mark.django_db(transaction=True)
def test_files_go_when_they_are_deleted_or_old(owner, small, there):
    path = exported(owner, small)
    row = offered(there, path)
    kept = Path(default_storage.path(row.file))

    set_file_delete(scope=scope_of(there), actor=there, file_id=row.pk)

    assert not kept.exists()
    assert set_files_expire(days=7) == 0
    assert set_files_expire(days=0) == 1
    assert not path.exists()
    with pytest.raises(SetFileStateError):
        export_open(scope=scope_of(owner), actor=owner, file_id=SetFile.objects.get().pk)


# ── commands ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.django_db
def test_the_commands_export_and_import(owner, small, there, tmp_path, capsys):
    path = tmp_path / "plans.zip"

    call_command("set_export", "plans", str(path), "--user", "anna")
    call_command("set_import", str(path), "--user", "berta")
    assert "2 documents" in capsys.readouterr().out
    assert not KnowledgeSet.objects.filter(tenant=there.tenant).exists()
    call_command("set_import", str(path), "--user", "berta", "--confirm", "--code", "again")

    assert KnowledgeSet.objects.get(tenant=there.tenant).documents.count() == 2
    with pytest.raises(CommandError):
        call_command("set_import", str(tmp_path / "missing.zip"), "--user", "berta")

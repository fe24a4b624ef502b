"""Training of a whole embedding model with a set: prepared, estimated, confirmed, trained, killed, refused, offered."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import pytest
from django.urls import reverse

from accounts.errors import MissingRightError
from accounts.models import AuditEvent
from accounts.selectors import scope_for
from chat.models import Conversation, Message
from evaluation.jobs import train_model
from evaluation.models import GoldenSet
from evaluation.queue import TRAIN_MODEL
from evaluation.services import model_examples, trainings, tuning_process
from evaluation.services.golden import golden_import
from evaluation.services.golden_files import GoldenRow
from evaluation.services.model_examples import tune_data
from evaluation.services.model_training import (
    model_offer,
    model_training_cancel,
    model_training_prepare,
    model_training_start,
)
from evaluation.services.trainings import training_jobs
from evaluation.services.tuning_process import work_folder
from evaluation.training_errors import ModelTrainingError
from feedback.models import Vote
from knowledge.models import Chunk, Document, EntryText, IndexEntry, ModelTraining, SearchModel
from knowledge.selectors.training_vectors import summaries_after
from knowledge.services.search_models import search_model_delete
from ragcore.training.whole_model.plan import AFTER, BEFORE, MODEL, TuneSettings, json_write, plan_read
from tests.admin.conftest import signed_in
from tests.evaluation.topics import ASKING, WORDS, letters_make
from tests.factories import make_user
from tests.ragcore.embedding.bert_folders import bert_folder
from tests.work.contract import KindContract, work_off

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("few_general_texts"),
    pytest.mark.starts_from(make=letters_make),
]


@pytest.fixture
def admin(request, db):
    return request.getfixturevalue("kept_rows")[0]


@pytest.fixture
def radio(kept_rows):
    return kept_rows[1]


@pytest.fixture
def golden(admin, radio) -> GoldenSet:
    rows = [GoldenRow(question=f"{ASKING} for the {word}?", relevant=(word,), answers=(word,)) for word in WORDS]
    found = golden_import(tenant=admin.tenant, name="radio", rows=rows).golden_set
    found.sets.add(radio)
    GoldenSet.objects.filter(pk=found.pk).update(guards=False)
    return found


@pytest.fixture(autouse=True)
def _few_held_out(monkeypatch):
    """Of 28 questions a quarter are seven."""
    monkeypatch.setattr(model_examples, "LEAST_HELD_OUT", 5)


@pytest.fixture(autouse=True)
def data_dir(tmp_path, settings):
    settings.DATA_DIR = str(tmp_path)
    settings.MODEL_SOCKET = ""
    return tmp_path


@pytest.fixture
def begin(data_dir) -> SearchModel:
    """A tiny model of a folder that was tested."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    folder = data_dir / "models" / "tiny"
    folder.mkdir(parents=True)
    bert_folder(folder, hidden=64)
    values = {"provider": "folder", "name": str(folder), "vectors": str(folder), "test_code": "ok"}
    return SearchModel.objects.create(task="embed", query_prefix="q: ", document_prefix="p: ", **values)


def prepare(admin, radio, begin, **settings) -> ModelTraining:
    given = {"epochs": 2, "batch": 8, "rate": 1e-3, "tokens": 64, **settings}
    return model_training_prepare(
        scope=scope_for(admin),
        actor=admin,
        set_id=radio.pk,
        base=begin.pk,
        origins=["golden"],
        settings=TuneSettings(**given),
    )


def start(admin, row) -> ModelTraining:
    return model_training_start(scope=scope_for(admin), actor=admin, training_id=row.pk)


def job_of(row):
    return training_jobs([row], kind=TRAIN_MODEL)[row.pk]


def ended(row) -> ModelTraining:
    work_off(job_of(row))
    row.refresh_from_db()
    return row


# ── what it learns from ─────────────────────────────────────────────────────────────────────────


def stored_pairs(radio) -> list[dict]:
    """A pair for each word, with a letter as a hard negative."""
    chunks = {chunk.version.document.title: chunk for chunk in Chunk.objects.select_related("version__document")}
    letter = next(chunk for title, chunk in chunks.items() if title.startswith("letter"))
    return [
        {
            "question": f"who repairs the {word}",
            "chunks": [chunks[word].pk],
            "documents": [chunks[word].version.document_id],
            "origin": "golden",
            "language": "en",
            "hard": [letter.pk],
            "masked": [],
        }
        for word in WORDS
    ]


def data_of(admin, radio, stored, origins=("golden",), most=1000):
    return tune_data(scope=scope_for(admin), home=radio, stored=stored, origins=origins, most=most)


def test_no_text_of_a_held_out_document_is_trained(admin, radio):
    data, figures = data_of(admin, radio, stored_pairs(radio))

    trained = {document for example in data.examples for document in example.documents}
    held_out = {data.documents[place] for one in data.held_out for place in one.passages}
    assert trained
    assert held_out
    assert not trained & held_out
    assert len(trained) + len(held_out) == len(WORDS)
    assert all(data.passages[place] for one in data.held_out for place in one.passages)
    assert figures == {
        "examples": {"golden": len(data.examples)},
        "left_out": 0,
        "held_out": len(data.held_out),
        "passages": len(WORDS) + 12,
    }
    assert all(len(example.negatives) == 1 for example in data.examples)


def test_what_is_over_the_maximum_is_counted_and_people_come_first(admin, radio):
    stored = stored_pairs(radio)
    for pair in stored[::2]:
        pair["origin"] = "title"

    data, figures = data_of(admin, radio, stored, most=16)

    assert sum(figures["examples"].values()) == len(data.examples) == 16
    assert figures["left_out"] > 0
    assert figures["examples"]["golden"] > figures["examples"].get("title", 0)


def test_too_few_questions_are_refused(admin, radio, monkeypatch):
    with pytest.raises(ModelTrainingError) as refused:
        data_of(admin, radio, stored_pairs(radio)[:1])
    assert refused.value.reason == "documents"
    monkeypatch.setattr(model_examples, "LEAST_HELD_OUT", 1)
    with pytest.raises(ModelTrainingError) as refused:
        data_of(admin, radio, stored_pairs(radio)[:10])
    assert refused.value.reason == "few"


@pytest.mark.parametrize(
    ("is_long", "expected"), [(False, {"answer"}), (True, {"answer", "form", "vote"})], ids=["short", "long"]
)
def test_a_helpful_answer_teaches_its_text_its_references_and_other_forms_of_its_question(
    admin, radio, monkeypatch, is_long, expected
):
    assert model_examples.LEAST_REFERENCE == 50
    stored = stored_pairs(radio)
    stored += [{**stored[0], "question": f"{n} {stored[0]['question']}"} for n in range(2)]  # held out: the most pairs
    chunk = Chunk.objects.select_related("version__document").get(pk=stored[1]["chunks"][0])
    document = chunk.version.document
    monkeypatch.setattr(model_examples, "LEAST_REFERENCE", len(chunk.text) - is_long)
    message = Message.objects.create(
        conversation=Conversation.objects.create(tenant=admin.tenant, user=admin),
        question="and this one?",
        answer="It is **repaired** in the workshop [1].",
        state="done",
        metadata={"understood": "who repairs it"},
        trace={"reasoning": {"agentic_steps": [{"name": "rewrite", "detail": {"queries": ["repair of it"]}}]}},
    )
    message.citations.create(number=1, cited=True, chunk=chunk, document=document, version=chunk.version)
    Vote.objects.create(message=message, user=admin, vote="", rating=4)
    stored.append({**stored[1], "question": "who repairs it", "origin": "vote", "hard": []})

    data, figures = data_of(admin, radio, stored, origins=("golden", "vote"))

    assert set(figures["examples"]) - {"golden"} == expected
    told = {(example.question, example.passage) for example in data.examples}
    assert ("who repairs it", "It is repaired in the workshop.") in told
    forms = {question for question, _text in told if question in ("and this one?", "repair of it")}
    assert forms == ({"and this one?", "repair of it"} if is_long else set())


def test_summaries_are_pairs_with_their_passages_within_rights(admin, radio):
    entry = IndexEntry.objects.select_related("version").filter(version__document__title=WORDS[0]).first()
    IndexEntry.objects.filter(pk=entry.pk).update(representation="summary")
    EntryText.objects.create(entry_id=entry.pk, text="Where antennas are repaired")
    other = make_user("other", tenant=admin.tenant, clearance=0)
    whose = {"set_id": radio.pk, "most": 5}

    rows = summaries_after(0, scope=scope_for(admin), **whose)

    assert rows == [(entry.pk, entry.chunk_id, entry.version.document_id, "Where antennas are repaired")]
    assert summaries_after(entry.pk, scope=scope_for(admin), **whose) == []
    Document.objects.filter(pk=entry.version.document_id).update(clearance=3)
    assert summaries_after(0, scope=scope_for(other), **whose) == []


# ── refusals ────────────────────────────────────────────────────────────────────────────────────


def test_without_pytorch_it_is_said_how_to_install_it_and_nothing_fails(admin, radio, begin, monkeypatch):
    monkeypatch.setattr(tuning_process, "NEEDED", ("no_such_module",))

    with pytest.raises(ModelTrainingError) as refused:
        prepare(admin, radio, begin)
    page = signed_in(admin).get(reverse("admin:evaluation_tuning_set"), {"set": radio.pk})

    assert refused.value.reason == "torch"
    assert "requirements-torch.lock" in page.content.decode()
    assert not ModelTraining.objects.exists()


@pytest.mark.parametrize(
    ("values", "reason"),
    [({"epochs": 0}, "settings"), ({"rate": 1.0}, "settings"), ({"warm_up": 0.9}, "settings")],
)
def test_settings_have_limits(admin, radio, begin, values, reason):
    with pytest.raises(ModelTrainingError) as refused:
        prepare(admin, radio, begin, **values)

    assert refused.value.reason == reason


def test_an_untested_model_and_one_with_code_are_refused(admin, radio, begin):
    for values, reason in (({"test_code": ""}, "base"), ({"test_code": "ok", "trust_remote_code": True}, "code")):
        SearchModel.objects.filter(pk=begin.pk).update(**values)
        with pytest.raises(ModelTrainingError) as refused:
            prepare(admin, radio, begin)
        assert refused.value.reason == reason


def test_only_who_manages_models_trains_them(radio, begin):
    owner = make_user("owner", tenant=radio.tenant, is_staff=True)
    radio.owners.add(owner)

    with pytest.raises(MissingRightError):
        prepare(owner, radio, begin)

    assert signed_in(owner).get(reverse("admin:evaluation_tuning_set"), {"set": radio.pk}).status_code == 403


# ── the frame, with a program that is told what to say ──────────────────────────────────────────


ESTIMATE = {"device": "cpu", "threads": 1, "steps": 4, "step_seconds": 0.1, "seconds": 60, "memory_bytes": 10**9}


def judgement(high: bool, held_out: int, general: float = 1.0) -> dict:
    share = 1.0 if high else 0.2
    figures = {"recall": [share] * held_out, "ndcg": [share] * held_out, "narrow": [], "discrimination": share / 2}
    return {**figures, "general": [general] * 200, "losses": [0.9, 0.4], "dimensions": 64}


@pytest.fixture
def scripted(monkeypatch, begin):
    """In the place of the program: it counts steps in its folder, and is told what comes of it."""
    script = {"estimate": dict(ESTIMATE), "better": True, "general": 1.0, "begins": []}

    @contextmanager
    def process(folder: Path, way: str):
        yield lines(folder, way)

    def lines(folder: Path, way: str):
        yield {"phase": "loading"}
        if way == "estimate":
            yield {"over": script["estimate"]}
            return
        _plan, data = plan_read(folder)
        state = folder / "steps"
        done = int(state.read_text()) if state.exists() else 0
        script["begins"].append(done)
        for step in range(done + 1, 5):
            state.write_text(str(step))
            yield {"phase": "steps", "done": step, "total": 4, "saved": step, "losses": [1 / step]}
        json_write(folder / BEFORE, judgement(False, len(data.held_out)))
        json_write(folder / AFTER, judgement(script["better"], len(data.held_out), script["general"]))
        if not (folder / MODEL).exists():
            shutil.copytree(begin.name, folder / MODEL)
        yield {"over": {}}

    monkeypatch.setattr(train_model, "tuning_process", process)
    return script


@pytest.fixture
def quick_site(monkeypatch):
    """The site's own model is not asked."""
    monkeypatch.setattr(train_model.ModelWork, "_in_use", lambda self, data: {"recall10": 0.5, "ndcg10": 0.5})


@pytest.mark.full
class TestTrainModel(KindContract):
    numbers: ClassVar[list] = []

    @pytest.fixture(autouse=True)
    def _letters(self, admin, radio, golden, begin, scripted, quick_site, monkeypatch):
        self.admin, self.radio, self.begin = admin, radio, begin
        monkeypatch.setattr(trainings, "STORED_SECONDS", 0.0)

    def start(self):
        row = ended(prepare(self.admin, self.radio, self.begin))
        return job_of(start(self.admin, row))

    def outcome(self, job):
        row = ModelTraining.objects.get(pk=job.arguments["version_id"])
        return row.curve, row.state, row.figures.get("overall"), row.weights is None

    def whole(self):
        if not self.numbers:
            ModelTraining.objects.all().delete()
            SearchModel.objects.exclude(pk=self.begin.pk).delete()
            self.numbers.append(self.outcome(work_off(self.start())))
            SearchModel.objects.exclude(pk=self.begin.pk).delete()
        return self.numbers[0]


def test_it_is_prepared_first_and_waits_for_a_person(
    admin, radio, golden, begin, scripted, quick_site, django_capture_on_commit_callbacks
):
    row = ended(prepare(admin, radio, begin))

    assert (row.state, row.confirmed, job_of(row).state) == ("building", None, "done"), job_of(row).error_data
    assert row.figures["estimate"] == ESTIMATE
    assert row.figures["examples"]["golden"] + row.figures["held_out"] == len(WORDS)
    page = signed_in(admin).get(reverse("admin:evaluation_tuning_set"), {"set": radio.pk}).content.decode()
    assert "1 minute" in page
    assert "Start training" in page
    with pytest.raises(ModelTrainingError) as refused:
        prepare(admin, radio, begin)
    assert refused.value.reason == "running"

    with django_capture_on_commit_callbacks(execute=True):
        row = ended(start(admin, row))

    assert (row.state, row.pairs, row.checkpoint) == ("ready", [], None), job_of(row).error_data
    assert row.figures["overall"]["recall@10"]["after"] == 1.0
    assert row.figures["discrimination"] == {"before": 0.1, "after": 0.5}
    assert not work_folder(row.pk).exists()  # people's words are not kept
    model = row.search_model
    assert (model.name, model.query_prefix, model.document_prefix) == (row.weights, "q: ", "p: ")
    assert (Path(row.weights) / "config.json").is_file()
    assert (
        "Search model"
        in signed_in(admin).get(reverse("admin:evaluation_tuning_set"), {"set": radio.pk}).content.decode()
    )
    acts = AuditEvent.objects.filter(action__startswith="model_training.").order_by("pk")
    assert [event.action for event in acts] == ["model_training.prepare", "model_training.start"]
    with pytest.raises(ModelTrainingError) as refused:
        start(admin, row)
    assert refused.value.reason == "over"


@pytest.mark.full
def test_a_training_that_would_take_too_long_is_refused_with_the_hours(
    admin, radio, golden, begin, scripted, django_capture_on_commit_callbacks
):
    scripted["estimate"] = {**ESTIMATE, "seconds": 40 * 3600}

    with django_capture_on_commit_callbacks(execute=True):
        row = ended(prepare(admin, radio, begin))

    job = job_of(row)
    assert (row.state, row.reason, job.error_code) == ("dropped", "failed", "model_training")
    assert (job.error_data["hours"], job.error_data["most"]) == ("40", "8")
    assert not work_folder(row.pk).exists()
    scripted["estimate"]["device"] = "cuda"
    assert ended(prepare(admin, radio, begin)).is_open


@pytest.mark.full
@pytest.mark.parametrize(("better", "general"), [(False, 1.0), (True, 0.98)], ids=["no gain", "forgets"])
def test_what_is_not_better_or_forgets_more_than_a_point_is_thrown_away(
    admin, radio, golden, begin, scripted, quick_site, better, general
):
    scripted.update(better=better, general=general)
    row = ended(prepare(admin, radio, begin))

    row = ended(start(admin, row))

    assert (row.state, row.reason, row.weights, row.search_model) == ("dropped", "no_gain", None, None)
    assert SearchModel.objects.count() == 1
    assert not (Path(begin.name).parent / "trained").exists()


@pytest.mark.full
def test_what_is_prepared_can_be_given_up(admin, radio, golden, begin, scripted, django_capture_on_commit_callbacks):
    row = ended(prepare(admin, radio, begin))
    assert work_folder(row.pk).exists()

    with django_capture_on_commit_callbacks(execute=True):
        row = model_training_cancel(scope=scope_for(admin), actor=admin, training_id=row.pk)

    assert (row.state, row.reason) == ("dropped", "cancelled")
    assert not work_folder(row.pk).exists()
    assert prepare(admin, radio, begin).number == 2


@pytest.mark.full
def test_a_model_that_was_removed_is_offered_again_while_its_folder_is_there(
    admin, radio, golden, begin, scripted, quick_site
):
    row = ended(start(admin, ended(prepare(admin, radio, begin))))
    who = {"scope": scope_for(admin), "actor": admin}
    search_model_delete(**who, model=row.search_model)

    model = model_offer(**who, training_id=row.pk)
    assert model.name == row.weights
    assert model_offer(**who, training_id=row.pk) == model

    search_model_delete(**who, model=model)
    shutil.rmtree(row.weights)
    with pytest.raises(ModelTrainingError) as refused:
        model_offer(**who, training_id=row.pk)
    assert refused.value.reason == "gone"


@pytest.mark.full
def test_a_cancelled_training_ends_its_program_although_it_has_nothing_to_store(
    admin, radio, golden, begin, scripted, quick_site, monkeypatch
):
    """While a model is judged there is no checkpoint, which would end the slice and lose what is done."""
    row = start(admin, ended(prepare(admin, radio, begin)))
    monkeypatch.setattr(trainings, "STORED_SECONDS", 0.0)
    ends = []

    @contextmanager
    def process(folder: Path, way: str):
        def lines():
            model_training_cancel(scope=scope_for(admin), actor=admin, training_id=row.pk)
            yield {"phase": "before", "done": 1, "total": 9}
            raise AssertionError("it went on")

        yield lines()
        ends.append("never")

    monkeypatch.setattr(train_model, "tuning_process", process)
    row = ended(row)

    assert (row.state, row.reason, job_of(row).state) == ("dropped", "cancelled", "cancelled")
    assert ends == []


# ── all of it ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.full
@pytest.mark.timeout(900)  # the program gives way to everything else on the machine
def test_a_model_is_trained_by_the_real_program_and_registered(admin, radio, golden, begin, monkeypatch):
    monkeypatch.setattr(train_model, "is_better", lambda recall, ndcg: True)  # of random weights anything may come
    monkeypatch.setattr(train_model, "MOST_FORGOTTEN", 1.0)
    row = ended(prepare(admin, radio, begin))
    assert row.is_open, job_of(row).error_data
    assert row.figures["estimate"]["steps"] >= 4

    row = ended(start(admin, row))

    assert row.state == "ready", job_of(row).error_data
    assert [point["round"] for point in row.curve] == [1, 2]
    assert 0 <= row.figures["in_use"]["recall10"] <= 1
    assert row.figures["discrimination"]["after"] != row.figures["discrimination"]["before"]
    assert (row.search_model.task, row.search_model.provider) == ("embed", "folder")
    assert (Path(row.weights) / "modules.json").is_file()

"""The model of LLM_FILE as the site sees it: not asked before it is loaded, then as one that LLM_BASE_URL names."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from django.test import override_settings
from django.urls import reverse

from knowledge import model_registry
from knowledge.model_errors import ModelInvalidError
from knowledge.model_setup import (
    environment_models,
    is_file_loading,
    registry_changed,
    setup_forget,
    setup_now,
    setup_refresh,
)
from knowledge.models import EnvironmentModelTest, LanguageModel, ModelExam, ModelPurpose, ModelServer
from knowledge.services.model_exams import exams_start_missing
from knowledge.services.model_states import environment_state
from knowledge.services.model_tests import environment_model_test, models_test_untested
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.llm.exam_tasks import exam_tasks, messages_of
from ragcore.llm.model_profile import profile_of
from ragcore.model_file.state import ServedModel, read_state
from ragsite import lifespan
from ragsite.embedded.processes import wait_until
from ragsite.health import _language_models_state
from tests.admin.conftest import signed_in
from tests.factories import make_admin, make_tenant, scope_of
from tests.ragcore.llm.test_exam import right_reply
from tests.scripted_llm import Reply, serving
from tests.work.contract import work_off
from work import queue
from work.models import Job

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_client")]

LIST = "/admin/knowledge/languagemodel/"
LOADING = ServedModel(name="Tiny", path="/models/tiny.gguf", since=1_790_000_000.0)
CUT = {"path": "/models/tiny.gguf", "size": "300 MB", "needed": "1.1 GB"}
FAILED = replace(LOADING, phase="failed", reason="cut", data=CUT)


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(queue, "send", lambda *_args: None)  # the tests are the worker
    setup_forget()
    yield
    setup_forget()


class StateFile:
    """What the supervisor writes: replaced as a whole."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, state: ServedModel) -> None:
        new = self.path.with_suffix(".new")
        new.write_text(state.as_json(), encoding="utf-8")
        new.replace(self.path)


@pytest.fixture
def file(tmp_path):
    state_file = StateFile(tmp_path / "language_model.json")
    state_file.write(LOADING)
    with override_settings(LLM_FILE_STATE=state_file.path, LLM_EXAM=True):
        yield state_file


@pytest.fixture
def llm():
    """A server that does every task of the exam right."""
    replies = {messages_of(task)[-1].content: right_reply(task) for task in reversed(exam_tasks())}

    def respond(request):
        return Reply(texts=(replies.get(request.body["messages"][-1]["content"], "ok"),))

    with serving() as server:
        server.respond = respond
        yield server


def ready(llm, **values):
    values = {"url": llm.url, "key": "of this start", "identity": "tiny:4096", "context_tokens": 4096, **values}
    return replace(LOADING, phase="ready", **values)


@pytest.mark.parametrize("state", [LOADING, FAILED])
def test_before_it_is_loaded_nobody_asks_it_and_answers_are_quoted(file, state):
    file.write(state)

    models_test_untested()

    assert setup_now().models == {}
    assert setup_now().unready["standard"].name == "Tiny"
    assert model_registry.chat_model() is None
    assert isinstance(model_registry.generator(), ExtractiveGenerator)
    assert not EnvironmentModelTest.objects.exists()
    assert not Job.objects.exists()


def test_once_it_is_loaded_it_answers_as_a_model_of_the_environment(file, llm):
    file.write(ready(llm))

    spec = setup_now().models["standard"]

    assert (spec.name, spec.is_locked, spec.context_tokens) == ("Tiny", True, 4096)
    assert model_registry.chat_model() is not None
    assert model_registry.least_context_tokens() is None  # until its exam documents are quoted
    assert environment_state("standard").kind == "untested"


def test_until_its_exam_is_over_documents_are_quoted(file, llm):
    """It answers one request at a time: a reader would wait for the exam."""
    file.write(ready(llm))
    assert profile_of(model_registry.generator()).way == "quote"

    with override_settings(LLM_EXAM=False):
        setup_refresh(now=True)
        assert profile_of(model_registry.generator()).way == "marks"


def test_its_test_and_exam_wait_until_it_is_loaded(file, llm, monkeypatch):
    """As at the start of a web process."""
    make_admin()
    looks = []

    def look() -> bool:
        looks.append(len(looks))
        if len(looks) == 3:
            file.write(ready(llm))
        return is_file_loading()

    events = []
    monkeypatch.setattr(lifespan, "models_test_untested", lambda: events.append(is_file_loading()))
    monkeypatch.setattr(lifespan, "is_file_loading", look)
    monkeypatch.setattr(lifespan, "LOOK_SECONDS", 0)
    monkeypatch.setattr(lifespan.connections, "close_all", lambda: None)

    lifespan._test_models()
    models_test_untested()

    assert events == [True, False]
    assert environment_state("standard").kind == "works"
    assert [job.arguments["name"] for job in Job.objects.all()] == ["Tiny"]
    assert {request.authorization for request in llm.requests} == {"Bearer of this start"}


def test_at_the_next_start_it_is_the_same_model_at_another_address(file, llm):
    make_admin()
    file.write(ready(llm, url="http://127.0.0.1:1/v1", key="of the last start"))
    before = setup_now().models["standard"]
    file.write(ready(llm))
    after = setup_now().models["standard"]

    assert before.fingerprint == after.fingerprint
    assert before != after  # another client
    models_test_untested()
    assert len(exams_start_missing()) == 0  # it began with the test
    file.write(ready(llm, identity="tiny:8192"))
    assert setup_now().models["standard"].fingerprint != after.fingerprint


def test_an_exam_waits_while_the_model_is_loaded_again(file, llm):
    make_admin()
    file.write(ready(llm))
    (job,) = exams_start_missing()
    file.write(replace(ready(llm), phase="loading"))

    work_off(job)
    assert (job.state, job.not_before is not None) == ("queued", True)
    assert llm.requests == []

    file.write(ready(llm))
    Job.objects.filter(pk=job.pk).update(not_before=None)  # half a minute later
    work_off(job)
    assert ModelExam.objects.get().profile["way"] == "marks"


def test_an_exam_of_a_model_that_could_not_be_loaded_ends(file, llm):
    make_admin()
    file.write(ready(llm))
    (job,) = exams_start_missing()
    file.write(FAILED)

    work_off(job)

    assert (job.state, job.error_code) == ("failed", "model_not_used")


def test_what_it_reads_in_its_exam_counts_where_that_is_less_than_its_context(file, llm):
    file.write(ready(llm))
    profile = {"context_tokens": 1800, "scores": {"context": 0.5}}
    ModelExam.objects.create(fingerprint=setup_now().models["standard"].fingerprint, name="Tiny", profile=profile)
    registry_changed()
    setup_refresh(now=True)

    assert setup_now().models["standard"].context_tokens == 1800


def test_a_registered_model_does_not_stand_in_for_it(file, llm):
    model = LanguageModel.objects.create(name="elsewhere")
    ModelServer.objects.create(model=model, url="https://models.example.com/v1", passed="2026-01-01T00:00:00Z")
    ModelPurpose.objects.create(purpose="standard", model=model)
    registry_changed()
    setup_refresh(now=True)

    assert setup_now().models == {}
    file.path.unlink()
    assert setup_now().models["standard"].name == "elsewhere"


def test_a_server_that_the_environment_names_comes_first(file, llm):
    with override_settings(LLM_BASE_URL=llm.url, LLM_MODEL="named"):
        assert environment_models()["standard"].name == "named"


def test_it_cannot_be_tested_before_it_is_loaded(file):
    admin = make_admin()

    with pytest.raises(ModelInvalidError, match="not loaded"):
        environment_model_test(scope=scope_of(admin), actor=admin, purpose="standard")


@pytest.mark.parametrize(
    ("state", "said"),
    [(LOADING, {"status": "file_loading"}), (FAILED, {"status": "file_not_loaded", "reason": "cut"})],
)
def test_health_says_why_answers_are_quoted(file, llm, state, said):
    file.write(state)
    assert _language_models_state() == said

    file.write(ready(llm))
    assert _language_models_state() == {}


def test_the_page_says_that_it_is_being_loaded_and_renews_itself(file):
    page = signed_in(make_admin()).get(LIST).content.decode()

    assert "Being loaded; answers are quoted meanwhile" in page
    assert 'data-open="1"' in page
    assert "/models/tiny.gguf" in page
    assert "locked: set by the environment" in page
    assert reverse("admin:knowledge_languagemodel_purpose", args=["standard"]) not in page


def test_the_page_says_why_it_is_not_used_and_only_to_whom_it_concerns(file):
    file.write(FAILED)
    client = signed_in(make_admin())

    page = client.get(LIST).content.decode()
    client.cookies["django_language"] = "zh-hans"
    in_chinese = client.get(LIST).content.decode()
    others = signed_in(make_admin(tenant=make_tenant())).get(LIST).content.decode()

    assert "/models/tiny.gguf is cut: 300 MB of at least 1.1 GB are there" in page
    assert "/models/tiny.gguf 不完整：现有 300 MB，至少应有 1.1 GB" in in_chinese
    assert "Not loaded, not used" in others
    assert "/models/tiny.gguf" not in others


def test_a_state_of_another_version_or_none_is_no_model(tmp_path):
    path = tmp_path / "state.json"
    assert read_state(path) is None
    path.write_text("{")
    assert read_state(path) is None
    path.write_text(json.dumps({"path": "a"}))
    assert read_state(path) is None
    path.write_text(json.dumps({"name": "a", "path": "b", "added_later": 1}))
    assert read_state(path) == ServedModel(name="a", path="b")


def test_a_state_is_read_while_it_is_replaced(file, llm):
    """Readers see one state or the other, never a part."""
    end = threading.Event()

    def replace_often() -> None:
        while not end.is_set():
            file.write(FAILED)
            file.write(ready(llm))

    thread = threading.Thread(target=replace_often)
    phases: list[str | None] = []

    def read() -> bool:
        phases.extend(state and state.phase for state in [read_state(file.path) for _ in range(50)])
        return {"failed", "ready"} <= set(phases)

    thread.start()
    try:
        assert wait_until(read, seconds=30)
    finally:
        end.set()
        thread.join()
    assert None not in phases

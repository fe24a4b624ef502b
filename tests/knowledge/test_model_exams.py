"""Exams of language models: work in the background, stored as profiles, which answers follow at once."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import override_settings
from django.urls import reverse

from accounts.errors import MissingRightError
from knowledge import model_registry
from knowledge.admin import model_profiles
from knowledge.model_setup import ModelSetup, circuit, registry_changed, setup_forget, setup_now, setup_refresh
from knowledge.models import ModelExam
from knowledge.services.exam_states import exam_states
from knowledge.services.model_exams import exam_override, exam_start, exams_start_missing, other_model
from knowledge.services.model_tests import environment_model_test
from ragcore.llm.exam_results import TaskResult
from ragcore.llm.exam_tasks import exam_tasks
from ragcore.llm.generators import collect
from ragcore.llm.model_profile import profile_of
from ragcore.ports import ChatMessage, GenerationRequest
from tests.factories import make_admin, make_user, scope_of
from tests.ragcore.llm.test_exam import right_reply
from tests.scripted_llm import Reply, serving
from tests.work.contract import KindContract, due, work_off
from work import queue
from work.models import Job

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_client")]


@pytest.fixture(autouse=True)
def fresh():
    setup_forget()
    yield
    setup_forget()


@pytest.fixture(autouse=True)
def sent(monkeypatch):
    """Tasks that would go to the broker; the tests are the worker."""
    monkeypatch.setattr(queue, "send", lambda *_args: None)


@pytest.fixture
def server():
    """One that does every task right."""
    by_prompt = {}
    for task in exam_tasks():
        from ragcore.llm.exam_tasks import messages_of

        by_prompt.setdefault(messages_of(task)[-1].content, right_reply(task))

    def respond(request):
        return Reply(texts=(by_prompt.get(request.body["messages"][-1]["content"], "ok"),))

    with serving() as llm:
        llm.respond = respond
        with override_settings(LLM_BASE_URL=llm.url, LLM_MODEL="m", LLM_EXAM=True):
            yield llm


@pytest.fixture
def admin():
    return make_admin("admin")


def spec():
    return setup_now().models["standard"]


class TestExamineModel(KindContract):
    @pytest.fixture(autouse=True)
    def _model(self, server, admin):
        self.admin = admin

    def start(self):
        return exam_start(scope=scope_of(self.admin), actor=self.admin, spec=spec())

    def outcome(self, job):
        return list(ModelExam.objects.values_list("name", "profile__way")), job.done

    def whole(self):
        return [("m", "marks")], len(exam_tasks())


def test_answers_follow_the_profile_at_once_and_what_a_person_sets_comes_first(server, admin):
    work_off(exam_start(scope=scope_of(admin), actor=admin, spec=spec()))
    setup_refresh(now=True)
    assert profile_of(model_registry.generator()).scores["marks"] == 1.0

    exam_override(scope=scope_of(admin), actor=admin, spec=spec(), values={"way": "fill"})
    setup_refresh(now=True)

    assert profile_of(model_registry.generator()).way == "fill"
    assert profile_of(model_registry.generator()).scores["marks"] == 1.0


def test_a_model_that_was_never_examined_is_examined_once(server, admin):
    assert len(exams_start_missing()) == 1
    assert exams_start_missing() == []


@override_settings(LLM_EXAM=False)
def test_nobody_is_examined_where_the_operator_does_not_want_it(server, admin):
    with override_settings(LLM_EXAM=False):
        assert exams_start_missing() == []


def test_only_who_manages_models_examines_them(server, admin):
    other = make_user("reader")

    with pytest.raises(MissingRightError):
        exam_start(scope=scope_of(other), actor=other, spec=spec())
    with pytest.raises(MissingRightError):
        exam_override(scope=scope_of(other), actor=other, spec=spec(), values={})


def test_impossible_values_are_not_stored(server, admin):
    with pytest.raises(ValueError, match="way"):
        exam_override(scope=scope_of(admin), actor=admin, spec=spec(), values={"way": "shout"})


def test_a_model_that_is_gone_ends_its_exam(server, admin):
    job = exam_start(scope=scope_of(admin), actor=admin, spec=spec())

    with override_settings(LLM_MODEL="another"):
        work_off(job)

    assert (job.state, job.error_code) == ("failed", "model_not_used")


@pytest.mark.full
def test_a_server_that_goes_away_in_the_middle_is_not_taken_for_a_bad_model(server, admin):
    """The exam goes on where it was when the server is there again."""
    respond, seen = server.respond, []

    def breaking(request):
        seen.append(request)
        return dataclasses.replace(respond(request), cut_after=0) if len(seen) > 10 else respond(request)

    server.respond = breaking
    job = exam_start(scope=scope_of(admin), actor=admin, spec=spec())
    work_off(job)
    assert (job.state, job.done, job.error_code) == ("queued", 10, "model_unavailable")
    assert not ModelExam.objects.exists()

    server.respond = respond
    due(job)
    work_off(job)

    assert ModelExam.objects.get().profile["way"] == "marks"


def test_a_slow_reader_gets_the_time_that_it_needs(server, admin):
    exam_override(
        scope=scope_of(admin), actor=admin, spec=spec(), values={"reading_speed": 100.0, "first_token_seconds": 1.0}
    )
    setup_refresh(now=True)

    assert spec().limits.first_token == 3 * (1 + 6000 / 100)


def test_the_command_examines_and_shows(server, admin, capsys):
    call_command("llm_check")
    call_command("llm_check", "--show")

    printed = capsys.readouterr().out
    assert f"{len(exam_tasks())}/{len(exam_tasks())}" in printed
    assert printed.count("Way of writing") == 2


def test_the_command_says_that_there_is_no_model():
    with pytest.raises(CommandError):
        call_command("llm_check")


def test_the_command_fails_where_the_model_does_not_answer(admin):
    with serving() as llm, override_settings(LLM_BASE_URL=llm.url, LLM_MODEL="m"):
        llm.default = Reply(status=400)
        with pytest.raises(SystemExit):
            call_command("llm_check")
    assert not ModelExam.objects.exists()


def test_the_page_shows_and_changes_a_profile(server, admin, client):
    client.force_login(admin)
    work_off(exam_start(scope=scope_of(admin), actor=admin, spec=spec()))
    address = reverse("admin:knowledge_languagemodel_profile", args=[spec().fingerprint])

    page = client.get(address).content.decode()
    changed = client.post(address, {"act": "save", "way": "quote", "judges": "no", "context_tokens": "2048"})

    assert "It writes answers and cites its sources itself" in page
    assert changed.status_code == 302
    assert ModelExam.objects.get().overrides == {"way": "quote", "judges": False, "context_tokens": 2048}
    assert "the documents are quoted" in client.get(address).content.decode()


def test_the_page_starts_an_exam_and_is_only_for_those_who_manage_models(server, admin, client):
    address = reverse("admin:knowledge_languagemodel_profile", args=[spec().fingerprint])
    client.force_login(make_user("reader"))
    assert client.get(address).status_code in (302, 403)

    client.force_login(admin)
    assert client.post(address, {"act": "exam"}).status_code == 302
    assert str(len(exam_tasks())) in client.get(address).content.decode()
    assert client.get(reverse("admin:knowledge_languagemodel_profile", args=["nobody"])).status_code == 404


def test_a_field_that_the_server_does_not_take_is_refused_once_in_an_exam_and_never_after_it(server, admin):
    answer = server.respond

    def respond(request):
        if "temperature" in request.body:
            return Reply(status=400, failure={"error": {"message": "no", "param": "temperature"}})
        return answer(request)

    server.respond = respond
    work_off(exam_start(scope=scope_of(admin), actor=admin, spec=spec()))
    refused = [request for request in server.requests if "temperature" in request.body]
    setup_refresh(now=True)

    asked = GenerationRequest(question="q", sources=(), messages=(ChatMessage(role="user", content="q"),))
    asyncio.run(collect(model_registry.generator().stream(asked)))

    assert len(refused) == 1
    assert spec().profile.left_out == ("temperature",)
    assert "temperature" not in server.requests[-1].body


def examined_then_tested(server, admin, pages):
    """An exam, and a test after the server has got other pages."""
    server.pages = {"/v1/models": {"data": [{"id": "m", "root": "/models/a"}]}}
    work_off(exam_start(scope=scope_of(admin), actor=admin, spec=spec()))
    server.pages = pages
    environment_model_test(scope=scope_of(admin), actor=admin, purpose="standard")
    return reverse("admin:knowledge_languagemodel_profile", args=[spec().fingerprint])


@pytest.mark.full
def test_another_model_under_the_same_name_is_told_and_examined_anew_once(server, admin, client):
    client.force_login(admin)
    address = examined_then_tested(server, admin, {"/v1/models": {"data": [{"id": "m", "root": "/models/b"}]}})

    page = client.get(address).content.decode()
    (job,) = Job.objects.filter(state="queued")

    assert "The server has another model under this name by now: m /models/b." in page
    assert exams_start_missing() == []
    work_off(job)
    assert "another model under this name" not in client.get(address).content.decode()
    assert ModelExam.objects.get().profile["listed"] == "m /models/b"


@pytest.mark.parametrize("pages", [{}, {"/v1/models": {"data": [{"id": "m", "root": "/models/a", "created": 5}]}}])
def test_the_same_model_and_a_server_that_says_nothing_keep_their_profile(server, admin, client, pages):
    client.force_login(admin)
    address = examined_then_tested(server, admin, pages)

    assert "another model under this name" not in client.get(address).content.decode()
    assert not Job.objects.filter(state="queued").exists()


def test_an_answer_by_another_model_makes_the_profile_out_of_date(server, admin):
    work_off(exam_start(scope=scope_of(admin), actor=admin, spec=spec()))
    exam = ModelExam.objects.get()
    assert exam.profile["reported"] == ["scripted"]

    circuit(spec()).note_success(reported="scripted")
    assert other_model(spec(), exam) == ""
    circuit(spec()).note_success(reported="scripted-2")

    assert other_model(spec(), exam) == "scripted-2"
    assert len(exams_start_missing()) == 1


def test_a_context_that_is_set_longer_than_what_is_read_is_told(server, admin, client, monkeypatch):
    client.force_login(admin)
    values = {"overflow": "cuts", "context_tokens": 2048}
    exam_override(scope=scope_of(admin), actor=admin, spec=spec(), values=values)
    address = reverse("admin:knowledge_languagemodel_profile", args=[spec().fingerprint])
    specs = {"standard": dataclasses.replace(spec(), context_tokens=16384)}
    monkeypatch.setattr(model_profiles, "setup_now", lambda: ModelSetup(models=specs))

    page = client.get(address).content.decode()

    assert "is set to 16384 tokens" in page.replace(",", "")
    assert "cuts them without saying so" in page


def test_during_its_first_exam_documents_are_quoted(server, admin):
    assert profile_of(model_registry.generator()).way == "marks"

    job = exam_start(scope=scope_of(admin), actor=admin, spec=spec())
    assert profile_of(model_registry.generator()).way == "marks"  # nobody examines it yet

    Job.objects.filter(pk=job.pk).update(done=3)
    registry_read_anew()
    assert profile_of(model_registry.generator()).way == "quote"

    with override_settings(LLM_MODEL="another"):
        work_off(job)  # fails: the model is gone
    setup_refresh(now=True)
    assert profile_of(model_registry.generator()).way == "marks"


@pytest.mark.parametrize(("way", "limit"), [("marks", 2044), ("plain", 2044), ("fill", None), ("quote", None)])
def test_a_model_that_reads_no_sources_does_not_limit_them(server, admin, way, limit):
    values = {"way": way, "context_tokens": 2044, "scores": {"context": 0.5}}
    ModelExam.objects.create(fingerprint=spec().fingerprint, name="m", profile=values)
    registry_read_anew()

    assert model_registry.least_context_tokens() == limit


def registry_read_anew():
    with transaction.atomic():
        registry_changed()
    setup_refresh(now=True)


def test_pages_show_how_far_an_exam_is_and_what_it_says(server, admin, client):
    client.force_login(admin)
    fingerprint, list_page = spec().fingerprint, reverse("admin:knowledge_languagemodel_changelist")
    results = [TaskResult(skill="marks", is_right=True, seconds=20.0).as_json()] * 12
    assert exam_states([fingerprint])[fingerprint].words == "Not examined"
    job = exam_start(scope=scope_of(admin), actor=admin, spec=spec())
    assert exam_states([fingerprint])[fingerprint].kind == "waiting"

    Job.objects.filter(pk=job.pk).update(done=12, checkpoint={"results": results}, state="running")
    shown = client.get(list_page).content.decode()
    Job.objects.filter(pk=job.pk).update(done=0, checkpoint={}, state="queued")
    job.refresh_from_db()
    work_off(job)
    ended = client.get(list_page).content.decode()

    left = len(exam_tasks()) - 12
    assert f"Exam 12 of {len(exam_tasks())}, about {-(-left * 20 // 60)} min left" in shown
    assert 'data-open="1"' in shown
    assert "It writes answers and cites its sources" in ended
    assert reverse("admin:knowledge_languagemodel_profile", args=[fingerprint]) in ended
    assert 'data-open="1"' not in ended


def test_an_exam_that_failed_is_told(server, admin):
    job = exam_start(scope=scope_of(admin), actor=admin, spec=spec())
    Job.objects.filter(pk=job.pk).update(state="failed")

    assert exam_states([spec().fingerprint])[spec().fingerprint].words == "The exam failed"

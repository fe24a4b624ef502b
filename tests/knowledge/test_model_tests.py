"""Only models that have passed a test answer; tests of slow servers go on beside the page."""

from __future__ import annotations

import threading
import time

import pytest
from django.test import override_settings

from knowledge import model_registry
from knowledge.model_setup import circuit, setup_forget, setup_now, setup_refresh
from knowledge.models import EnvironmentModelTest, LanguageModel, ModelServer
from knowledge.services import model_tests
from knowledge.services.language_models import model_save, server_save
from knowledge.services.model_states import environment_state, model_state
from knowledge.services.model_tests import (
    environment_model_test,
    model_test,
    model_test_start,
    models_test_untested,
    place_of_model,
    seconds_tested,
)
from tests.factories import make_admin, scope_of
from tests.knowledge.test_model_setup import allow, entered
from tests.migrating import long_released, migrations_apply, migrations_unapply
from tests.scripted_llm import Reply, serving

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_client")]
PAGE = b"<!DOCTYPE HTML><html><body>Unsupported method ('POST')</body></html>"


@pytest.fixture(autouse=True)
def fresh():
    setup_forget()
    yield
    setup_forget()


@pytest.fixture
def root():
    return make_admin("root")


@pytest.fixture
def who(root):
    return {"scope": scope_of(root), "actor": root}


@pytest.fixture
def llm(root):
    allow(root)
    with serving() as server:
        yield server


def used():
    setup_refresh(now=True)
    return {purpose: spec.name for purpose, spec in setup_now().models.items()}


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (Reply(status=501, failure=PAGE), "Not an OpenAI-compatible server (HTTP 501)."),
        (Reply(status=404, failure=PAGE), "The server does not know this address (HTTP 404). Most addresses of model "
                                          "servers end with /v1."),
        (Reply(body=PAGE), "Not an OpenAI-compatible server."),
        (Reply(status=500), "The server has a fault (HTTP 500). The server says: scripted failure"),
    ],
)  # fmt: skip
def test_a_model_that_fails_its_test_answers_nobody_and_says_why_without_a_page(root, who, llm, reply, sentence):
    llm.default = reply
    model = entered(root, "small", llm.url, purposes=("standard", "light", "judge"))
    assert (used(), model_state(model).kind) == ({}, "untested")

    (outcome,) = model_test(model=model, **who)

    assert outcome.sentence == sentence
    state = model_state(model)
    assert (state.kind, state.is_used, state.reason) == ("failed", False, sentence)
    assert used() == {}
    assert model_registry.chat_model() is model_registry.light_model() is model_registry.judge_model() is None
    assert {name: one.name for name, one in setup_now().unready.items()} == dict.fromkeys(
        ("standard", "light", "judge"), "small"
    )


def test_after_a_test_it_answers_until_its_name_address_key_or_limits_change(root, who, llm):
    model = entered(root, "small", llm.url)
    model_test(model=model, **who)
    assert used() == {"standard": "small"}
    server = model.servers.get()

    def change(**values):
        return lambda: model_save(model=model, values={"name": model.name, **values}, purposes=None, **who)

    def move(**values):
        return lambda: server_save(server=server, values={"url": llm.url, "enabled": True}, **values, **who)

    for act, is_used_after in (
        (change(context_tokens=9000), True),
        (move(), True),
        (change(name="other"), False),
        (move(key="another"), False),
        (change(first_token_seconds=90), False),
    ):
        act()
        assert bool(used()) is is_used_after
        server.refresh_from_db()
        model_test(model=model, **who)
        assert used()


def test_a_model_that_passed_stays_in_use_when_it_fails_later_and_is_told_as_failing(root, who, llm):
    model = entered(root, "small", llm.url)
    model_test(model=model, **who)
    llm.default = Reply(status=401)

    model_test(model=model, **who)

    assert used() == {"standard": "small"}
    state = model_state(model)
    assert (state.kind, state.is_used) == ("failing", True)
    assert "HTTP 401" in state.reason
    assert circuit(setup_now().models["standard"]).refusal() is not None  # nobody waits for it
    llm.default = Reply()
    model_test(model=model, **who)
    assert model_state(model).kind == "works"


def test_what_was_changed_while_it_was_tested_is_not_passed(root, who, llm):
    model = entered(root, "small", llm.url)

    def change(request):
        ModelServer.objects.update(url=f"{llm.url}/other")
        return Reply()

    trial = model_tests._of_model(model, root)
    change(None)
    trial.keep(trial.ask())

    assert used() == {}


@pytest.mark.django_db(transaction=True)
def test_a_slow_test_goes_on_beside_the_page_and_is_kept(root, who, llm, monkeypatch):
    monkeypatch.setattr(model_tests, "PAGE_SECONDS", 0.05)
    llm.default = Reply(hold_before=0)
    model = entered(root, "small", llm.url)

    assert model_test_start(model=model, **who) is None
    assert model_state(model).kind == "testing"
    assert seconds_tested(place_of_model(model.pk)) >= 0
    llm.release.set()

    limit = time.monotonic() + 20
    while model_state(LanguageModel.objects.get()).kind == "testing":
        assert time.monotonic() < limit
        threading.Event().wait(0.02)
    assert model_state(LanguageModel.objects.get()).kind == "works"
    assert used() == {"standard": "small"}


def test_the_limit_to_the_first_token_is_that_of_the_test(root, who, llm):
    model = entered(root, "small", llm.url, first_token_seconds=25)

    assert model_tests._of_model(model, root).limits.first_token == 25


def test_models_of_the_environment_are_tested_at_the_start_and_kept(root, who, llm):
    with override_settings(LLM_BASE_URL=llm.url, LLM_MODEL="m", LLM_LIMITS='{"m": {"first_token": 70}}'):
        assert setup_now().models["standard"].limits.first_token == 70
        assert environment_state("standard").kind == "untested"
        assert used() == {"standard": "m"}  # the operator named it

        models_test_untested()
        models_test_untested()  # what has passed is not tested again

        assert environment_state("standard").kind == "works"
        assert EnvironmentModelTest.objects.get().test_data["first_token_seconds"] >= 0
        assert len(llm.requests) == 1
        llm.default = Reply(status=404, failure=PAGE)
        environment_model_test(purpose="standard", **who)
        assert environment_state("standard").kind == "failing"
    with override_settings(LLM_BASE_URL=llm.url, LLM_MODEL="another"):
        assert environment_state("standard").kind == "untested"


def test_what_was_registered_and_never_tested_is_tested_at_the_start(root, llm):
    entered(root, "small", llm.url)
    entered(root, "unused", llm.url, purposes=())

    models_test_untested()

    assert used() == {"standard": "small"}
    assert [request.body["model"] for request in llm.requests] == ["small"]


@long_released
@pytest.mark.django_db(transaction=True)
def test_servers_that_had_passed_keep_answering_after_the_update(root):
    entered(root, "small", "https://one.example.org/v1", "https://two.example.org/v1")
    ModelServer.objects.filter(url__contains="one").update(test_code="ok", tested=root.date_joined)
    steps = ("knowledge", "0063")
    try:
        migrations_unapply(*steps)
    finally:
        migrations_apply(*steps)

    passed = dict(ModelServer.objects.values_list("url", "passed"))
    assert passed == {"https://one.example.org/v1": root.date_joined, "https://two.example.org/v1": None}

"""Registered models: who does what, below the environment, in effect everywhere without a restart."""

from __future__ import annotations

import asyncio
import threading

import pytest
from django.db import connection
from django.test import override_settings
from django.utils import timezone

from accounts.errors import MissingRightError
from accounts.models import AuditEvent
from knowledge import model_registry
from knowledge.model_errors import ModelInvalidError
from knowledge.model_servers import client_settings
from knowledge.model_setup import setup_forget, setup_now, setup_refresh
from knowledge.models import LanguageModel, ModelServer, SourcePlace
from knowledge.services.language_models import model_delete, model_save, server_save
from knowledge.services.model_tests import environment_model_test, model_test
from knowledge.services.places import place_take
from ragcore.errors import ModelUnavailableError, UrlNotAllowedError
from ragcore.ports import ChatMessage
from tests.factories import make_admin, make_tenant, scope_of, servers_pass
from tests.scripted_llm import Reply, serving

KEY = "sk-very-secret-0123456789"
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def fresh():
    setup_forget()
    yield
    setup_forget()


@pytest.fixture
def root():
    return make_admin("root")


@pytest.fixture
def llm():
    with serving() as server:
        yield server


def registered(root, name, *urls, purposes=("standard",), key=KEY, **values):
    """A model whose servers have passed a test."""
    model = entered(root, name, *urls, purposes=purposes, key=key, **values)
    servers_pass(model)
    return model


def entered(root, name, *urls, purposes=("standard",), key=KEY, **values):
    """A model that nobody has tested."""
    who = {"scope": scope_of(root), "actor": root}
    model = model_save(model=LanguageModel(), values={"name": name, **values}, purposes=purposes, **who)
    for url in urls:
        server_save(server=ModelServer(model=model), values={"url": url, "enabled": True}, key=key, **who)
    setup_refresh(now=True)
    return model


def allow(root, location="127.0.0.1"):
    return SourcePlace.objects.create(tenant=root.tenant, kind="host", location=location)


async def said(model):
    asked = model.stream([ChatMessage(role="user", content="Why?")], temperature=0, max_tokens=9)
    return "".join([event.text async for event in asked])


def test_a_registered_model_answers_with_its_key(root, llm):
    allow(root)
    registered(root, "small", llm.url, purposes=("standard", "judge"), price_in=1, price_out=2)

    assert asyncio.run(said(model_registry.chat_model())) == "ok"

    assert llm.requests[0].authorization == f"Bearer {KEY}"
    assert llm.requests[0].body["model"] == "small"
    assert [(tier.name, tier.model, tier.price_out) for tier in model_registry.tiers()] == [("standard", "small", 2)]
    assert model_registry.judge_model().name == model_registry.light_model().name == "small"
    assert model_registry.generator().name == "small"
    assert model_registry.model_price("small").completion == 2


def test_the_environment_stands_above_the_registry(root, llm):
    allow(root)
    registered(root, "mine", llm.url, purposes=("standard", "fast"))

    with override_settings(LLM_BASE_URL="http://m/v1", LLM_MODEL="theirs"):
        assert {name: spec.name for name, spec in setup_now().models.items()} == {"standard": "theirs", "fast": "mine"}
        with pytest.raises(ModelInvalidError):
            registered(root, "other", purposes=("standard",))

    assert model_registry.chat_model().name == "mine"


def test_a_purpose_goes_over_to_the_model_that_gets_it(root, llm):
    registered(root, "first", llm.url, purposes=("standard", "judge"))
    registered(root, "second", llm.url, purposes=("judge",))

    assert {name: spec.name for name, spec in setup_now().models.items()} == {"standard": "first", "judge": "second"}
    model_delete(scope=scope_of(root), actor=root, model=LanguageModel.objects.get(name="second"))
    setup_refresh(now=True)
    assert {name: spec.name for name, spec in setup_now().models.items()} == {"standard": "first"}


def test_keys_are_stored_encrypted_and_stand_in_no_event_and_no_text(root, llm):
    model = registered(root, "small", llm.url)

    with connection.cursor() as cursor:
        cursor.execute("SELECT string_agg(s::text, ' ') FROM knowledge_modelserver s")
        assert "secret" not in cursor.fetchone()[0]
    events = list(AuditEvent.objects.filter(action__startswith="model.").order_by("pk").values_list("action", "data"))
    assert [action for action, _data in events] == ["model.create", "model.server"]
    assert "secret" not in str(events)
    assert "secret" not in repr(setup_now())
    assert "secret" not in repr(client_settings(setup_now().models["standard"].endpoints[0]))
    assert str(model) == "small"


def test_a_key_is_not_sent_to_another_host(root, llm):
    model = registered(root, "small", "https://one.example.org/v1")
    server, who = model.servers.get(), {"scope": scope_of(root), "actor": root}

    with pytest.raises(ModelInvalidError):
        server_save(server=server, values={"url": "https://two.example.org/v1"}, **who)
    server_save(server=server, values={"url": "https://one.example.org/v2"}, **who)
    server_save(server=server, values={"url": "https://two.example.org/v1"}, key="", **who)

    assert ModelServer.objects.get().key == ""


def test_a_key_that_cannot_be_read_any_more_is_not_left_out_of_a_request(root, llm):
    allow(root)
    model = registered(root, "small", llm.url)

    with override_settings(SECRET_KEY="another key of this site, long enough for it"):
        setup_forget()
        setup_refresh(now=True)
        assert model_registry.chat_model() is None
        (outcome,) = model_test(scope=scope_of(root), actor=root, model=model)
    assert outcome.code == "key_unreadable"
    assert llm.requests == []


def test_private_hosts_are_refused_until_they_are_allowed(root, llm):
    model = registered(root, "small", llm.url)
    (outcome,) = model_test(scope=scope_of(root), actor=root, model=model)
    assert outcome.code == "not_allowed"
    assert "127.0.0.1" in outcome.sentence
    with pytest.raises(ModelUnavailableError):
        asyncio.run(said(model_registry.chat_model()))
    assert llm.requests == []

    place = allow(root)
    setup_forget()
    setup_refresh(now=True)
    assert asyncio.run(said(model_registry.chat_model())) == "ok"
    place_take(scope=scope_of(root), actor=root, place=place)
    setup_refresh(now=True)
    with pytest.raises(ModelUnavailableError):
        asyncio.run(said(model_registry.chat_model()))


def test_a_test_is_kept_and_recorded(root, llm):
    allow(root)
    model = registered(root, "small", llm.url)
    llm.default = Reply(status=401, failure={"error": {"message": f"{KEY} is no key"}})

    (outcome,) = model_test(scope=scope_of(root), actor=root, model=model)

    server = model.servers.get()
    assert outcome.sentence == "The server refuses the key (HTTP 401). The server says: … is no key"
    assert (server.test_code, server.tested is not None) == ("key_refused", True)
    assert KEY not in str(server.test_data)
    assert AuditEvent.objects.get(action="model.test").data["codes"] == {llm.url: "key_refused"}


def test_a_model_of_the_environment_is_tested_without_restrictions(root, llm):
    with override_settings(LLM_BASE_URL=llm.url, LLM_MODEL="m"):
        (outcome,) = environment_model_test(scope=scope_of(root), actor=root, purpose="standard")
        with pytest.raises(ModelInvalidError):
            environment_model_test(scope=scope_of(root), actor=root, purpose="judge")

    assert outcome.is_ok


def test_administrators_of_a_tenant_change_nothing(root, llm):
    other = make_admin(tenant=make_tenant())
    model = registered(root, "small", llm.url)

    for act in (
        lambda who: model_save(model=model, values={"name": "x"}, purposes=None, **who),
        lambda who: server_save(server=model.servers.get(), values={"url": llm.url}, **who),
        lambda who: model_delete(model=model, **who),
        lambda who: model_test(model=model, **who),
        lambda who: environment_model_test(purpose="standard", **who),
    ):
        with pytest.raises(MissingRightError):
            act({"scope": scope_of(other), "actor": other})


@pytest.mark.parametrize("url", ["ftp://m", "http://user:pass@m/v1", "m", "http://m:22/v1", "http://" + "x" * 5000])
def test_what_is_no_address_of_a_server_is_refused(root, url):
    model = registered(root, "small")

    with pytest.raises(UrlNotAllowedError):
        server_save(scope=scope_of(root), actor=root, server=ModelServer(model=model), values={"url": url})


def test_equal_models_share_their_client(root, llm):
    registered(root, "small", llm.url, f"{llm.url}/other", purposes=("standard", "light"))
    before = model_registry.chat_model()

    registered(root, "other", llm.url, purposes=("judge",))

    assert model_registry.chat_model() is before
    assert model_registry.light_model() is before


@pytest.mark.django_db(transaction=True)
def test_another_process_follows_within_a_second(monkeypatch):
    root = make_admin("root")
    setup_refresh(now=True)
    assert setup_now().models == {}

    # another process changes the registry: this one learns of it by the version only
    monkeypatch.setattr("knowledge.model_setup.setup_refresh", lambda **_: None)
    thread = threading.Thread(target=lambda: (_register(root), connection.close()))
    thread.start()
    thread.join()
    assert setup_now().models == {}
    monkeypatch.setattr("knowledge.model_setup.REFRESH_SECONDS", 0.0)

    setup_refresh()

    assert setup_now().models["standard"].name == "late"


def _register(root):
    who = {"scope": scope_of(root), "actor": root}
    model = model_save(model=LanguageModel(), values={"name": "late"}, purposes=["standard"], **who)
    server_save(server=ModelServer(model=model), values={"url": "https://m.example.org/v1"}, key="k", **who)
    ModelServer.objects.update(passed=timezone.now())

"""Finding model servers on this machine: who may, what is shown, and how a model of one is added."""

from __future__ import annotations

import socket
from dataclasses import replace

import httpx
import pytest
from django.urls import reverse
from django.utils import timezone, translation

from accounts.models import AuditEvent
from knowledge.model_setup import setup_forget
from knowledge.models import LanguageModel, SourcePlace
from knowledge.rights import PLACES_MANAGE
from knowledge.services import model_discovery
from ragcore.llm import local_servers
from tests.admin.conftest import signed_in
from tests.factories import make_admin, make_tenant
from tests.scripted_llm import serving

LIST = "/admin/knowledge/languagemodel/"
PAGE = f"{LIST}discover/"


@pytest.fixture(autouse=True)
def fresh():
    setup_forget()
    yield
    setup_forget()


@pytest.fixture
def ollama(monkeypatch):
    with serving() as server:
        monkeypatch.setattr(local_servers, "PORTS", (httpx.URL(server.url).port,))
        server.pages = {
            "/v1/models": {"data": [{"id": "qwen3:8b", "owned_by": "library"}, {"id": "<b>x</b>"}]},
            "/api/version": {"version": "0.12.3"},
            "/api/tags": {"models": []},
            "/api/ps": {"models": [{"name": "qwen3:8b", "context_length": 4096}]},
        }
        yield server


@pytest.fixture
def nobody(monkeypatch):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setattr(local_servers, "PORTS", (closed.getsockname()[1],))
        yield


def test_models_of_a_server_are_shown_with_what_to_do(administrator, ollama):
    answer = signed_in(administrator).post(PAGE)
    page = answer.content.decode()

    assert answer.status_code == 200
    assert "Ollama 0.12.3" in page
    assert "qwen3:8b" in page
    assert "4096" in page
    assert "OLLAMA_CONTEXT_LENGTH" in page
    assert "<b>x</b>" not in page
    assert "is a private address" in page
    assert "Allow this address for language models" in page
    assert "/add/?name" not in page  # not before the address is allowed
    event = AuditEvent.objects.get(action="model.discover")
    assert event.data["servers"] == [ollama.url]


def test_nothing_is_said_of_an_address_that_is_allowed(administrator, ollama):
    SourcePlace.objects.create(tenant=administrator.tenant, kind="host", location="127.0.0.0/8")

    assert "is a private address" not in signed_in(administrator).post(PAGE).content.decode()


def test_a_chosen_model_opens_the_form_filled_in_and_is_saved_with_its_server(administrator, ollama):
    SourcePlace.objects.create(tenant=administrator.tenant, kind="host", location="127.0.0.1")
    client = signed_in(administrator)
    model = client.post(PAGE).context["servers"][0]["models"][0]

    form = client.get(model["add_address"])
    fields = form.context["adminform"].form
    server = form.context["inline_admin_formsets"][0].formset.forms[0]
    sent = {
        "name": fields["name"].value(),
        "context_tokens": fields["context_tokens"].value(),
        "servers-0-url": server["url"].value(),
        "servers-0-enabled": "on",
        "servers-TOTAL_FORMS": "1",
        "servers-INITIAL_FORMS": "0",
        "servers-MIN_NUM_FORMS": "0",
        "servers-MAX_NUM_FORMS": "1000",
    }
    saved = client.post(model["add_address"], sent)  # the browser posts to the address of the form

    assert saved.status_code == 302, saved.context["errors"]
    row = LanguageModel.objects.get()
    assert (row.name, row.context_tokens, row.servers.get().url) == ("qwen3:8b", 4096, ollama.url)


def test_one_button_allows_the_address_and_shows_the_models_again(administrator, ollama):
    client = signed_in(administrator)
    model = LanguageModel.objects.create(name="qwen3:8b")
    server = model.servers.create(url=ollama.url, tested=timezone.now(), test_code="not_allowed")

    page = client.post(PAGE, {"act": "allow"}).content.decode()
    again = client.post(PAGE, {"act": "allow"})

    place = SourcePlace.objects.get()
    assert (place.tenant.is_default, place.kind, place.location, place.for_owners) == (True, "host", "127.0.0.1", False)
    assert "is a private address" not in page
    assert "Added already" in page
    assert reverse("admin:knowledge_languagemodel_change", args=[model.pk]) in page
    server.refresh_from_db()
    assert server.test_code == "ok"
    assert again.status_code == 200


def test_the_address_can_be_allowed_where_a_test_failed_for_it(administrator, ollama):
    client = signed_in(administrator)
    model = LanguageModel.objects.create(name="m")
    model.servers.create(url=ollama.url, tested=timezone.now(), test_code="not_allowed", test_data={"host": "x"})
    page = client.get(f"{LIST}{model.pk}/change/").content.decode()

    tested = client.post(
        reverse("admin:knowledge_languagemodel_test", args=[model.pk]), {"act": "allow", "page": "1"}, follow=True
    )

    assert "Allow this address for language models" in page
    assert "It answers" in tested.content.decode()
    assert "Allow this address for language models" not in tested.content.decode()


def test_who_may_not_manage_places_reads_whom_to_ask(administrator, ollama, monkeypatch):
    monkeypatch.setattr(model_discovery, "PLACES_MANAGE", replace(PLACES_MANAGE, roles=frozenset()))

    page = signed_in(administrator).post(PAGE, {"act": "allow"}).content.decode()

    assert "Ask somebody who may change" in page
    assert "Allow this address for language models" not in page
    assert not SourcePlace.objects.exists()


def test_nobody_there_is_a_sentence_and_no_error(administrator, nobody):
    answer = signed_in(administrator).post(PAGE)
    with translation.override("zh-hans"):
        chinese = signed_in(administrator).post(PAGE, headers={"accept-language": "zh-hans"}).content.decode()

    assert answer.status_code == 200
    assert "No model server answers at 127.0.0.1" in answer.content.decode()
    assert "没有模型服务器响应" in chinese


def test_the_product_does_not_find_itself(administrator, ollama, monkeypatch):
    answer = signed_in(administrator).post(PAGE, SERVER_PORT=str(local_servers.PORTS[0]))

    assert answer.context["servers"] == []
    assert ollama.fetched == []


def test_only_platform_administrators_look_and_only_when_they_want_it(administrator, ollama):
    tenant_admin = make_admin(tenant=make_tenant())

    assert signed_in(tenant_admin).post(PAGE).status_code == 403
    assert "Find servers" not in signed_in(tenant_admin).get(LIST).content.decode()
    assert signed_in(administrator).get(PAGE).status_code == 405
    assert "Find servers on this machine" in signed_in(administrator).get(LIST).content.decode()
    assert ollama.fetched == []

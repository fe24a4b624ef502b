"""Finding model servers on this machine: who may, what is shown, and how a model of one is added."""

from __future__ import annotations

import socket

import httpx
import pytest
from django.urls import reverse
from django.utils import translation

from accounts.models import AuditEvent
from knowledge.model_setup import setup_forget
from knowledge.models import LanguageModel, SourcePlace
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
    assert f"{reverse('admin:knowledge_sourceplace_add')}?kind=host&amp;location=127.0.0.1" in page
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

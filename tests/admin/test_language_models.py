"""The page of language models: connecting one, testing it, what stands locked, who sees what (D42)."""

from __future__ import annotations

import pytest
from django.test import override_settings
from django.urls import reverse
from django.utils import translation

from knowledge.model_setup import setup_forget, setup_now
from knowledge.models import LanguageModel, SourcePlace
from tests.admin.conftest import signed_in
from tests.factories import make_admin, make_tenant, make_user
from tests.scripted_llm import serving

LIST = "/admin/knowledge/languagemodel/"
KEY = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def fresh():
    setup_forget()
    yield
    setup_forget()


@pytest.fixture
def llm(administrator):
    SourcePlace.objects.create(tenant=administrator.tenant, kind="host", location="127.0.0.1")
    with serving() as server:
        yield server


def form(url, *, key="", name="small", stored=None, **more):
    management = {
        "servers-TOTAL_FORMS": "1",
        "servers-INITIAL_FORMS": "1" if stored else "0",
        "servers-MIN_NUM_FORMS": "0",
        "servers-MAX_NUM_FORMS": "1000",
    }
    server = {"servers-0-url": url, "servers-0-new_key": key, "servers-0-enabled": "on"}
    if stored:
        server |= {"servers-0-id": str(stored.pk), "servers-0-model": str(stored.model_id)}
    return {"name": name, "used_for": ["standard"], **management, **server, **more}


def test_a_model_is_connected_tested_and_used(administrator, llm, django_capture_on_commit_callbacks):
    client = signed_in(administrator)

    with django_capture_on_commit_callbacks(execute=True):
        answer = client.post(f"{LIST}add/", form(llm.url, key=KEY, price_in="0.5", price_out="1"))
    assert answer.status_code == 302, answer.context["errors"]
    model = LanguageModel.objects.get()
    tested = client.post(reverse("admin:knowledge_languagemodel_test", args=[model.pk]), {"page": "1"}, follow=True)

    page = tested.content.decode()
    assert "It answers" in page
    assert llm.requests[0].authorization == f"Bearer {KEY}"
    assert setup_now().models["standard"].name == "small"
    shown = client.get(LIST).content.decode()
    assert llm.url in shown
    assert KEY not in page + shown
    assert "A key is stored" in page


def test_an_empty_key_keeps_the_stored_one_and_another_address_wants_it_again(administrator, llm):
    client = signed_in(administrator)
    client.post(f"{LIST}add/", form(llm.url, key=KEY))
    model = LanguageModel.objects.get()
    server, change = model.servers.get(), f"{LIST}{model.pk}/change/"

    client.post(change, form(llm.url, stored=server, context_tokens="4096"))
    assert model.servers.get().key == server.key
    refused = client.post(change, form("http://127.0.0.1:9999/v1", stored=server)).content.decode()
    assert "Enter the key again" in refused
    client.post(change, form("http://127.0.0.1:9999/v1", stored=server, **{"servers-0-remove_key": "on"}))
    assert model.servers.get().key == ""


def test_what_the_environment_sets_is_locked(administrator, llm):
    client = signed_in(administrator)

    with override_settings(LLM_BASE_URL=llm.url, LLM_MODEL="given"):
        shown = client.get(LIST).content.decode()
        added = client.get(f"{LIST}add/").content.decode()
        refused = client.post(f"{LIST}add/", form(llm.url))
        tested = client.post(reverse("admin:knowledge_languagemodel_purpose", args=["standard"]), follow=True)

    assert "locked: set by the environment" in shown
    assert 'value="standard"' not in added
    assert refused.status_code == 200
    assert "It answers" in tested.content.decode()
    assert not LanguageModel.objects.exists()


def test_who_sees_what(administrator, llm):
    signed_in(administrator).post(f"{LIST}add/", form(llm.url, key=KEY))
    model = LanguageModel.objects.get()
    LanguageModel.objects.create(name="unused")
    tenant_admin = signed_in(make_admin(tenant=make_tenant()))

    shown = tenant_admin.get(LIST).content.decode()
    opened = tenant_admin.get(f"{LIST}{model.pk}/change/")

    assert "small" in shown
    assert "unused" not in shown
    assert "small" in opened.content.decode()
    assert llm.url not in shown + opened.content.decode()
    assert "new_key" not in opened.content.decode()
    assert tenant_admin.post(reverse("admin:knowledge_languagemodel_test", args=[model.pk])).status_code == 403
    assert tenant_admin.get(f"{LIST}add/").status_code == 403
    assert signed_in(make_user(is_staff=True)).get(LIST).status_code == 403


def test_in_chinese(administrator, llm):
    client = signed_in(administrator)
    client.post(f"{LIST}add/", form("http://no-such-host.invalid/v1"))
    client.cookies["django_language"] = "zh-hans"

    page = client.post(
        reverse("admin:knowledge_languagemodel_test", args=[LanguageModel.objects.get().pk]), follow=True
    ).content.decode()

    assert "无法解析" in page
    with translation.override("zh-hans"):
        assert str(LanguageModel._meta.verbose_name) == "语言模型"

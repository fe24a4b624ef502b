"""The page of language models: connecting one, testing it, what stands locked, who sees what."""

from __future__ import annotations

import time

import pytest
from django.core.cache import cache as shared_cache
from django.test import override_settings
from django.urls import reverse
from django.utils import translation

from knowledge.model_setup import setup_forget, setup_now
from knowledge.models import LanguageModel, SourcePlace
from knowledge.services import model_tests
from tests.admin.conftest import signed_in
from tests.factories import make_admin, make_tenant, make_user
from tests.scripted_llm import Reply, serving

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


@pytest.mark.parametrize(("button", "follows"), [("_addanother", "add/"), ("_save", "change/")])
def test_save_and_add_another_leads_to_an_empty_form_also_after_a_failed_test(administrator, button, follows):
    """Any other button shows the model, with what its servers said."""
    answer = signed_in(administrator).post(f"{LIST}add/", form("http://models.invalid/v1", **{button: "1"}))

    assert answer.status_code == 302
    assert answer.headers["Location"].endswith(follows)


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


def test_a_model_is_registered_once_and_the_message_says_so(administrator, llm):
    client = signed_in(administrator)
    client.post(f"{LIST}add/", form(llm.url))

    refused = client.post(f"{LIST}add/", form(llm.url)).content.decode()

    assert "This model is already registered." in refused
    assert "already exists" not in refused


def test_saving_tests_and_a_model_that_fails_is_stored_and_not_used(administrator, llm):
    client = signed_in(administrator)
    llm.default = Reply(status=501, failure=b"<!DOCTYPE HTML><html><h1>Error response</h1></html>")

    saved = client.post(f"{LIST}add/", form(llm.url), follow=True)

    model = LanguageModel.objects.get()
    page = saved.content.decode()
    assert saved.redirect_chain[-1][0] == f"{LIST}{model.pk}/change/"  # where the reason stands
    assert page.count("Not an OpenAI-compatible server (HTTP 501).") >= 2  # the message, and the state
    assert "Test failed, not used" in page
    assert "DOCTYPE HTML" not in page
    assert setup_now().models == {}
    assert "Test failed, not used" in client.get(LIST).content.decode()
    llm.default = Reply()

    client.post(reverse("admin:knowledge_languagemodel_test", args=[model.pk]))

    assert setup_now().models["standard"].name == "small"
    assert "Works" in client.get(LIST).content.decode()


def test_a_slow_test_shows_its_progress(administrator, llm, monkeypatch):
    monkeypatch.setattr(model_tests, "_start", lambda trial: None)
    client = signed_in(administrator)

    saved = client.post(f"{LIST}add/", form(llm.url), follow=True)
    model = LanguageModel.objects.get()
    shared_cache.set(model_tests._key(model_tests.place_of_model(model.pk)), time.time() - 7, 60)
    page = client.get(f"{LIST}{model.pk}/change/").content.decode()

    assert "Saved." in saved.content.decode()
    assert "still running" not in saved.content.decode()  # it would stay there when the test is over
    assert "Being tested" in page
    assert "<progress" in page
    assert 'data-open="1"' in page
    shared_cache.clear()


def test_limits_are_entered_and_hold(administrator, llm):
    client = signed_in(administrator)

    client.post(f"{LIST}add/", form(llm.url, first_token_seconds="90", between_tokens_seconds="45.5"))

    limits = setup_now().models["standard"].limits
    assert (limits.first_token, limits.between_tokens, limits.total_seconds) == (90, 45.5, None)
    refused = client.post(f"{LIST}add/", form(llm.url, name="other", total_seconds="0"))
    assert "total_seconds" in refused.context["adminform"].form.errors


def test_the_home_page_tells_what_is_wrong_with_a_model(administrator, llm, redis_client):
    client = signed_in(administrator)
    llm.default = Reply(status=404)
    client.post(f"{LIST}add/", form(llm.url))

    shown = client.get(reverse("admin-health")).content.decode()

    assert f'href="{LIST}">test failed, not used' in shown
    assert client.get("/health").json()["models"] == {"status": "test_failed"}


def test_a_model_whose_test_fails_is_saved_with_one_message_and_where_to_allow_its_host(administrator, llm):
    client = signed_in(administrator)
    llm.default = Reply(status=404)

    failed = client.post(f"{LIST}add/", form(llm.url), follow=True)
    unused = client.post(f"{LIST}add/", {**form(llm.url, name="spare"), "used_for": []}, follow=True)

    (told,) = (str(message) for message in failed.context["messages"])
    assert told.startswith("Saved. The test failed, so it is not used.")
    assert any("spare: not used for anything yet" in str(message) for message in unused.context["messages"])
    assert "Not used for anything yet" in client.get(LIST).content.decode()


def test_a_model_that_is_switched_off_is_no_failure(administrator, llm):
    client = signed_in(administrator)
    client.post(f"{LIST}add/", form(llm.url))
    model = LanguageModel.objects.get()
    off = form(llm.url, stored=model.servers.get())
    del off["servers-0-enabled"]

    saved = client.post(f"{LIST}{model.pk}/change/", off, follow=True).content.decode()
    shown = client.get(f"{LIST}{model.pk}/change/").content.decode()

    assert "The model is switched off" in saved
    assert "no server in use" not in saved
    assert "Switched off" in shown
    assert "Not tested, not used" not in shown
    assert "until one of its servers passes" not in shown


def test_who_deletes_a_model_reads_what_stays(administrator, llm):
    client = signed_in(administrator)
    client.post(f"{LIST}add/", form(llm.url))

    page = client.get(f"{LIST}{LanguageModel.objects.get().pk}/delete/").content.decode()

    assert "Its profile stays" in page
    assert "cannot be undone" not in page


def test_a_file_that_is_no_tokenizer_is_refused_beside_its_field(administrator, llm, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "config.json").write_text("{}")
    client = signed_in(administrator)

    refused = client.post(f"{LIST}add/", form(llm.url, tokenizer="config.json"))
    with translation.override("zh-hans"):
        missing = client.post(f"{LIST}add/", form(llm.url, tokenizer="none"), HTTP_ACCEPT_LANGUAGE="zh-hans")

    assert "is no tokenizer" in str(refused.context["adminform"].form.errors["tokenizer"])
    assert "none" in str(missing.context["adminform"].form.errors["tokenizer"])
    assert not LanguageModel.objects.exists()

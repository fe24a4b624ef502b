"""The page of embedding models and rerankers: adding one, testing it, the way to it and back, who sees what."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse
from django.utils import translation

from knowledge import model_registry
from knowledge.model_setup import setup_forget, setup_now
from knowledge.models import EmbedderFit, EmbedderSwitch, SearchModel, SourcePlace
from knowledge.services.packaged_embedders import packaged_embedders_register
from ragcore.embedding.openai_api import OpenAIEmbedder
from tests.admin.conftest import signed_in
from tests.factories import ingest, make_admin, make_set, make_tenant
from tests.knowledge.fills import switch_fill, vectors_tend
from tests.scripted_llm import Reply, serving

pytestmark = pytest.mark.django_db(transaction=True)
LIST = reverse("admin:knowledge_searchmodel_changelist")
KEY = "sk-very-secret-0123456789"
State = EmbedderSwitch.State


@pytest.fixture(autouse=True)
def fresh():
    setup_forget()
    yield
    setup_forget()
    model_registry.embedder_of.cache_clear()


@pytest.fixture
def server(administrator):
    SourcePlace.objects.create(tenant=administrator.tenant, kind="host", location="127.0.0.1")
    with serving() as scripted:
        vector = tuple(float(number % 7 + 1) for number in range(768))
        scripted.respond = lambda asked: Reply(vectors=(vector,) * len(asked.body["input"]))
        yield scripted


def form(url, **more):
    return {"task": "embed", "provider": "server", "name": "bge-m3", "url": url, "new_key": KEY, **more}


def step(row, name):
    return reverse("admin:knowledge_searchmodel_switch", args=[row.pk, name])


def test_a_model_is_added_tested_prepared_used_and_taken_back(administrator, server):
    ingest(administrator, make_set("lamps", owners=[administrator]), a="A lamp is red.", b="A mast is high.")
    client = signed_in(administrator)
    packaged = model_registry.live_model()
    client.post(reverse("admin:knowledge_searchmodel_add"), form(server.url))
    row = SearchModel.objects.get()
    EmbedderFit.objects.create(model=row.vectors, dimensions=768)
    assert KEY not in row.key
    assert (
        "Test this model first"
        in client.post(reverse("admin:knowledge_searchmodel_start"), {"model": row.pk}, follow=True).content.decode()
    )

    tested = client.post(reverse("admin:knowledge_searchmodel_test", args=[row.pk]), {"page": "1"}, follow=True)
    assert "It gives 768 numbers" in tested.content.decode()
    assert KEY not in tested.content.decode()
    client.post(reverse("admin:knowledge_searchmodel_start"), {"model": row.pk})
    switch = EmbedderSwitch.objects.get()
    client.post(step(switch, "pause"))
    vectors_tend()
    assert "paused" in client.get(LIST).content.decode()
    client.post(step(switch, "resume"))
    vectors_tend()
    switch.refresh_from_db()
    assert (switch.state, switch_fill(switch).error_code) == (State.READY, "")
    assert "Switch now" in client.get(LIST).content.decode()
    client.post(step(switch, "finish"))

    assert setup_now().embedder.client == "openai:bge-m3"
    with translation.override("zh-hans"):
        client.cookies["django_language"] = "zh-hans"
        assert "更换向量模型" in client.get(LIST).content.decode()
    client.post(reverse("admin:knowledge_searchmodel_back"))
    client.post(reverse("admin:knowledge_searchmodel_drop"))
    assert model_registry.live_model() == packaged
    assert set(EmbedderSwitch.objects.values_list("state", flat=True)) == {State.LIVE, State.DROPPED}


def test_a_test_says_what_failed(administrator, server):
    client = signed_in(administrator)
    server.respond = lambda _asked: Reply(status=401)
    client.post(reverse("admin:knowledge_searchmodel_add"), form(server.url))

    tested = client.post(reverse("admin:knowledge_searchmodel_test", args=[SearchModel.objects.get().pk]), follow=True)

    assert "401" in tested.content.decode()
    assert SearchModel.objects.get().test_code != "ok"


@pytest.fixture
def added(administrator, server):
    """The page of a registered model, and how it is tested."""
    client = signed_in(administrator)

    def add(**more):
        client.post(reverse("admin:knowledge_searchmodel_add"), form(server.url, **more))
        row = SearchModel.objects.get()
        if row.task == "embed":
            EmbedderFit.objects.create(model=row.vectors, dimensions=768, trust_latin=1.0, trust_cjk=1.0)
        url = reverse("admin:knowledge_searchmodel_test", args=[row.pk])
        return lambda: client.post(url, {"page": "1"}, follow=True).content.decode()

    return add


@pytest.mark.parametrize("task", ["embed", "rerank"])
def test_a_test_tells_what_the_server_says_without_the_key(added, server, task):
    test = added(task=task)
    server.respond = lambda _asked: Reply(status=404, failure={"detail": f"no bge-m3 for {KEY}"})

    page = test()

    assert "status 404" in page
    assert "no bge-m3 for …" in page
    assert KEY not in page


@pytest.mark.parametrize("task", ["embed", "rerank"])
def test_a_test_asks_nothing_without_a_key_that_cannot_be_read(added, server, task):
    test = added(task=task)
    SearchModel.objects.update(key="sealed by another SECRET_KEY")

    page = test()

    assert "The stored key cannot be read since SECRET_KEY has changed" in page
    assert (server.requests, SearchModel.objects.get().test_code) == ([], "key_unreadable")


def test_a_test_asks_a_server_that_is_down_only_once(added, server):
    test = added()
    server.respond = lambda _asked: Reply(status=503)

    assert "status 503" in test()
    assert len(server.requests) == 1


def test_a_test_asks_a_reranker_though_its_scores_are_known(added, server):
    test = added(task="rerank")
    server.respond = lambda _asked: Reply(body=b'{"results": [{"index": 0, "relevance_score": 0.5}]}')
    assert "It answers" in test()

    server.respond = lambda _asked: Reply(status=401)

    assert "status 401" in test()


def test_a_test_that_fails_in_any_way_is_a_sentence(added, monkeypatch):
    test = added()
    monkeypatch.setattr(OpenAIEmbedder, "embed_queries", lambda *_given: 1 / 0)

    assert "Something went wrong. It has been logged." in test()
    assert SearchModel.objects.get().test_code == "internal"


def test_no_price_is_asked_for_that_nothing_is_counted_with(administrator):
    assert (
        'name="price"' not in signed_in(administrator).get(reverse("admin:knowledge_searchmodel_add")).content.decode()
    )


def test_a_reranker_is_used_at_once(administrator, server):
    client = signed_in(administrator)
    client.post(reverse("admin:knowledge_searchmodel_add"), form(server.url, task="rerank", name="bge-reranker"))

    client.post(reverse("admin:knowledge_searchmodel_reranker"), {"model": SearchModel.objects.get().pk})
    assert setup_now().reranker.client == "http:bge-reranker"
    client.post(reverse("admin:knowledge_searchmodel_reranker"), {"model": ""})
    assert setup_now().reranker.client == "linear"


def test_what_the_environment_sets_stands_locked(administrator, server, settings):
    settings.EMBEDDER, settings.EMBEDDING_BASE_URL = "openai:fixed", server.url

    page = signed_in(administrator).get(LIST).content.decode()

    assert "fixed" in page
    assert "locked: set by the environment" in page
    assert "Compute vectors" not in page


def test_a_new_site_uses_one_packaged_model_and_offers_the_other(administrator, settings):
    settings.EMBEDDER = ""
    packaged_embedders_register()
    client = signed_in(administrator)

    page = client.get(LIST).content.decode()
    assert "embedded-e5-ngrams-1" in page
    assert re.findall(
        r"<option value=\"(\d*)\">([^<]*)", page.partition('id="target-choice"')[2].partition("</select>")[0]
    ) == [(str(SearchModel.objects.get(name="embedded").pk), "built-in: English (all-MiniLM-L6-v2)")]
    client.cookies["django_language"] = "zh-hans"
    assert "内置：英文（all-MiniLM-L6-v2）" in client.get(LIST).content.decode()

    refused = client.post(reverse("admin:knowledge_searchmodel_add"), {"task": "embed", "provider": "packaged"})
    assert "该模型已登记" in refused.content.decode()


def test_administrators_of_a_tenant_see_what_is_in_use_and_change_nothing(administrator, server):
    signed_in(administrator).post(reverse("admin:knowledge_searchmodel_add"), form(server.url))
    row = SearchModel.objects.get()
    theirs = make_admin(tenant=make_tenant())
    client = signed_in(theirs)

    page = client.get(LIST).content.decode()

    assert "Models in use" in page
    assert "bge-m3" not in page
    for name, args in (("test", [row.pk]), ("start", []), ("back", []), ("drop", []), ("reranker", [])):
        assert client.post(reverse(f"admin:knowledge_searchmodel_{name}", args=args)).status_code == 403


def test_a_folder_outside_of_what_the_operator_allows_is_refused(administrator, tmp_path):
    (tmp_path / "config.json").write_text("{}")

    page = signed_in(administrator).post(
        reverse("admin:knowledge_searchmodel_add"), {"task": "embed", "provider": "folder", "name": str(tmp_path)}
    )

    assert "outside of the folders" in page.content.decode()
    assert not SearchModel.objects.exists()

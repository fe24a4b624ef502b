"""The pages of embedding models of sets, in both languages."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation

from evaluation.admin import set_embedders
from knowledge import model_registry, set_questions
from knowledge.model_setup import setup_forget
from knowledge.models import EmbedderFit, IndexEntry, SearchModel, SetEmbedder
from knowledge.queue import FILL_SET_VECTORS, set_embedder_subject
from tests.admin.conftest import signed_in
from tests.factories import ingest, make_admin, make_set, make_user
from tests.knowledge.fills import set_vectors_tend
from tests.knowledge.test_embedder_switch import bag_of_words
from tests.scripted_llm import Reply, serving
from work.models import Job

pytestmark = pytest.mark.django_db
LIST, START, ACT = (reverse(f"admin:evaluation_set_embedders{part}") for part in ("", "_start", "_act"))


@pytest.fixture(autouse=True)
def _language_of_the_thread():
    """The language of the last answer would stay for the tests that follow."""
    with translation.override("en"):
        yield


@pytest.fixture
def owner():
    return make_admin()


@pytest.fixture
def home(owner):
    made = make_set("trade", name="Trade", owners=[owner])
    texts = {f"d{n}": f"Pump {n} stands in hall {n * 7} beside valve {n * 3}." for n in range(9)}
    ingest(owner, made, **texts)
    return made


@pytest.fixture
def target(owner, settings):
    settings.FETCH_ALLOWED_HOSTS = ("127.0.0.1",)
    with serving() as server:
        server.respond = lambda asked: Reply(vectors=tuple(bag_of_words(text) for text in asked.body["input"]))
        row = SearchModel.objects.create(
            task="embed", provider="server", name="trade-model", url=server.url, vectors="trade-model", test_code="ok"
        )
        EmbedderFit.objects.create(model="trade-model", dimensions=768, floor=0.2)
        yield row
    setup_forget()
    set_questions.rested()
    model_registry.embedder_of.cache_clear()


def page_of(home):
    return f"{reverse('admin:evaluation_set_embedders_set')}?set={home.pk}"


@pytest.mark.full
def test_the_pages_start_follow_switch_and_delete(owner, home, target):
    client = signed_in(owner)

    def shown():
        return client.get(page_of(home)).content.decode()

    def act(name):
        row = SetEmbedder.objects.order_by("pk").last()
        return client.post(ACT, {"id": row.pk, "act": name}, follow=True).content.decode()

    assert "Trade" in client.get(LIST).content.decode()
    assert "trade-model" in shown()
    assert page_of(home) in client.get(reverse("admin:knowledge_knowledgeset_change", args=[home.pk])).content.decode()
    client.post(START, {"set": home.pk, "model": target.pk, "mode": "fused"})
    assert f"0 of {IndexEntry.objects.count()} entries" in shown()
    act("pause")
    act("resume")
    set_vectors_tend()
    assert "Switch on" in shown()
    assert "own passage among the first 10" in shown()

    assert "This model is in use now." in act("publish")
    assert "Back to the site's model" in shown()
    with translation.override("zh-hans"):
        client.cookies["django_language"] = "zh-hans"
        assert "停用" in client.get(page_of(home)).content.decode()
        assert "知识集的向量模型" in client.get(LIST).content.decode()
        client.cookies["django_language"] = "en"
    act("off")
    assert "Switch on again" in shown()
    act("drop")
    assert SetEmbedder.objects.get().state == SetEmbedder.State.DROPPED


def chosen(home, target, number, **values):
    return SetEmbedder.objects.create(
        tenant_id=home.tenant_id, knowledge_set=home, target=target, model="trade-model", number=number, **values
    )


def test_a_model_in_use_is_shown_however_many_follow(owner, home, target):
    chosen(home, target, 1, state="live", live_since=timezone.now())
    for number in range(2, set_embedders.SHOWN + 2):
        chosen(home, target, number, state="cancelled")

    page = signed_in(owner).get(page_of(home)).content.decode()

    assert "Back to the site's model" in page
    assert "Only the site's model is used." not in page


@pytest.mark.parametrize(
    ("state", "done", "total", "percent"),
    [("building", 999, 1000, 99), ("building", 1003, 1000, 99), ("ready", 1000, 1000, 100), ("building", 0, 0, 0)],
)
def test_a_hundred_percent_are_shown_once_all_is_done(owner, home, target, state, done, total, percent):
    """Vectors of passages that come meanwhile count, too: there may be more of them than there were passages."""
    row = chosen(home, target, 1, state=state)
    work = {"kind": FILL_SET_VECTORS, "tenant_id": home.tenant_id, "subject": set_embedder_subject(row.pk)}
    Job.objects.create(**work, done=done, total=total)

    assert f">{percent} %</progress>" in signed_in(owner).get(page_of(home)).content.decode()


def test_others_see_and_change_nothing(owner, home, target):
    row = SetEmbedder.objects.create(
        tenant_id=home.tenant_id, knowledge_set=home, target=target, model="trade-model", number=1, state="off"
    )
    keeper = make_user("keeper", tenant=owner.tenant, is_staff=True)
    make_set("theirs", owners=[keeper])
    client = signed_in(keeper)

    assert client.get(page_of(home)).status_code == 404
    assert home.name not in client.get(LIST).content.decode()
    assert client.post(START, {"set": home.pk, "model": target.pk, "mode": "fused"}).status_code == 404
    assert client.post(ACT, {"id": row.pk, "act": "drop"}).status_code == 404
    assert client.post(ACT, {"id": row.pk, "act": "anything"}).status_code == 404
    assert Client().get(page_of(home)).status_code == 302
    row.refresh_from_db()
    assert row.state == SetEmbedder.State.OFF

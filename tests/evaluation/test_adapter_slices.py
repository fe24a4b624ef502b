"""What changes between two slices of a training: the embedding model of the site, and the documents of the set."""

from __future__ import annotations

import uuid

import pytest
from django.urls import reverse

from accounts.selectors import scope_for
from evaluation.jobs import train_adapter
from evaluation.models import GoldenSet
from evaluation.services import trainings
from evaluation.services.adapter_training import training_start
from evaluation.services.golden import golden_import
from evaluation.services.golden_files import GoldenRow
from knowledge import model_registry
from knowledge.model_setup import setup_forget, setup_refresh
from knowledge.models import Document, EmbedderFit, EmbedderSwitch, ModelsVersion, QueryAdapter, SearchModel
from knowledge.services import document_delete
from tests.admin.conftest import signed_in
from tests.evaluation.topics import WORDS
from tests.evaluation.trained import at_round, died, ended, job_of
from tests.factories import ingest, make_admin, make_set
from tests.knowledge.test_embedder_switch import bag_of_words
from tests.scripted_llm import Reply, serving

ASKING = "Dear colleague, could you please tell me who of our friendly department would be responsible"
NOISE = {
    f"letter-{n}": f"{ASKING} for letter {n}? Dear friendly colleague, please tell our responsible department."
    for n in range(12)
}


def told_make():
    """A set with documents, and a golden case about each of them but for the letters."""
    admin = make_admin("admin")
    radio = make_set("radio", owners=[admin])
    return admin, radio, told_in(admin, radio)


def told_in(admin, radio):
    made = ingest(admin, radio, **{word: f"{word.capitalize()} work: see shelf {word}." for word in WORDS}, **NOISE)
    rows = [GoldenRow(question=f"{ASKING} for the {word}?", relevant=(word,), answers=(word,)) for word in WORDS]
    found = golden_import(tenant=admin.tenant, name="radio", rows=rows).golden_set
    found.sets.add(radio)
    GoldenSet.objects.filter(pk=found.pk).update(guards=False)
    return made


pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("few_general_texts"),
    pytest.mark.starts_from(make=told_make),
]


@pytest.fixture(autouse=True)
def _few_rounds(monkeypatch):
    monkeypatch.setattr(train_adapter, "PATIENCE", 3)
    monkeypatch.setattr(trainings, "STORED_SECONDS", 0.0)


@pytest.fixture
def admin(request, db):
    return request.getfixturevalue("kept_rows")[0] if "told" in request.fixturenames else make_admin("admin")


@pytest.fixture
def radio(request, admin):
    return request.getfixturevalue("kept_rows")[1] if "told" in request.fixturenames else make_set(owners=[admin])


@pytest.fixture
def told(kept_rows):
    return kept_rows[2]


@pytest.fixture
def server_model(settings):
    """A registered embedding model that the site does not use yet."""
    settings.FETCH_ALLOWED_HOSTS = ("127.0.0.1",)
    with serving() as server:
        server.respond = lambda asked: Reply(vectors=tuple(bag_of_words(text) for text in asked.body["input"]))
        yield SearchModel.objects.create(
            task="embed", provider="server", name="words", url=server.url, vectors="words", test_code="ok"
        )
    setup_forget()
    model_registry.embedder_of.cache_clear()


def site_uses(model):
    """Another process has switched the site to it; this one has not read it yet."""
    EmbedderFit.objects.create(model=model.vectors, dimensions=768, floor=0.2)
    EmbedderSwitch.objects.create(target=model, model=model.vectors, state="live")
    ModelsVersion.objects.update_or_create(number=ModelsVersion.ONE, defaults={"value": uuid.uuid4()})


def start(admin, radio):
    return training_start(scope=scope_for(admin), actor=admin, set_id=radio.pk, origins=["golden"])


def delete(admin, document):
    document_delete(scope=scope_for(admin), actor=admin, document_id=document.pk)


# ── the embedding model ─────────────────────────────────────────────────────────────────────────


@pytest.mark.full
def test_a_worker_that_was_restarted_goes_on_with_the_model_of_the_registry(admin, radio, server_model, monkeypatch):
    site_uses(server_model)
    setup_refresh(now=True)
    told_in(admin, radio)
    setup_forget()
    row = start(admin, radio)
    assert row.model == "words"
    died(row, monkeypatch, at_round(2))
    setup_forget()

    ended(row)

    assert row.state == "ready" or row.reason == "no_gain", job_of(row).error_data
    assert row.figures["held_out"] == len(WORDS)
    setup_forget()
    QueryAdapter.objects.filter(pk=row.pk).update(state="ready", weights=b"as if")
    page = signed_in(admin).get(f"{reverse('admin:evaluation_adapters_set')}?set={radio.pk}").content.decode()
    assert "fitted for another embedding model" not in page
    assert "Switch on" in page


@pytest.mark.full
@pytest.mark.parametrize("rounds", [0, 2])
def test_another_model_of_the_site_ends_a_training_and_says_so(admin, radio, told, server_model, rounds, monkeypatch):
    row = start(admin, radio)
    if rounds:
        died(row, monkeypatch, at_round(rounds))
    site_uses(server_model)

    ended(row)

    assert (row.reason, job_of(row).error_data["reason"], row.weights) == ("failed", "model", None)


@pytest.mark.full
def test_another_model_that_comes_while_the_passages_are_read_ends_a_training(
    admin, radio, told, server_model, monkeypatch
):
    row = start(admin, radio)
    real = train_adapter.AdapterJudge.of_training

    def switching(**values):
        site_uses(server_model)
        return real(**values)

    monkeypatch.setattr(train_adapter.AdapterJudge, "of_training", switching)

    assert job_of(ended(row)).error_data["reason"] == "model"


# ── documents ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.full
def test_rounds_begin_anew_where_a_document_is_gone(admin, radio, told, monkeypatch):
    row = start(admin, radio)
    died(row, monkeypatch, at_round(2))
    delete(admin, told[WORDS[0]])

    ended(row)

    assert row.state == "ready", job_of(row).error_data
    assert (row.figures["held_out"], row.figures["begun_anew"]) == (len(WORDS) - 1, 1)
    assert [point["round"] for point in row.curve] == list(range(job_of(row).done + 1))
    again = ended(start(admin, radio))
    assert (again.curve, again.figures["overall"]) == (row.curve, row.figures["overall"])  # as if nothing was before
    assert "begun_anew" not in again.figures


@pytest.mark.full
def test_rounds_begin_anew_where_documents_are_in_other_folds(admin, radio, told, monkeypatch):
    row = start(admin, radio)
    died(row, monkeypatch, at_round(2))
    for number, word in enumerate(WORDS[:14]):  # all of them are one work by now
        Document.objects.filter(pk=told[word].pk).update(title=f"Handbook {number}")

    ended(row)

    assert row.figures["begun_anew"] == 1
    assert row.curve == ended(start(admin, radio)).curve


@pytest.mark.full
def test_passages_that_came_since_do_not_count(admin, radio, told, monkeypatch):
    whole = ended(start(admin, radio))
    row = start(admin, radio)
    died(row, monkeypatch, at_round(2))
    ingest(admin, radio, **{f"new-{word}": f"{ASKING} for the {word}? Nobody is." for word in WORDS})

    ended(row)

    assert (row.curve, row.figures) == (whole.curve, {**whole.figures, "entries_total": row.figures["entries_total"]})
    assert row.figures["entries_total"] > whole.figures["entries_total"]


@pytest.mark.full
def test_a_training_whose_documents_change_again_and_again_ends_and_says_so(admin, radio, told, monkeypatch):
    row = start(admin, radio)
    for n in range(train_adapter.MOST_ANEW + 1):
        died(row, monkeypatch, at_round(1))
        delete(admin, told[f"letter-{n}"])

    ended(row)

    assert (row.reason, job_of(row).error_data["reason"], row.checkpoint) == ("failed", "changed", None)

"""Embedding models of the site where something is amiss: they fail, change behind their names, or are deleted."""

from __future__ import annotations

import pytest
from django.db import connection

from knowledge import model_registry
from knowledge.jobs import embed_site
from knowledge.model_setup import hosts_allowed, setup_now
from knowledge.models import EmbedderFit, IndexEntry, SearchModel, WholeVector
from knowledge.search_model_setup import spec_of
from knowledge.services import embedder_fill
from knowledge.services.embedder_switch import switch_cancel, switch_pause, switch_resume, switch_start
from knowledge.services.search_models import search_model_delete, search_model_test
from tests.knowledge.fills import switch_fill, vectors_tend
from tests.knowledge.test_embedder_switch import State, bag_of_words, corpus, masts, platform, server, target, who
from tests.scripted_llm import Reply
from tests.work.contract import KindContract
from work.services import work_cancel, work_pause, work_resume

pytestmark = pytest.mark.django_db(transaction=True)
__all__ = ["corpus", "masts", "platform", "server", "target", "who"]  # fixtures


def test_one_model_that_fails_in_any_way_keeps_no_other_waiting(platform, who, target, corpus, monkeypatch):
    row = switch_start(**who, target=target)
    embedder = embed_site.embedder_of

    def failing_first(spec):
        if spec == setup_now().embedder:
            raise ModuleNotFoundError("torch")
        return embedder(spec)

    monkeypatch.setattr(embed_site, "embedder_of", failing_first)
    vectors_tend()
    row.refresh_from_db()
    assert (row.state, switch_fill(row).error_code) == (State.READY, "")

    monkeypatch.setattr(embed_site, "embedder_of", lambda _spec: 1 / 0)
    vectors_tend()
    assert switch_fill(row).error_code == "internal"


def test_vectors_that_are_no_numbers_are_told(who, target, corpus, server):
    row = switch_start(**who, target=target)
    server.respond = lambda asked: Reply(vectors=("AACAPwAA",) * len(asked.body["input"]))

    vectors_tend()

    job = switch_fill(row)
    assert (job.error_code, job.error_data) == ("embedder_refused", {"reason": "answer_format"})


def test_a_model_that_was_changed_while_it_was_tested_is_not_tested(who, target, server):
    asked = SearchModel.objects.get()
    respond = server.respond

    def changes(request):
        SearchModel.objects.update(url="http://127.0.0.1:9/v1", test_code="")
        connection.close()  # that of the server's thread, which would keep the test database in use to the end
        return respond(request)

    server.respond = changes
    assert "was changed while it was tested" in search_model_test(**who, model=asked)
    assert (asked.test_code, SearchModel.objects.get().test_code) == ("changed", "")


@pytest.mark.full
def test_another_model_behind_the_name_of_a_server_is_measured_anew_while_no_vectors_are_stored(
    who, target, corpus, server
):
    def wider(asked):
        vectors = (bag_of_words(text)[:384] + (0.0,) * 640 for text in asked.body["input"])
        return Reply(vectors=tuple(vectors))

    respond, server.respond = server.respond, wider

    assert "1024" in search_model_test(**who, model=target)

    assert (target.test_code, EmbedderFit.objects.get().dimensions) == ("ok", 1024)
    switch_start(**who, target=target)
    vectors_tend()
    server.respond = respond
    assert "its stored vectors have 1024" in search_model_test(**who, model=target)
    assert EmbedderFit.objects.get().dimensions == 1024


def test_other_weights_behind_the_same_name_make_no_vectors_and_fail_the_test(who, target, corpus, server, monkeypatch):
    row = switch_start(**who, target=target)
    monkeypatch.setattr(embedder_fill, "BATCH", 2)
    respond = server.respond

    def retrained(asked):
        return Reply(vectors=tuple(bag_of_words(f"{text} {text[:9]}")[::-1] for text in asked.body["input"]))

    with monkeypatch.context() as patch:
        patch.setattr(embedder_fill, "FEW", 1)
        embedder_fill.few_fill(model_registry.embedder_of(spec_of(target, hosts_allowed())), spec_of(target, ()))
    model_registry.embedder_of.cache_clear()
    server.respond = retrained
    vectors_tend()
    assert (switch_fill(row).error_data, WholeVector.objects.filter(embedding_model=row.model).count()) == (
        {"reason": "other_weights", "model": row.model},
        2,
    )
    assert "its weights have changed" in search_model_test(**who, model=target)

    server.respond = respond
    vectors_tend()
    row.refresh_from_db()
    assert (row.state, switch_fill(row).error_code) == (State.READY, "")


def test_a_deleted_model_leaves_no_measurement(who, target):
    search_model_delete(**who, model=target)

    assert not EmbedderFit.objects.exists()


class TestEmbedSite(KindContract):
    @pytest.fixture(autouse=True)
    def _target(self, who, target, corpus, monkeypatch):
        self.who, self.target = who, target
        monkeypatch.setattr(embedder_fill, "BATCH", 2)

    def start(self):
        self.row = switch_start(**self.who, target=self.target)
        return switch_fill(self.row)

    def outcome(self, job):
        self.row.refresh_from_db()
        return self.row.state == State.READY, WholeVector.objects.filter(embedding_model=self.row.model).count()

    def whole(self):
        return True, IndexEntry.objects.count()


def test_a_switch_shows_what_is_done_with_its_job(who, target, corpus):
    row = switch_start(**who, target=target)
    acts = {**who, "job_id": switch_fill(row).pk}
    states = []

    for act in (work_pause, work_resume, work_cancel):
        act(**acts)
        row.refresh_from_db()
        states.append(row.state)

    assert states == [State.PAUSED, State.BUILDING, State.CANCELLED]
    assert vectors_tend() == 0


def test_the_job_of_a_switch_stands_still_and_ends_with_it(who, target, corpus):
    row = switch_start(**who, target=target)
    states = []

    for act in (switch_pause, switch_resume, switch_cancel):
        act(**who, switch_id=row.pk)
        states.append(switch_fill(row).state)

    assert states == ["paused", "queued", "cancelled"]

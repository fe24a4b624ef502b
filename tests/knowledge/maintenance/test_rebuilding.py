"""Building indexes anew while people search."""

import threading

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection, connections, transaction

from knowledge.indexes import index_maintenance, search_space, statements
from knowledge.models import IndexEntry
from knowledge.services.maintenance import indexes_rebuild, maintenance_run
from knowledge.services.retrieval import retrieve
from knowledge.tasks import maintain
from knowledge.types import RetrievalRequest
from ragcore.errors import RagError
from ragsite.celery import app
from tests.factories import ingest, scope_of
from tests.knowledge.locks import wait_for_lock

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def document(owner, common):
    found = ingest(owner, common, a="alpha beta gamma", b="beta delta")["a"]
    IndexEntry.objects.update(merged=True)
    return found


class Searching(threading.Thread):
    """Searches over both indexes until it is told to stop."""

    def __init__(self, owner):
        super().__init__(daemon=True)
        self.owner, self.stop, self.found, self.failure = owner, threading.Event(), [], None

    def run(self):
        try:
            while not self.stop.is_set():
                with connection.cursor() as cursor:  # who waits for a lock gives up at once, and fails
                    cursor.execute("SET lock_timeout = '500ms'")
                done = retrieve(scope=scope_of(self.owner), request=RetrievalRequest(query="gamma"))
                self.found.append([hit.document for hit in done.state.candidates][:1])
        except (OperationalError, RagError) as error:
            self.failure = error
        finally:
            with connection.cursor() as cursor:
                cursor.execute("RESET lock_timeout")
            connections.close_all()


def test_people_search_while_the_indexes_are_built_anew(owner, document, monkeypatch):
    monkeypatch.setattr(search_space, "NEAR_START", -1e9)  # always through the index
    searching = Searching(owner)
    searching.start()

    names = [done.name for _ in range(3) for done in indexes_rebuild()]
    searching.stop.set()
    searching.join(30)

    assert searching.failure is None
    assert len(searching.found) > 3
    assert all(found == [document.pk] for found in searching.found)
    assert {"knowledge_entry_coarse", "knowledge_entry_lexemes"} <= set(names)


def test_a_reader_in_a_long_transaction_is_waited_for_and_not_stopped(owner, document):
    """REINDEX waits for transactions that saw the old index; they and everyone else go on meanwhile."""
    rebuilding = threading.Thread(target=rebuild_one, daemon=True)
    with transaction.atomic():
        IndexEntry.objects.count()
        rebuilding.start()
        wait_for_lock("virtualxid")

        assert IndexEntry.objects.count() == 2

    rebuilding.join(30)
    assert not rebuilding.is_alive()
    assert index_maintenance.leftover_indexes() == []


def rebuild_one():
    try:
        index_maintenance.index_rebuild("knowledge_entry_coarse")
    finally:
        connections.close_all()


@pytest.mark.usefixtures("document")
def test_what_an_interrupted_rebuild_left_is_dropped_first():
    with connection.cursor() as cursor:
        cursor.execute("CREATE INDEX knowledge_entry_lexemes_ccnew ON knowledge_indexentry USING gin (lexemes)")
        cursor.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'knowledge_entry_lexemes_ccnew'::regclass"
        )
    assert index_maintenance.leftover_indexes() == ["knowledge_entry_lexemes_ccnew"]

    names = [done.name for done in indexes_rebuild()]

    assert index_maintenance.leftover_indexes() == []
    assert "knowledge_entry_lexemes_ccnew" not in names


@pytest.mark.usefixtures("document")
def test_two_rebuilds_at_once_are_refused():
    held, free = threading.Event(), threading.Event()
    other = threading.Thread(target=hold, args=(held, free), daemon=True)
    other.start()
    assert held.wait(10)

    with pytest.raises(CommandError, match="Another process"):
        call_command("reindex")

    free.set()
    other.join(10)


def hold(held, free):
    try:
        with statements.maintenance_try_lock() as alone:
            assert alone
            held.set()
            free.wait(20)
    finally:
        connections.close_all()


@pytest.mark.usefixtures("document")
def test_the_command_says_how_long_each_index_took(capsys):
    call_command("reindex")

    assert "knowledge_entry_coarse: 0." in capsys.readouterr().out


@pytest.mark.usefixtures("document")
def test_inside_a_transaction_it_is_refused_in_words():
    with pytest.raises(RuntimeError, match="outside"), transaction.atomic():
        index_maintenance.index_rebuild("knowledge_entry_coarse")


@pytest.mark.usefixtures("document")
def test_the_weekly_run_does_everything_and_finds_nothing_wrong(caplog):
    caplog.set_level("INFO", logger="knowledge.services.maintenance")

    maintenance_run()

    assert any("knowledge_entry_coarse was built anew in" in line for line in caplog.messages)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_it_is_planned_once_a_week_at_the_hour_of_the_site(settings):
    planned = app.conf.beat_schedule["purge and rebuild"]

    assert planned["task"] == maintain.name
    assert planned["schedule"].hour == {settings.MAINTENANCE_HOUR}
    assert planned["schedule"].day_of_week == {0}

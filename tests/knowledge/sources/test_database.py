"""Rows of databases as documents: SQLite in a folder, PostgreSQL at an address."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import psycopg
import pytest
from django.db import connection

from knowledge.connector_errors import ConnectorError, SourceUnreachableError
from knowledge.errors import FolderNotAllowedError
from knowledge.models import Document, Source
from knowledge.services.sources import source_create, source_preview
from knowledge.services.sources.connectors import connector_of
from ragcore.errors import UrlNotAllowedError
from tests.contracts.connector import ConnectorContract
from tests.factories import run_job, scope_of
from tests.knowledge.sources.building import counts, here, run

pytestmark = pytest.mark.django_db(transaction=False)

TICKETS = {
    "query": "SELECT id, title, body, product, changed FROM ticket",
    "title": "{product}: {title}",
    "text": "{body}",
    "attributes": ["product"],
}


@pytest.fixture
def tickets(shelf) -> Path:
    """A SQLite file with three tickets."""
    file = shelf / "tickets.db"
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE ticket (id INTEGER, title TEXT, body TEXT, product TEXT, changed INTEGER)")
        database.executemany(
            "INSERT INTO ticket VALUES (?, ?, ?, ?, ?)",
            [(n, f"Alarm {n}", f"The alarm {n} is cleared by a restart.", "P10", n) for n in (1, 2, 3)],
        )
    return file


def write(file: Path, statement: str, *values: object) -> None:
    with sqlite3.connect(file) as database:
        database.execute(statement, values)


def database_source(owner, location: str, settings: dict, **values) -> Source:
    given = {"name": "tickets", "kind": "database", "location": location, "settings": settings, **values}
    return source_create(scope=scope_of(owner), actor=owner, values=given)


class TestDatabaseConnector(ConnectorContract):
    @pytest.fixture(params=["", "changed"])
    def made(self, owner, tickets, request):
        source = database_source(owner, f"sqlite:///{tickets}", {**TICKETS, "changed_column": request.param})
        return lambda: connector_of(source)


def test_rows_become_documents_by_their_template(owner, tickets):
    source = database_source(owner, f"sqlite:///{tickets}", TICKETS)

    job = run(owner, source)
    run_job(job.pk)

    assert counts(job) == {"found": 3, "new": 3}
    document = Document.objects.get(source=source, external_id="2")
    assert (document.title, document.metadata, document.state) == ("P10: Alarm 2", {"product": "P10"}, "live")
    assert "The alarm 2 is cleared" in document.live_version.chunks.first().text


def test_without_a_template_every_column_stands_on_a_line(owner, tickets):
    source = database_source(owner, f"sqlite:///{tickets}", {"query": "SELECT id, title FROM ticket WHERE id = 1;"})

    job = run(owner, source)
    run_job(job.pk)

    text = Document.objects.get(source=source).live_version.chunks.first().text
    assert "title" in text
    assert "Alarm 1" in text


def test_with_a_column_of_changes_only_newer_rows_are_read(owner, tickets):
    settings = {**TICKETS, "changed_column": "changed"}
    source = database_source(owner, f"sqlite:///{tickets}", settings, options={"delete_missing": True})
    run(owner, source)
    write(tickets, "UPDATE ticket SET body = 'Replace the unit.', changed = 9 WHERE id = 2")
    write(tickets, "DELETE FROM ticket WHERE id = 3")
    write(tickets, "INSERT INTO ticket VALUES (4, 'Alarm 4', 'New.', 'P10', 8)")
    write(tickets, "UPDATE ticket SET body = 'Unseen: its change is not told.' WHERE id = 1")
    source.refresh_from_db()

    job = run(owner, source)

    assert counts(job) == {"found": 3, "new": 1, "changed": 1, "unchanged": 1, "deleted": 1}
    assert here(source) == ["1", "2", "4"]
    source.refresh_from_db()
    assert source.cursor == {"since": 9}


def test_the_same_rows_make_no_versions(owner, tickets):
    source = database_source(owner, f"sqlite:///{tickets}", TICKETS)
    run(owner, source)

    assert counts(run(owner, source)) == {"found": 3, "unchanged": 3}


def test_rows_without_an_id_and_with_the_same_one_are_refused_alone(owner, tickets):
    write(tickets, "INSERT INTO ticket VALUES (NULL, 'a', 'b', 'P10', 1)")
    write(tickets, "INSERT INTO ticket VALUES (3, 'again', 'b', 'P10', 1)")
    source = database_source(owner, f"sqlite:///{tickets}", TICKETS)

    job = run(owner, source)

    assert len(job.report["refused"]) == 2
    assert here(source) == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"query": "DELETE FROM ticket"}, "begins with SELECT"),
        ({"query": "SELECT 1 AS id; DROP TABLE ticket"}, "begins with SELECT"),
        ({"query": "SELECT id FROM nowhere"}, "no such table"),
        ({"query": "SELECT title FROM ticket"}, "no column 'id'"),
        ({**TICKETS, "title": "{name}"}, "no column 'name'"),
    ],
)
def test_what_is_no_query_that_reads_is_said(owner, tickets, given, words):
    source = database_source(owner, f"sqlite:///{tickets}", given)

    with pytest.raises((ConnectorError, SourceUnreachableError), match=words):
        source_preview(scope=scope_of(owner), source_id=source.pk)


def test_nothing_can_be_written_by_a_query(owner, tickets):
    settings = {"query": "WITH gone AS (SELECT 1 AS id) DELETE FROM ticket RETURNING id"}
    source = database_source(owner, f"sqlite:///{tickets}", settings)

    with pytest.raises((ConnectorError, SourceUnreachableError)):
        source_preview(scope=scope_of(owner), source_id=source.pk)
    with sqlite3.connect(tickets) as database:
        assert database.execute("SELECT count(*) FROM ticket").fetchone() == (3,)


def test_a_file_outside_of_released_folders_is_refused(owner, tickets):
    with pytest.raises(FolderNotAllowedError):
        database_source(owner, "sqlite:////etc/tickets.db", TICKETS)


@pytest.mark.parametrize("location", ["postgresql://127.0.0.1/x", "mysql://10.0.0.1/x"])
def test_databases_of_private_networks_need_a_released_host(owner, location):
    with pytest.raises(UrlNotAllowedError):
        database_source(owner, location, TICKETS)


@pytest.mark.parametrize("location", ["postgresql://me:secret@db.example.com/x", "tickets", "redis://db.example.com/0"])
def test_other_addresses_are_no_database(owner, location):
    with pytest.raises(ConnectorError):
        database_source(owner, location, TICKETS)


@pytest.fixture
def other_database(settings):
    """A table in the test's PostgreSQL, outside of the test's transaction; yields its address and credentials."""
    settings.FETCH_ALLOWED_HOSTS = ("127.0.0.1", "localhost")
    values = connection.get_connection_params()
    host, port, name = values["host"], values["port"], values["dbname"]
    with psycopg.connect(
        host=host, port=port, user=values["user"], password=values["password"], dbname=name, autocommit=True
    ) as outside:
        outside.execute("CREATE TABLE outside_note (id int, body text, changed timestamptz)")
        outside.execute("INSERT INTO outside_note VALUES (1, 'The fan is cleaned.', '2026-01-02T03:04:05Z')")
        try:
            secrets = {"user": values["user"], "password": values["password"]}
            yield f"postgresql://{host}:{port}/{name}", secrets, outside
        finally:
            outside.execute("DROP TABLE outside_note")


def test_postgresql_is_read_and_goes_on_from_a_moment(owner, other_database):
    location, secrets, outside = other_database
    settings = {"query": "SELECT * FROM outside_note", "text": "{body}", "changed_column": "changed"}
    source = database_source(owner, location, settings, credentials=secrets)

    assert counts(run(owner, source)) == {"found": 1, "new": 1}
    outside.execute("INSERT INTO outside_note VALUES (2, 'The filter is replaced.', '2026-02-03T04:05:06Z')")
    source.refresh_from_db()

    job = run(owner, source)

    assert job.report["faults"] == []
    assert counts(job) == {"found": 2, "new": 1, "unchanged": 1}


def test_postgresql_writes_nothing(owner, other_database):
    location, secrets, outside = other_database
    query = "WITH gone AS (DELETE FROM outside_note RETURNING id) SELECT id FROM gone"
    source = database_source(owner, location, {"query": query}, credentials=secrets)

    with pytest.raises((ConnectorError, SourceUnreachableError), match="read-only|data-modifying"):
        source_preview(scope=scope_of(owner), source_id=source.pk)
    assert outside.execute("SELECT count(*) FROM outside_note").fetchone() == (1,)


def test_wrong_credentials_are_said(owner, other_database):
    location, secrets, _outside = other_database
    source = database_source(owner, location, {"query": "SELECT 1 AS id"}, credentials={**secrets, "password": "no"})

    with pytest.raises(SourceUnreachableError):
        source_preview(scope=scope_of(owner), source_id=source.pk)

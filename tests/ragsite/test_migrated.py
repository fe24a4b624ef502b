"""The kept dump of the migrated database."""

from __future__ import annotations

import os
import re

import pytest
from django.db import connection
from psycopg import sql

from tests import migrated
from tests.migrated import dump_path, dump_read, dump_write

COPY = "ragsite_copy_of_dump"
LIST = re.compile(r"\(\(ARRAY\[([^]]*)\]\)::text\[\]\)")
VALUE = re.compile(r"'[^']*'::character varying")


@pytest.fixture
def empty_database(transactional_db):
    name = sql.Identifier(COPY)
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("CREATE DATABASE {}").format(name))
        yield COPY
        cursor.execute(sql.SQL("DROP DATABASE {}").format(name))


def test_what_is_read_from_a_dump_is_what_was_written(tmp_path, empty_database):
    server = connection.settings_dict
    dump_write(tmp_path / "first.sql", server=server, database=server["NAME"])

    dump_read(tmp_path / "first.sql", server=server, database=empty_database)

    dump_write(tmp_path / "second.sql", server=server, database=empty_database)
    first, second = (statements(tmp_path / name) for name in ("first.sql", "second.sql"))
    assert first == second
    assert any("knowledge_indexentry" in line for line in first)


def statements(path):
    """Without the words by which psql knows that a dump is whole, which are drawn anew each time.

    PostgreSQL writes the list of a condition as it was made by a migration, and otherwise once it was read from a dump.
    """
    lines = [line for line in path.read_text().splitlines() if not line.startswith(("\\restrict", "\\unrestrict"))]
    return [LIST.sub(lambda match: f"(ARRAY[{VALUE.sub(as_text, match[1])}])", line) for line in lines]


def as_text(match):
    return f"({match[0]})::text"


def test_a_changed_migration_has_another_dump(tmp_path, monkeypatch):
    source = tmp_path / "0001_initial.py"
    monkeypatch.setattr(migrated, "ROOT", tmp_path)
    monkeypatch.setattr(migrated, "_sources", lambda: [source])
    paths = []
    for text in ("first", "second", "first"):
        source.write_text(text)
        paths.append(dump_path())

    assert paths[0] == paths[2] != paths[1]


def test_only_the_newest_dumps_are_kept(tmp_path, monkeypatch, transactional_db):
    monkeypatch.setattr(migrated, "KEPT_DUMPS", 2)
    monkeypatch.setattr(migrated, "_run", lambda program, *arguments, **_: made(arguments[-1]))
    for number in range(4):
        dump_write(tmp_path / f"{number}.sql", server={}, database="")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["2.sql", "3.sql"]


def made(argument):
    """A file as old as its number says: several are made in one tick of the clock."""
    path = migrated.Path(argument.removeprefix("--file="))
    path.touch()
    os.utime(path, (int(path.stem), int(path.stem)))

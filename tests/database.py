"""The test database between two tests: emptied of what was written, or back at rows that many tests share.

Django flushes every table after a test that commits, and makes permissions anew. Here only the tables that hold rows
are emptied. What belongs to the migrated database (content types, permissions, …) stays as the migrations left it.
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Collection, Set
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from asgiref.sync import SyncToAsync
from django.conf import settings
from django.db import connection, connections, transaction
from psycopg import sql

from ragsite.embedded.processes import wait_until
from tests.forms_plugin import is_full
from tests.migrated import dump_path, dump_read, dump_write

T = TypeVar("T")
# tables with an HNSW index, and those that refer to them, which TRUNCATE empties, too
VECTOR_TABLES = """
WITH RECURSIVE emptied AS (
    SELECT i.indrelid AS origin, i.indrelid AS id FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    JOIN pg_am m ON m.oid = c.relam WHERE m.amname = 'hnsw'
    UNION
    SELECT e.origin, r.conrelid FROM emptied e JOIN pg_constraint r ON r.confrelid = e.id AND r.contype = 'f'
)
SELECT origin::regclass::text, array_agg(DISTINCT id::regclass::text) FROM emptied GROUP BY origin
"""
TEMPLATE = "ragsite_migrated"
DUMPED = "ragsite_dumped"
PREPARED = "marks"
# what the functions of the audit log say to its triggers; to the end of the transaction
AUDIT_MAY_CHANGE = "SELECT set_config('ragsite.audit_change', pg_current_xact_id()::text, true)"
# no trigger runs in the transaction, those of foreign keys neither: all that refers to a deleted row is deleted with it
WITHOUT_TRIGGERS = "SET LOCAL session_replication_role = replica"
EPOCHS = frozenset({"knowledge_corpusepoch", "knowledge_setepoch"})
ADVANCES = (
    "UPDATE knowledge_corpusepoch SET value = nextval('knowledge_corpus_epoch_number'), "
    "everywhere = nextval('knowledge_corpus_epoch_number')",
    "UPDATE knowledge_setepoch SET value = nextval('knowledge_corpus_epoch_number')",
)
CORPUS = "knowledge_"  # tables with this prefix: caches of a process know what they hold by the corpus epochs


@dataclass(frozen=True)
class Mark:
    """Number of rows of a table, and the newest transaction that wrote one: every change moves at least one of them."""

    rows: int
    newest: int


@dataclass
class State:
    """What the tables hold: a mark of each table with rows, and copies of the rows that are put back when changed."""

    marks: dict[str, Mark] = field(default_factory=dict)
    copies: dict[str, bytes] = field(default_factory=dict)


@dataclass
class TestDatabase:
    """The state to which the database returns after a test that commits."""

    __test__ = False

    is_prepared: bool = False  # there is a migrated database to copy
    tables: tuple[str, ...] = ()
    # with an HNSW index, which would still walk over deleted rows, and what is emptied with each
    vector_tables: dict[str, frozenset[str]] = field(default_factory=dict)
    is_superuser: bool = False  # who may leave triggers out
    migrated: State = field(default_factory=State)
    shared: State | None = None
    is_lent: bool = False  # to a running product: its fixture takes the shared rows away at its end
    maker: Callable[[], Any] | None = None
    made: Any = None

    def remember_migrated(self) -> None:
        """Call once, when the migrations have run and nothing else was written."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace")
            self.tables = tuple(sorted(name for (name,) in cursor.fetchall()))
            cursor.execute(VECTOR_TABLES)
            self.vector_tables = {name: frozenset(emptied) for name, emptied in cursor.fetchall()}
            cursor.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
            self.is_superuser = cursor.fetchone() == (True,)
        marks = self.marks()
        self.migrated = State(marks, {table: _copy_out(table) for table in marks})

    def share(self, make: Callable[[], T]) -> T:
        """What `make` returns, with its rows in the database; made only if they are not there from an earlier test.

        Every caller gets a copy of its own of the objects.
        """
        if self.maker != make:
            self.drop_shared()
            self.made = make()
            self.maker = make
            marks = self.marks()
            self.shared = State(marks, {table: _copy_out(table) for table in marks})
        return deepcopy(self.made)

    def drop_shared(self) -> None:
        """Remove the shared rows, if there are any."""
        if self.shared:
            self.shared = self.maker = self.made = None
            self.restore()

    def restore(self) -> None:
        """Undo what tests have committed. Shared rows stay, or are put back; a corpus gets epochs that no test saw."""
        state, marks = self.shared or self.migrated, self.marks()
        changed = {table for table in marks.keys() | state.marks.keys() if marks.get(table) != state.marks.get(table)}
        of_corpus = any(table.startswith(CORPUS) for table in changed)
        if self.shared and of_corpus and not self.is_superuser:
            self.drop_shared()  # triggers of the corpus would count its rows again
        elif self.shared:
            self._put_back(changed, state, of_corpus=of_corpus)
        elif changed:
            self._empty(changed - state.marks.keys())
            self._put_back(changed & state.marks.keys(), state)

    def _empty(self, tables: Set[str]) -> None:
        """Delete their rows: for few rows that takes a tenth of the time of TRUNCATE, which makes all files anew."""
        if not tables:
            return
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(WITHOUT_TRIGGERS if self.is_superuser else AUDIT_MAY_CHANGE)
            statements = {t: "TRUNCATE {} CASCADE" if t in self.vector_tables else "DELETE FROM {}" for t in tables}
            parts = [sql.SQL(statements[table]).format(sql.Identifier(table)) for table in sorted(tables)]
            cursor.execute(sql.SQL("; ").join(parts))

    def _put_back(self, tables: Set[str], state: State, *, of_corpus: bool = False) -> None:
        """Give tables the rows of a state again, in one transaction: foreign keys are checked at its end."""
        if not tables:
            return
        vectors = tables & self.vector_tables.keys()
        truncated = frozenset[str]().union(*(self.vector_tables[table] for table in vectors))
        tables = tables | (truncated & state.marks.keys()) | (EPOCHS & state.marks.keys() if of_corpus else set())
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(WITHOUT_TRIGGERS if self.is_superuser else AUDIT_MAY_CHANGE)
            statements = [sql.SQL("DELETE FROM {}").format(sql.Identifier(table)) for table in tables - truncated]
            if vectors:
                names = sql.SQL(", ").join(sql.Identifier(table) for table in sorted(truncated))
                statements.append(sql.SQL("TRUNCATE {}").format(names))
            cursor.execute(sql.SQL("; ").join(statements))
            for table in tables:
                if rows := state.copies.get(table):
                    with cursor.copy(sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(table))) as copy:
                        copy.write(rows)
            if of_corpus:
                epochs_advance()
        kept = {table: mark for table, mark in state.marks.items() if table not in tables}
        state.marks = kept | _marks_of(_select_marks(tables))

    def marks(self) -> dict[str, Mark]:
        """Of all tables with rows. The statement is prepared: planning it takes longer than running it."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM pg_prepared_statements WHERE name = %s", [PREPARED])
            if not cursor.fetchone():
                cursor.execute(sql.SQL("PREPARE {} AS ").format(sql.Identifier(PREPARED)) + _select_marks(self.tables))
        return _marks_of(sql.SQL("EXECUTE {}").format(sql.Identifier(PREPARED)))


def _select_marks(tables: Collection[str]) -> sql.Composed:
    one = "SELECT {name}, count(*), max(xmin::text::bigint) FROM {table} HAVING count(*) > 0"
    parts = [sql.SQL(one).format(name=sql.Literal(t), table=sql.Identifier(t)) for t in tables]
    return sql.SQL(" UNION ALL ").join(parts)


def _marks_of(statement: sql.Composable) -> dict[str, Mark]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return {table: Mark(rows, newest) for table, rows, newest in cursor.fetchall()}


def _copy_out(table: str) -> bytes:
    statement = sql.SQL("COPY {} TO STDOUT").format(sql.Identifier(table))
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        return b"".join(bytes(part) for part in copy)


def epochs_advance() -> None:
    """No two tests over the same rows see the same epochs, by which caches know what they hold.

    A test may change rows without an advance; what is cached then would be taken for the rows of the next test.
    """
    with connection.cursor() as cursor:
        cursor.execute("; ".join(ADVANCES))


def migrate_once(lock: Path) -> None:
    """Make and migrate the database that the test databases are copies of; of several processes the first one does.

    A copy takes 0.2 s. `lock` is a file that the processes share.
    """
    test = connection.settings_dict["TEST"]
    with lock.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        if file.read() != TEMPLATE:
            names = connection.settings_dict["NAME"], test["NAME"]
            path = dump_path()
            if path.exists() and not is_full():
                test["TEMPLATE"] = _database_of(path)
            test["NAME"] = TEMPLATE
            connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
            connections_close()  # a database that is in use cannot be copied
            if not path.exists():
                dump_write(path, server=connection.settings_dict, database=TEMPLATE)
            connection.settings_dict["NAME"], test["NAME"] = names
            settings.DATABASES[connection.alias]["NAME"] = names[0]
            file.write(TEMPLATE)


def _database_of(path: Path) -> str:
    """The name of a new database with what a dump holds. Migrating it finds nothing to do but its permissions."""
    with connection._nodb_cursor() as cursor:
        cursor.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DUMPED)))
    dump_read(path, server=connection.settings_dict, database=DUMPED)
    return DUMPED


def copy_migrated() -> None:
    """Make the test database, when it is made, a copy of the one that `migrate_once` left."""
    connection.settings_dict["TEST"].update(TEMPLATE=TEMPLATE, MIGRATE=False)


def connections_close() -> None:
    """Close all connections of this process: that of asgiref's thread outlives the tests, and so does the pool."""
    SyncToAsync.single_thread_executor.submit(connections.close_all).result(timeout=10)
    connection.close()
    connection.close_pool()


def connections_left(*, seconds: float) -> list[str]:
    """What the connections did last that still use the test database after so long; a closed one takes a moment."""
    query = "SELECT state || ': ' || left(query, 200) FROM pg_stat_activity WHERE datname = %s"
    with connection._nodb_cursor() as cursor:

        def left() -> list[str]:
            cursor.execute(query, [connection.settings_dict["NAME"]])
            return [line for (line,) in cursor.fetchall()]

        wait_until(lambda: not left(), seconds=seconds)
        return left()


database = TestDatabase()

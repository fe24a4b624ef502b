"""Connections to databases that only read, by SQLAlchemy: loaded by those that read one, not by every process."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import URL, Connection, bindparam, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, OperationalError, SQLAlchemyError
from sqlalchemy.types import NullType

from knowledge.connector_errors import ConnectorError, SourceUnreachableError

LIMIT_SECONDS = 120  # of one statement
CONNECT_SECONDS = 20
ROWS_AT_ONCE = 500
DRIVERS = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql", "mariadb": "mariadb+pymysql"}
PORTS = {"postgresql": 5432, "mysql": 3306, "mariadb": 3306, "mssql": 1433, "oracle": 1521}
_READS = re.compile(r"\s*(?:select|with)\b", re.IGNORECASE)


def url_of(location: str) -> URL:
    """Raises ConnectorError."""
    try:
        url = make_url(location.strip())
    except (ArgumentError, ValueError):
        raise ConnectorError("address") from None
    backend = url.get_backend_name()
    if backend not in PORTS and backend != "sqlite":
        raise ConnectorError("driver", kind=backend[:40])
    return url.set(drivername=DRIVERS.get(url.drivername, url.drivername))


@contextmanager
def reading_connection(url: URL) -> Iterator[Connection]:
    """A connection that only reads; of SQLite to a file. Raises ConnectorError, SourceUnreachableError."""
    if url.get_backend_name() == "sqlite":
        url = URL.create("sqlite", database=f"file:{url.database}", query={"mode": "ro", "uri": "true"})
    try:
        engine = create_engine(url, connect_args=_connect_arguments(url), pool_size=1, max_overflow=0)
    except (NoSuchModuleError, ModuleNotFoundError):
        raise ConnectorError("driver", kind=url.get_backend_name()) from None
    try:
        event.listen(engine, "connect", _limited)
        with engine.connect() as connection, connection.begin() as transaction:
            _begin_reading(connection)
            yield connection
            transaction.rollback()
    except OperationalError as problem:
        raise SourceUnreachableError("because", problem=_words(problem)) from problem
    except SQLAlchemyError as problem:
        raise ConnectorError("query", problem=_words(problem)) from problem
    finally:
        engine.dispose()


def first_asked(connection: Connection) -> None:
    """Whether the database answers at all."""
    connection.execute(text("SELECT 1"))


def rows_of(
    connection: Connection, query: str, *, changed_column: str = "", since: Any = None
) -> tuple[list[str], Iterator[Mapping[str, Any]]]:
    """The columns of a query, and its rows; with `since` those whose column of changes is greater."""
    query = _reading(query)
    if since is not None:
        column = connection.dialect.identifier_preparer.quote(changed_column)
        query = f"SELECT * FROM ({query}) AS source_rows WHERE {column} > :since"  # noqa: S608
    statement = text(query)
    if since is not None:
        statement = statement.bindparams(bindparam("since", since, type_=NullType()))
    result = connection.execution_options(stream_results=True, yield_per=ROWS_AT_ONCE).execute(statement)
    return list(result.keys()), (dict(row) for row in result.mappings())


def values_of(connection: Connection, query: str, *, column: str) -> Iterator[Any]:
    """One column of all rows of a query."""
    name = connection.dialect.identifier_preparer.quote(column)
    statement = text(f"SELECT {name} FROM ({_reading(query)}) AS source_rows")  # noqa: S608
    for (value,) in connection.execution_options(stream_results=True, yield_per=ROWS_AT_ONCE).execute(statement):
        yield value


def _connect_arguments(url: URL) -> dict[str, Any]:
    match url.get_backend_name():
        case "postgresql":
            return {"connect_timeout": CONNECT_SECONDS}
        case "mysql" | "mariadb":
            return {"connect_timeout": CONNECT_SECONDS, "read_timeout": LIMIT_SECONDS}
        case _:
            return {}


def _limited(connection: Any, _record: Any) -> None:
    """SQLite has no time limit of its own: it asks every now and then whether to go on."""
    if hasattr(connection, "set_progress_handler"):
        end = time.monotonic() + LIMIT_SECONDS
        connection.set_progress_handler(lambda: int(time.monotonic() > end), 100_000)


def _begin_reading(connection: Connection) -> None:
    match connection.dialect.name:
        case "postgresql":
            connection.execute(text("SET TRANSACTION READ ONLY"))
            connection.execute(text(f"SET LOCAL statement_timeout = {LIMIT_SECONDS * 1000}"))
        case "mysql":
            connection.execute(text("SET SESSION TRANSACTION READ ONLY"))
            connection.execute(text(f"SET SESSION MAX_EXECUTION_TIME = {LIMIT_SECONDS * 1000}"))
        case "mariadb":
            connection.execute(text("SET SESSION TRANSACTION READ ONLY"))
            connection.execute(text(f"SET SESSION MAX_STATEMENT_TIME = {LIMIT_SECONDS}"))


def _reading(query: str) -> str:
    """The query without its last semicolon. Raises ConnectorError for anything but one that reads."""
    plain = query.strip().rstrip(";").strip()
    if not _READS.match(plain) or ";" in re.sub(r"'(?:[^']|'')*'", "", plain):
        raise ConnectorError("not_select")
    return plain


def _words(problem: SQLAlchemyError) -> str:
    """What the database said, on one line and without the statement."""
    origin = getattr(problem, "orig", None) or problem
    return " ".join(str(origin).split())[:200]

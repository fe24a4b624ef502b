"""Rows of a database as documents: one query that reads, a template for the text, and perhaps a column that says when
a row has changed.

Nothing is written there: the transaction is read only where the database knows such, one statement alone is taken, and
it has a time limit. With the column of changes only newer rows are read; the ids of all rows say what is gone.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, ClassVar

from django.utils.translation import gettext_lazy as _
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass
from sqlalchemy import URL, Connection, bindparam, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, OperationalError, SQLAlchemyError
from sqlalchemy.types import NullType

from knowledge.connector_errors import ConnectorError, ItemOfSourceError, SourceUnreachableError
from knowledge.connectors.base import Connector, SettingField, connector
from knowledge.connectors.items import FetchedItem, Item, Listed, ListEnd, Stamp, UnchangedItem, UnreadableItem
from knowledge.types import STRICT

LIMIT_SECONDS = 120  # of one statement
CONNECT_SECONDS = 20
ROWS_AT_ONCE = 500
MAX_ID = 400  # characters
MAX_CELL = 200_000  # characters of a value in a text
DRIVERS = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql", "mariadb": "mariadb+pymysql"}
PORTS = {"postgresql": 5432, "mysql": 3306, "mariadb": 3306, "mssql": 1433, "oracle": 1521}
Column = Annotated[str, Field(max_length=128)]
_READS = re.compile(r"\s*(?:select|with)\b", re.IGNORECASE)
_UNSAFE = re.compile(r"[^\w.-]+")
_FIELD = re.compile(r"\{([^{}]+)\}")


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class DatabaseSettings:
    """`title` and `text` hold columns in braces; "" for all columns, one a line. `attributes`: columns."""

    query: Annotated[str, Field(max_length=20_000)] = ""
    id_column: Column = "id"
    title: Annotated[str, Field(max_length=512)] = ""
    text: Annotated[str, Field(max_length=20_000)] = ""
    changed_column: Column = ""
    attributes: Annotated[tuple[Column, ...], Field(max_length=50)] = ()


@connector
class DatabaseConnector(Connector):
    """See the module."""

    kind = "database"
    label = _("Database")
    location_help = _(
        "Such as postgresql://db.example.com/products, mysql://db.example.com/products or "
        "sqlite:////srv/data/products.db. User name and password stand under Access."
    )
    settings_type = DatabaseSettings
    setting_fields = (
        SettingField(name="query", label=_("query"), kind="text_area", help_text=_("One SELECT; a row is a document.")),
        SettingField(
            name="id_column", label=_("column of ids"), help_text=_("Stays the same as long as the row lives.")
        ),
        SettingField(name="title", label=_("title"), help_text=_("With columns in braces, such as {product}: {name}.")),
        SettingField(
            name="text",
            label=_("text"),
            kind="text_area",
            help_text=_("Markdown with columns in braces. If empty, all columns, one per line."),
        ),
        SettingField(
            name="changed_column",
            label=_("column of changes"),
            help_text=_(
                "A time or number that grows with each change of a row. If empty, all rows are read each time."
            ),
        ),
        SettingField(name="attributes", label=_("columns as attributes"), kind="lines", help_text=_("One per line.")),
    )
    credential_fields: ClassVar = (frozenset({"user", "password"}),)
    paces_itself = True  # a run is one query or two

    @classmethod
    def host_of(cls, location: str) -> tuple[str, int] | None:
        url = _url(location)
        if url.get_backend_name() == "sqlite":
            return None
        if not url.host or url.username or url.password:
            raise ConnectorError("address")
        return url.host, url.port or PORTS.get(url.get_backend_name(), 0)

    def allowed(self) -> None:
        """A file of SQLite lies in a folder that is released."""
        url = _url(self.location)
        if url.get_backend_name() == "sqlite":
            self.access.folder_allowed(str(Path(url.database or "").parent))
            return
        super().allowed()

    def sign_in(self) -> None:
        with self._connection() as connection:
            connection.execute(text("SELECT 1"))

    def changes(self, cursor: Mapping[str, Any]) -> Iterator[Listed]:
        since = cursor.get("since") if self.settings.changed_column else None
        with self._connection() as connection:
            newest, ids = since, set[str]()
            for row in self._rows(connection, since):
                newest = _newer(newest, row.get(self.settings.changed_column))
                yield self._item(row, ids)
            if since is not None:
                yield from self._unchanged(connection, ids)
        yield ListEnd(cursor={"since": newest} if newest is not None else {}, is_full=True)

    # ── the database ────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        """A connection that only reads. Raises ConnectorError, SourceUnreachableError."""
        url, host = _url(self.location), self.host_of(self.location)
        if host is None:
            self.allowed()
            url = URL.create("sqlite", database=f"file:{url.database}", query={"mode": "ro", "uri": "true"})
        else:
            self.access.host_check(*host)
            secrets = self.access.secrets
            url = url.set(username=secrets.get("user"), password=secrets.get("password"))
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

    def _rows(self, connection: Connection, since: Any) -> Iterator[Mapping[str, Any]]:
        query = _reading(self.settings.query)
        if since is not None:
            column = connection.dialect.identifier_preparer.quote(self.settings.changed_column)
            query = f"SELECT * FROM ({query}) AS source_rows WHERE {column} > :since"  # noqa: S608
        statement = text(query)
        if since is not None:
            statement = statement.bindparams(bindparam("since", since, type_=NullType()))
        result = connection.execution_options(stream_results=True, yield_per=ROWS_AT_ONCE).execute(statement)
        self._check_columns(list(result.keys()))
        yield from (dict(row) for row in result.mappings())

    def _unchanged(self, connection: Connection, changed: set[str]) -> Iterator[Listed]:
        column = connection.dialect.identifier_preparer.quote(self.settings.id_column)
        query = f"SELECT {column} FROM ({_reading(self.settings.query)}) AS source_rows"  # noqa: S608
        for (value,) in connection.execution_options(stream_results=True, yield_per=ROWS_AT_ONCE).execute(text(query)):
            if (row_id := _cell(value)) and row_id not in changed:
                yield UnchangedItem(external_id=row_id)

    def _check_columns(self, columns: Sequence[str]) -> None:
        settings = self.settings
        required = [
            settings.id_column,
            *settings.attributes,
            *_FIELD.findall(settings.title),
            *_FIELD.findall(settings.text),
        ]
        required += [settings.changed_column] if settings.changed_column else []
        for column in required:
            if column not in columns:
                raise ConnectorError("column", column=column, columns=", ".join(columns)[:300])

    # ── a row ───────────────────────────────────────────────────────────────────────────────────

    def _item(self, row: Mapping[str, Any], ids: set[str]) -> Item | UnreadableItem:
        settings = self.settings
        row_id = _cell(row[settings.id_column])[:MAX_ID]
        if not row_id:
            return UnreadableItem(path="", error=ItemOfSourceError("no_id"))
        if row_id in ids:
            return UnreadableItem(path=row_id, error=ItemOfSourceError("same_id", id=row_id))
        ids.add(row_id)
        title = _filled(settings.title, row) or row_id
        body = _filled(settings.text, row) if settings.text else _listed(row)
        content = f"# {title}\n\n{body}\n".encode()
        attributes = {name: _scalar(row[name]) for name in settings.attributes if row[name] is not None}
        stamp = {"sha256": hashlib.sha256(content + repr(sorted(attributes.items())).encode()).hexdigest()}
        name = _UNSAFE.sub("_", row_id) + ".md"
        fetched = FetchedItem(name=name, content=content, stamp=stamp)

        def read(last: Stamp) -> FetchedItem | None:
            return None if last == stamp else fetched

        return Item(external_id=row_id, name=name, stamp=stamp, read=read, title=title, metadata=attributes)


def _url(location: str) -> URL:
    """Raises ConnectorError."""
    try:
        url = make_url(location.strip())
    except (ArgumentError, ValueError):
        raise ConnectorError("address") from None
    backend = url.get_backend_name()
    if backend not in PORTS and backend != "sqlite":
        raise ConnectorError("driver", kind=backend[:40])
    return url.set(drivername=DRIVERS.get(url.drivername, url.drivername))


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


def _newer(newest: Any, value: Any) -> Any:
    """The greater value as JSON keeps it: numbers, and moments as text in an order that is theirs."""
    if value is None:
        return newest
    plain = value.isoformat(sep=" ") if isinstance(value, datetime) else value
    plain = float(plain) if isinstance(plain, Decimal) else plain
    plain = plain.isoformat() if isinstance(plain, date) else plain
    return plain if newest is None or plain > newest else newest


def _filled(template: str, row: Mapping[str, Any]) -> str:
    return _FIELD.sub(lambda match: _cell(row[match[1]]), template).strip()


def _listed(row: Mapping[str, Any]) -> str:
    """Every column that has a value, one a line."""
    cells = ((name, _cell(value)) for name, value in row.items())
    return "\n".join(f"- **{name}**: {cell}" for name, cell in cells if cell)


def _cell(value: Any) -> str:
    """A value as text; bytes are none."""
    if value is None or isinstance(value, (bytes, memoryview)):
        return ""
    return str(_scalar(value))[:MAX_CELL].replace("\x00", "").strip()


def _scalar(value: Any) -> str | int | float | bool:
    if isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value.isoformat() if isinstance(value, (date, datetime)) else str(value)


def _words(problem: SQLAlchemyError) -> str:
    """What the database said, on one line and without the statement."""
    origin = getattr(problem, "orig", None) or problem
    return " ".join(str(origin).split())[:200]

"""Rows of a database as documents: one query that reads, a template for the text, and perhaps a column that says when
a row has changed.

Nothing is written there: the transaction is read only where the database knows such, one statement alone is taken, and
it has a time limit. With the column of changes only newer rows are read; the ids of all rows say what is gone.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from django.utils.translation import gettext_lazy as _
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from knowledge.connector_errors import ConnectorError, ItemOfSourceError
from knowledge.connectors.base import Connector, SettingField, connector
from knowledge.connectors.items import FetchedItem, Item, Listed, ListEnd, Stamp, UnchangedItem, UnreadableItem
from knowledge.types import STRICT

if TYPE_CHECKING:
    from sqlalchemy import Connection

MAX_ID = 400  # characters
MAX_CELL = 200_000  # characters of a value in a text
Column = Annotated[str, Field(max_length=128)]
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
    summary = _("Each row of a query becomes a document.")
    location_help = _(
        "Such as postgresql://db.example.com/products, mysql://db.example.com/products or "
        "sqlite:////srv/data/products.db. User name and password stand under Sign-in."
    )
    settings_type = DatabaseSettings
    setting_fields = (
        SettingField(
            name="query",
            label=_("query"),
            kind="text_area",
            help_text=_("One SELECT; a row is a document."),
            is_required=True,
        ),
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
        from knowledge.connectors.database_reading import PORTS, url_of

        url = url_of(location)
        if url.get_backend_name() == "sqlite":
            return None
        if not url.host or url.username or url.password:
            raise ConnectorError("address")
        return url.host, url.port or PORTS.get(url.get_backend_name(), 0)

    def allowed(self) -> None:
        """A file of SQLite lies in a folder that is released."""
        from knowledge.connectors.database_reading import url_of

        url = url_of(self.location)
        if url.get_backend_name() == "sqlite":
            self.access.folder_allowed(str(Path(url.database or "").parent))
            return
        super().allowed()

    def sign_in(self) -> None:
        from knowledge.connectors.database_reading import first_asked

        with self._connection() as connection:
            first_asked(connection)

    def changes(self, cursor: Mapping[str, Any]) -> Iterator[Listed]:
        from knowledge.connectors.database_reading import rows_of, values_of

        settings = self.settings
        since = cursor.get("since") if settings.changed_column else None
        with self._connection() as connection:
            newest, ids = since, set[str]()
            columns, rows = rows_of(connection, settings.query, changed_column=settings.changed_column, since=since)
            self._check_columns(columns)
            for row in rows:
                newest = _newer(newest, row.get(settings.changed_column))
                yield self._item(row, ids)
            if since is not None:
                for value in values_of(connection, settings.query, column=settings.id_column):
                    if (row_id := _cell(value)) and row_id not in ids:
                        yield UnchangedItem(external_id=row_id)
        yield ListEnd(cursor={"since": newest} if newest is not None else {}, is_full=True)

    def _connection(self) -> AbstractContextManager[Connection]:
        """A connection that only reads. Raises ConnectorError, SourceUnreachableError, and as `allowed`."""
        from knowledge.connectors.database_reading import reading_connection, url_of

        url, host = url_of(self.location), self.host_of(self.location)
        if host is None:
            self.allowed()
            return reading_connection(url)
        self.access.host_check(*host)
        secrets = self.access.secrets
        return reading_connection(url.set(username=secrets.get("user"), password=secrets.get("password")))

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

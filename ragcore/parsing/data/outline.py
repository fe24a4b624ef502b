"""Nested data as text that people read: records as tables, other values as lists under the names that lead to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ragcore.errors import ResourceLimitError
from ragcore.parsing.sheets import TABLE_ROWS
from ragcore.parsing.tables import markdown_table
from ragcore.types import Block

# what a file holds: texts (numbers as they are written), lists, and objects by the names of their values
Value = str | Sequence["Value"] | Mapping[str, "Value"]

MAX_VALUES = 1_000_000
MAX_COLUMNS = 60  # of a table; records with more names are sections
MAX_LEVEL = 6
LONG_TEXT = 200  # characters from which a text is a paragraph of its own
_TITLES = ("title", "name", "label", "id", "标题", "名称")  # of an object, the first that it has


def outline_blocks(value: Value, *, name: str) -> Iterator[Block]:
    """Blocks in the order of the file. Raises ResourceLimitError for more than MAX_VALUES texts."""
    _require_size(value, name)
    yield from _blocks(value, 1)


def _require_size(value: Value, name: str) -> None:
    count, waiting = 0, [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            count += 1
            if count > MAX_VALUES:
                raise ResourceLimitError(name=name, limit=f"{MAX_VALUES} values")
        else:
            waiting.extend(part.values() if isinstance(part, Mapping) else part)


def _blocks(value: Value, level: int) -> Iterator[Block]:
    if isinstance(value, str):
        yield from _text_block(value)
    elif isinstance(value, Mapping):
        yield from _object_blocks(value, level)
    elif all(isinstance(part, str) for part in value):
        yield Block(kind="list", text="\n".join(f"- {_line(str(part))}" for part in value if str(part).strip()))
    elif (columns := _columns(value)) is not None:
        yield from _tables(value, columns)
    else:
        for number, part in enumerate(value, start=1):
            if not isinstance(part, str):
                yield _heading(_title_of(part) or str(number), level)
            yield from _blocks(part, level + 1)


def _text_block(text: str) -> Iterator[Block]:
    if text.strip():
        yield Block(kind="paragraph", text=text.strip())


def _object_blocks(value: Mapping[str, Value], level: int) -> Iterator[Block]:
    """Short texts of an object as one list before what is nested in it, long ones as paragraphs under their name."""
    lines = [f"- {name}: {line}" for name, part in value.items() if (line := _inline(part))]
    if lines:
        yield Block(kind="list", text="\n".join(lines))
    for name, part in value.items():
        if part and not _inline(part):
            yield _heading(name, level)
            yield from _blocks(part, level + 1)


def _inline(value: Value) -> str:
    """A short text, or a short list of texts, on one line; "" for anything else."""
    if isinstance(value, str):
        return _line(value) if len(value) < LONG_TEXT else ""
    if isinstance(value, Mapping) or not all(isinstance(part, str) for part in value):
        return ""
    line = ", ".join(_line(str(part)) for part in value)
    return line if len(line) < LONG_TEXT else ""


def _line(text: str) -> str:
    return " ".join(text.split())


def _heading(name: str, level: int) -> Block:
    return Block(kind="heading", text=_line(name), level=min(level, MAX_LEVEL))


def _title_of(value: Value) -> str:
    """What an object says that it is called."""
    if not isinstance(value, Mapping):
        return ""
    texts = {name.lower(): part for name, part in value.items() if isinstance(part, str) and len(part) < LONG_TEXT}
    return next((_line(texts[name]) for name in _TITLES if texts.get(name, "").strip()), "")


# ── records ─────────────────────────────────────────────────────────────────────────────────────


def _columns(records: Sequence[Value]) -> list[str] | None:
    """The paths of the values of records that fit into one table; None for anything else."""
    columns: dict[str, None] = {}
    for record in records:
        if not isinstance(record, Mapping) or (cells := _cells(record)) is None:
            return None
        columns.update(dict.fromkeys(cells))
        if len(columns) > MAX_COLUMNS:
            return None
    return list(columns) if len(records) > 1 and columns else None


def _cells(record: Mapping[str, Value]) -> dict[str, str] | None:
    """The texts of a record by their path; None where it holds more than a row of a table shows."""
    cells: dict[str, str] = {}
    for name, part in record.items():
        if not part:
            continue
        if isinstance(part, Mapping):
            inner = {key: _inline(value) for key, value in part.items() if value}
            if not all(inner.values()):
                return None
            cells |= {f"{name}.{key}": line for key, line in inner.items()}
        elif isinstance(part, str):
            cells[name] = _line(part)
        elif line := _inline(part):
            cells[name] = line
        else:
            return None
    return cells


def _tables(records: Sequence[Value], columns: Sequence[str]) -> Iterator[Block]:
    for start in range(0, len(records), TABLE_ROWS):
        rows = [_cells(record) or {} for record in records[start : start + TABLE_ROWS] if isinstance(record, Mapping)]
        yield Block(
            kind="table",
            text=markdown_table([list(columns), *([row.get(column, "") for column in columns] for row in rows)]),
        )

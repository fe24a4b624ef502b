"""JSON: one value, or one on each line."""

from __future__ import annotations

import json
from pathlib import PurePath

from ragcore.errors import CorruptDocumentError
from ragcore.labels import gettext_noop as _
from ragcore.parsing.charset import decode
from ragcore.parsing.data.outline import Value, outline_blocks
from ragcore.parsing.parser_errors import build_document, coded_errors, require_content
from ragcore.types import ParsedDocument

_BY_LINE = (".jsonl", ".ndjson")
_WORDS = {True: "true", False: "false", None: ""}


class JsonParser:
    """Records become tables, nested objects sections; numbers stay as they are written."""

    formats = (".json", ".jsonl", ".ndjson", ".geojson")
    media_types = {"application/json": ".json", "application/x-ndjson": ".jsonl", "application/jsonl": ".jsonl"}
    label = _("JSON")

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises EmptyDocumentError, CorruptDocumentError with the line of a fault, or ResourceLimitError."""
        require_content(content, name=name)
        with coded_errors(name):
            text = decode(content).removeprefix("\ufeff")
            ending = PurePath(name).suffix.lower()
            value = _lines(text, name) if ending in _BY_LINE else _whole(text, name)
            return build_document(outline_blocks(value, name=name), name=name)


def _whole(text: str, name: str) -> Value:
    """The value of a file; a file of one value on each line under a wrong name is read, too."""
    try:
        return _value(text)
    except json.JSONDecodeError as problem:
        first, _, rest = text.strip().partition("\n")
        if rest and _is_value(first):
            return _lines(text, name)
        raise CorruptDocumentError("json", name=name, line=problem.lineno, problem=problem.msg) from problem


def _lines(text: str, name: str) -> Value:
    values: list[Value] = []
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            if line.strip():
                values.append(_value(line))
        except json.JSONDecodeError as problem:
            raise CorruptDocumentError("json", name=name, line=number, problem=problem.msg) from problem
    return values[0] if len(values) == 1 else values


def _is_value(line: str) -> bool:
    try:
        return not isinstance(_value(line), str)
    except json.JSONDecodeError:
        return False


def _value(text: str) -> Value:
    return _texts(json.loads(text, parse_int=str, parse_float=str, parse_constant=str))


def _texts(value: object) -> Value:
    """A value whose words for true, false and nothing are texts."""
    if isinstance(value, dict):
        return {str(name): _texts(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_texts(part) for part in value]
    return value if isinstance(value, str) else _WORDS[value]  # type: ignore[index]  # true, false, null

"""XML of any kind: elements under the names that lead to them, elements of one kind as a table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from ragcore.labels import gettext_noop as _
from ragcore.parsing.data.outline import Value, outline_blocks
from ragcore.parsing.office.xml import read_xml
from ragcore.parsing.parser_errors import build_document, coded_errors, require_content
from ragcore.types import ParsedDocument

MAX_DEPTH = 200
_WORD = re.compile(r"\w")


class XmlParser:
    """Attributes and short elements are lines, text with elements inside it is a paragraph."""

    formats = (".xml",)
    media_types = {"application/xml": ".xml", "text/xml": ".xml"}
    label = _("XML")

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises EmptyDocumentError, CorruptDocumentError or ResourceLimitError. No entity is resolved."""
        require_content(content, name=name)
        with coded_errors(name):
            root = read_xml(content)
            value = _value(root, 0)
            title = _local(root.tag)
            return build_document(
                outline_blocks(value if not isinstance(value, str) else {title: value}, name=name),
                name=name,
                title=PurePath(name).stem,
            )


def _value(element: Any, depth: int) -> Value:
    if depth > MAX_DEPTH:
        raise RecursionError("elements in elements")
    attributes = {_local(name): text for name, text in element.attrib.items() if _WORD.search(text)}
    children = [child for child in element if isinstance(child.tag, str)]
    is_mixed = bool(children) and any(_WORD.search(text or "") for text in (element.text, *(c.tail for c in children)))
    if is_mixed or not children:
        text = " ".join("".join(_texts(element)).split())
        return {**attributes, _local(element.tag): text} if attributes and text else attributes or text
    parts: dict[str, list[Value]] = {}
    for child in children:
        parts.setdefault(_local(child.tag), []).append(_value(child, depth + 1))
    inner: dict[str, Value] = {name: values[0] if len(values) == 1 else values for name, values in parts.items()}
    if not attributes and len(inner) == 1 and len(children) > 1:
        return next(iter(inner.values()))  # an element around a list
    return {**attributes, **inner}


def _texts(element: Any) -> Iterator[str]:
    """The text of an element and those inside it, without entities, which are not resolved."""
    yield element.text or ""
    for child in element:
        if isinstance(child.tag, str):
            yield from _texts(child)
        yield child.tail or ""


def _local(name: str) -> str:
    """A name without its namespace."""
    return name.rpartition("}")[2]

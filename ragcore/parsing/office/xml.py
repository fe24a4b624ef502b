"""XML parts of office packages: one hardened parser, and the zip package as named parts."""

from __future__ import annotations

from io import BytesIO
from typing import Any
from zipfile import ZipFile

from lxml import etree

Element = Any  # lxml elements carry no useful static type


def read_xml(blob: bytes) -> Element:
    """The root of a part. No entity is resolved, nothing is fetched, and lxml's limits on size and depth hold."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True
    )
    return etree.fromstring(blob, parser)


def bounded_int(value: str | None, default: int, *, low: int = 0, high: int = 1_000_000) -> int:
    """A whole number of an attribute, within bounds; the default where it is none."""
    return max(low, min(int(value), high)) if value and value.isascii() and value.isdecimal() else default


class Package:
    """The members of a zip package that has passed `check_package`."""

    def __init__(self, content: bytes) -> None:
        self._archive = ZipFile(BytesIO(content))
        self._names = frozenset(self._archive.namelist())

    def blob(self, name: str) -> bytes | None:
        """The bytes of a member; None where there is none of this name."""
        return self._archive.read(name) if name in self._names else None

    def xml(self, name: str) -> Element | None:
        """The root element of a member; None where there is none of this name."""
        blob = self.blob(name)
        return read_xml(blob) if blob is not None else None

"""XML parts of office packages: one hardened parser, and the zip package as named parts with their relationships."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from zipfile import BadZipFile, ZipFile
from zlib import error as ZlibError

from lxml import etree

Element = Any  # lxml elements carry no useful static type

_RELATIONSHIP = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_STRICT_HOST = b"http://purl.oclc.org/ooxml/"
_STRICT = re.compile(_STRICT_HOST + rb"(\w+)/([A-Za-z]+)")
# Names that the two forms of the standard write differently; all others differ in the host and a year only
_STRICT_NAMES = {
    b"extendedProperties": b"extended-properties",
    b"customProperties": b"custom-properties",
}


def read_xml(blob: bytes) -> Element:
    """The root of a part. No entity is resolved, nothing is fetched, and lxml's limits on size and depth hold.

    Names of the strict form of ISO 29500 become those of the transitional form, which programs write.
    """
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True
    )
    return etree.fromstring(transitional(blob), parser)


def transitional(blob: bytes) -> bytes:
    """A part in the transitional form of ISO 29500; as it is where it is in that form."""
    if _STRICT_HOST not in blob:
        return blob
    return _STRICT.sub(
        lambda match: (
            b"http://schemas.openxmlformats.org/%s/2006/%s" % (match[1], _STRICT_NAMES.get(match[2], match[2]))
        ),
        blob,
    )


def is_on(value: str | None) -> bool:
    """Whether a property that is there is on, by its value (ST_OnOff); on where it has none."""
    return (value or "1") not in ("0", "false", "off")


def bounded_int(value: str | None, default: int, *, low: int = 0, high: int = 1_000_000) -> int:
    """A whole number of an attribute, within bounds; the default where it is none."""
    return max(low, min(int(value), high)) if value and value.isascii() and value.isdecimal() else default


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """What a part refers to."""

    kind: str  # the last word of its type: "image", "hyperlink"
    target: str  # the name of a part, or an address where `is_external`
    is_external: bool = False


class Package:
    """The members of a zip package that has passed `check_package`.

    Names count as readers take them: without regard to case, with either slash. A member that is missing or damaged is
    one that is not there, so that a document with a lost picture is read without it.
    """

    def __init__(self, content: bytes) -> None:
        self._archive = ZipFile(BytesIO(content))
        names = self._archive.namelist()
        self._names = {_folded(name): name for name in reversed(names)} | {name: name for name in names}

    @property
    def is_declared(self) -> bool:
        """Whether the package says of its parts what they are, as every office program wants it."""
        types = self.xml("[Content_Types].xml")
        return types is not None and len(types) > 0

    def blob(self, name: str) -> bytes | None:
        """The bytes of a member; None where there is none of this name, or it cannot be unpacked."""
        member = self._names.get(name) or self._names.get(_folded(name))
        try:
            return self._archive.read(member) if member is not None else None
        except (BadZipFile, ZlibError, EOFError, NotImplementedError):
            return None

    def xml(self, name: str) -> Element | None:
        """The root element of a member; None where there is none of this name."""
        blob = self.blob(name)
        return read_xml(blob) if blob is not None else None

    def relations(self, part: str = "") -> dict[str, Relation]:
        """What a part refers to, by relationship id; of the whole package without a part."""
        folder, name = posixpath.split(part)
        root = self.xml(posixpath.join(folder, "_rels", f"{name}.rels"))
        relations: dict[str, Relation] = {}
        for link in root.iter(_RELATIONSHIP) if root is not None else ():
            target, is_external = link.get("Target") or "", link.get("TargetMode") == "External"
            if not is_external:
                path = posixpath.join("/", folder, target.replace("\\", "/").partition("#")[0])
                target = posixpath.normpath(path).lstrip("/")
            kind = (link.get("Type") or "").rpartition("/")[2]
            relations[link.get("Id") or ""] = Relation(kind=kind, target=target, is_external=is_external)
        return relations

    def related(self, part: str, kind: str) -> dict[str, str]:
        """The parts of a kind that a part refers to, by relationship id; addresses outside are left out."""
        return {
            key: relation.target
            for key, relation in self.relations(part).items()
            if relation.kind == kind and not relation.is_external
        }


def _folded(name: str) -> str:
    return name.replace("\\", "/").lstrip("/").lower()


def core_properties(package: Package) -> dict[str, str]:
    """What the file says of itself, each on one line: "title", "author", "subject", "keywords"; without empty ones."""
    part = next(iter(package.related("", "core-properties").values()), "docProps/core.xml")
    try:
        root = package.xml(part)
    except etree.XMLSyntaxError:
        return {}
    names = {"title": "title", "creator": "author", "subject": "subject", "keywords": "keywords"}
    properties: dict[str, str] = {}
    for node in root if root is not None else ():
        key = names.get(etree.QName(node).localname) if isinstance(node.tag, str) else None
        if key and (value := " ".join("".join(node.itertext()).split())):
            properties.setdefault(key, value)
    return properties

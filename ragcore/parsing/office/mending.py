"""A package of PowerPoint in the form that its library takes: PowerPoint itself opens more than that.

Relationships to parts that are not there go, names of parts are written as the parts have them, types of parts that
are not declared are added, and the strict form of ISO 29500 becomes the transitional one.
"""

from __future__ import annotations

import posixpath
import re
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

from lxml import etree

from ragcore.parsing.office.xml import Element, Package, read_xml, transitional

_TYPES = "{http://schemas.openxmlformats.org/package/2006/content-types}"
_RELATIONSHIP = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_SHOW = re.compile(r"(?:slideshow|template)\.(?:macroEnabled\.)?main\+xml$")
_PRESENTATION = "application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml"
_UNKNOWN_TYPE = "application/octet-stream"


def mended_package(content: bytes) -> bytes:
    """The package with what its library would refuse put right; the same bytes where nothing is wrong."""
    with ZipFile(BytesIO(content)) as archive:
        names = archive.namelist()
    package = Package(content)
    actual = {name.replace("\\", "/").lower(): name for name in names}
    changed: dict[str, bytes] = {}
    for name in names:
        lowered = name.lower()
        if not lowered.endswith((".xml", ".rels")):
            continue
        blob = package.blob(name) or b""
        mended = transitional(blob)
        if lowered.endswith(".rels"):
            mended = _mended_relations(mended, name, actual)
        elif lowered == "[content_types].xml":
            mended = _mended_types(mended, names)
        if mended != blob:
            changed[name] = mended
    return _rewritten(package, names, changed) if changed else content


def _mended_relations(blob: bytes, name: str, actual: dict[str, str]) -> bytes:
    """Relationships without those to parts that are missing; targets as the parts are called."""
    try:
        root = read_xml(blob)
    except etree.XMLSyntaxError:
        return b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"/>'
    folder = posixpath.dirname(posixpath.dirname(name))
    is_changed = False
    for link in list(root.iter(_RELATIONSHIP)):
        if link.get("TargetMode") == "External":
            continue
        target = (link.get("Target") or "").replace("\\", "/")
        path = posixpath.normpath(posixpath.join("/", folder, target.partition("#")[0])).lstrip("/")
        present = actual.get(path.lower())
        if present is None:
            link.getparent().remove(link)
            is_changed = True
        elif present != path:
            link.set("Target", f"/{present}")
            is_changed = True
    return etree.tostring(root) if is_changed else blob


def _mended_types(blob: bytes, names: list[str]) -> bytes:
    """Content types with an entry for every part, under the names that the parts have."""
    root = read_xml(blob)
    if len(root) == 0:
        return blob
    actual = {f"/{name}".lower(): f"/{name}" for name in names}
    is_changed = False
    for node in root.iter(_TYPES + "Override"):
        name, kind = node.get("PartName") or "", node.get("ContentType") or ""
        readable = _PRESENTATION if _SHOW.search(kind) else kind
        if actual.get(name.lower(), name) != name or readable != kind:
            node.set("PartName", actual.get(name.lower(), name))
            node.set("ContentType", readable)
            is_changed = True
    return etree.tostring(root) if _with_defaults(root, names) or is_changed else blob


def _with_defaults(root: Element, names: list[str]) -> bool:
    """Adds a type for the endings of parts that have none; whether any was missing."""
    declared = {(node.get("Extension") or "").lower() for node in root.iter(_TYPES + "Default")}
    overridden = {node.get("PartName") for node in root.iter(_TYPES + "Override")}
    endings = {posixpath.splitext(name)[1].lstrip(".").lower() for name in names if f"/{name}" not in overridden}
    missing = sorted(ending for ending in endings - declared if ending)
    for ending in missing:
        etree.SubElement(root, _TYPES + "Default", Extension=ending, ContentType=_UNKNOWN_TYPE)
    return bool(missing)


def _rewritten(package: Package, names: list[str], changed: dict[str, bytes]) -> bytes:
    target = BytesIO()
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for name in dict.fromkeys(names):
            if name.endswith("/"):
                continue
            archive.writestr(name.replace("\\", "/"), changed.get(name, package.blob(name) or b""))
    return target.getvalue()

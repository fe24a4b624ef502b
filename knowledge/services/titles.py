"""Titles that follow the file: what its content says takes the place of the file name, unless a person named it."""

from __future__ import annotations

from pathlib import PurePath

from knowledge.models import Document, DocumentVersion
from knowledge.services.registration import TITLED
from ragcore.parsing.titles import title_by_content
from ragcore.types import ParsedDocument

PATH_PARTS = 3  # of the path of a source file, the file name among them


def title_by_version(version: DocumentVersion, parsed: ParsedDocument) -> str:
    """The title of a document while this version is live.

    The title that its content gives, or else the file name; the present one where a person, the sender or the handler
    of the source gave it. Of source code the end of its path: many files are called `__init__.py`.
    """
    document = version.document
    if not _follows_the_file(document):
        return document.title
    if "source_language" in parsed.metadata:
        return _path_in_source(version)[:512]
    return (title_by_content(parsed, name=version.file_name) or PurePath(version.file_name).stem or document.title)[
        :512
    ]


def _path_in_source(version: DocumentVersion) -> str:
    """The file name with the folders next to it, as far as its source says them."""
    paths = (version.sent_as, version.document.external_id)
    path = next((path for path in paths if path.endswith(f"/{version.file_name}")), version.file_name)
    return "/".join([part for part in path.split("/") if part][-PATH_PARTS:])


def _follows_the_file(document: Document) -> bool:
    """Whether the present title came from a file: from its name, or from the content of a version."""
    if document.is_title_given or document.handled.get(TITLED) or not _has_file_of_its_own(document):
        return False
    rows = document.versions.values_list("file_name", "title")
    names = {name for file_name, title in rows for name in (PurePath(file_name).stem[:512], title) if name}
    return document.title in names


def _has_file_of_its_own(document: Document) -> bool:
    """False for texts of bulk loads from before senders' titles were marked: their titles were made file names."""
    if "seen" in document.handled:  # a run of a source has brought it, whatever the item is called there
        return True
    last = document.versions.order_by("-number").values_list("file_name", flat=True).first() or ""
    identity = document.external_id
    return not identity or "://" in identity or identity.endswith(last) or identity.replace("/", "_")[:200] in last

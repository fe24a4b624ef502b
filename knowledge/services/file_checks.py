"""All stored files compared with the rows that name them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from knowledge.models import DocumentPicture, DocumentVersion
from knowledge.services.deletion import orphans_count
from knowledge.services.originals import original_fault

AT_A_TIME = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class FileProblem:
    """A file that is not as its row says."""

    kind: Literal["missing", "damaged", "missing_text", "missing_pdf", "missing_picture"]
    tenant_id: int
    document_id: int
    version: int
    name: str  # path in the storage

    @property
    def is_original(self) -> bool:
        """Whether only an upload or a backup brings it back; what was made of an original can be made again."""
        return self.kind in ("missing", "damaged")


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphans:
    """Files that no row names, old enough for the purge to remove."""

    files: int
    size_bytes: int


def files_check(*, is_full: bool = False) -> Iterator[FileProblem]:
    """Problems of the files of all versions. The rows of versions record what is wrong with their originals.

    `is_full`: read every original against its SHA-256, also where size and time of change are as when it was last read.
    """
    for version in DocumentVersion.objects.select_related("document").order_by("pk").iterator(AT_A_TIME):
        if is_full:
            version.file_verified = ""
        if fault := original_fault(version):
            yield _problem(fault, version, str(version.file.name))
        for kind, field in (("missing_text", version.parsed), ("missing_pdf", version.rendition)):
            if field and not field.storage.exists(str(field.name)):
                yield _problem(kind, version, str(field.name))
    rows = DocumentPicture.objects.select_related("version__document").order_by("pk")
    for picture in rows.iterator(AT_A_TIME):
        if not picture.file.storage.exists(str(picture.file.name)):
            yield _problem("missing_picture", picture.version, str(picture.file.name))


def files_repair(problems: Iterator[FileProblem] | list[FileProblem]) -> int:
    """Forget what was made of originals and is lost: it is made again when needed. Returns how many rows changed."""
    columns = {"missing_text": "parsed", "missing_pdf": "rendition"}
    changed = 0
    for problem in problems:
        if column := columns.get(problem.kind):
            rows = DocumentVersion.objects.filter(document=problem.document_id, number=problem.version)
            changed += rows.update(**{column: ""})
    return changed


def files_orphaned() -> Orphans:
    """What the purge would remove of files."""
    files, size = orphans_count()
    return Orphans(files=files, size_bytes=size)


def _problem(kind: str, version: DocumentVersion, name: str) -> FileProblem:
    return FileProblem(
        kind=kind,  # type: ignore[arg-type]  # of the two tables above and DocumentVersion.FileFault
        tenant_id=version.document.tenant_id,
        document_id=version.document_id,
        version=version.number,
        name=name,
    )

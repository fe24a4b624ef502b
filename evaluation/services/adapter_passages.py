"""Passages of a set that somebody may search, read a few at a time: a set may have millions."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from django.db.models import QuerySet
from django.db.models.functions import Length

from accounts.scope import Scope
from knowledge.models import Chunk, Document
from knowledge.selectors import documents_askable
from ragcore.text.normalise import squeeze

IDS_AT_ONCE = 1000  # in one statement
DOCUMENTS_AT_ONCE = 200  # whose headings are read together
KEPT_CHARACTERS = 20_000_000  # of squeezed texts, some 80 MB at most


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageText:
    """A passage of the set."""

    chunk: int
    document: int
    title: str
    heading_path: tuple[str, ...]
    text: str  # "" where only headings were asked for


class SetPassages:
    """Everything that is read of the passages of one set, within the rights of `scope`.

    Nothing is kept but the squeezed texts of the last documents, KEPT_CHARACTERS of them or those of one document.
    """

    def __init__(self, *, scope: Scope, set_id: int) -> None:
        self.scope, self.set_id = scope, set_id
        self._squeezed: OrderedDict[int, list[tuple[int, str]]] = OrderedDict()
        self._kept = 0

    def documents(self) -> QuerySet[Document]:
        """Documents of the set that the asker may search."""
        return documents_askable(scope=self.scope, sets=[self.set_id])

    def rows(self) -> QuerySet[Chunk]:
        """Their passages in force, by id."""
        live = self.documents().order_by().values("live_version_id")
        return Chunk.objects.filter(version_id__in=live, retired=None).order_by("pk")

    def document_of(self, chunks: Iterable[int]) -> dict[int, int]:
        """Chunk → document, of those chunks that are passages of the set."""
        found: dict[int, int] = {}
        for some in _parts(chunks):
            found.update(self.rows().filter(pk__in=some).values_list("pk", "version__document_id"))
        return found

    def lengths(self, chunks: Iterable[int]) -> dict[int, int]:
        """Chunk → characters, likewise."""
        found: dict[int, int] = {}
        for some in _parts(chunks):
            found.update(self.rows().filter(pk__in=some).values_list("pk", Length("text")))
        return found

    def texts(self, chunks: Iterable[int]) -> dict[int, PassageText]:
        """Chunk → passage with its text, likewise."""
        rows = (row for some in _parts(chunks) for row in _read(self.rows().filter(pk__in=some), "text"))
        return {row.chunk: row for row in rows}

    def by_text(self, texts: Collection[str]) -> dict[str, tuple[int, int]]:
        """Text → chunk and document of the last passage that says exactly this."""
        rows = self.rows().filter(text__in=list(texts)).values_list("text", "pk", "version__document_id")
        return {text: (pk, document) for text, pk, document in rows}

    def with_passages(self, documents: Iterable[int]) -> set[int]:
        """Those of the documents that are of the set and have passages."""
        found: set[int] = set()
        for some in _parts(documents):
            rows = self.rows().filter(version__document_id__in=some).order_by()
            found.update(rows.values_list("version__document_id", flat=True).distinct())
        return found

    def every(self, most: int) -> list[int]:
        """At most `most` chunks at equal distances among all, by id."""
        count = self.rows().count()
        ids = self.rows().values_list("pk", flat=True).iterator(chunk_size=10_000)
        return list(islice(ids, 0, None, max(1, -(-count // most))))

    def headings_after(self, document: int) -> tuple[Mapping[int, Sequence[PassageText]], int | None]:
        """The next documents, by id, with their passages without texts, and the last of these documents.

        None in its place: there are no more.
        """
        ids = list(
            self.documents().filter(pk__gt=document).order_by("pk").values_list("pk", flat=True)[:DOCUMENTS_AT_ONCE]
        )
        found: dict[int, list[PassageText]] = defaultdict(list)
        for row in _read(self.rows().filter(version__document_id__in=ids), None):
            found[row.document].append(row)
        return found, ids[-1] if ids else None

    def squeezed(self, document: int) -> Sequence[tuple[int, str]]:
        """Chunk and squeezed text of each passage of a document, by id; a single passage is not squeezed, but "".

        Empty for a document that is not of the set.
        """
        if document in self._squeezed:
            self._squeezed.move_to_end(document)
            return self._squeezed[document]
        rows = list(self.rows().filter(version__document_id=document).values_list("pk", "text"))
        found = [(pk, squeeze(text) if len(rows) > 1 else "") for pk, text in rows]
        self._squeezed[document] = found
        self._kept += sum(len(text) for _pk, text in found)
        while self._kept > KEPT_CHARACTERS and len(self._squeezed) > 1:
            _document, old = self._squeezed.popitem(last=False)
            self._kept -= sum(len(text) for _pk, text in old)
        return found


def _read(rows: QuerySet[Chunk], text: str | None) -> Iterable[PassageText]:
    names = ("pk", "version__document_id", "version__document__title", "heading_path", *([text] if text else []))
    for pk, document, title, path, *rest in rows.values_list(*names).iterator(chunk_size=IDS_AT_ONCE):
        yield PassageText(
            chunk=pk, document=document, title=title, heading_path=tuple(path), text=rest[0] if rest else ""
        )


def _parts(ids: Iterable[int]) -> Iterable[list[int]]:
    wanted = list(dict.fromkeys(ids))
    for start in range(0, len(wanted), IDS_AT_ONCE):
        yield wanted[start : start + IDS_AT_ONCE]

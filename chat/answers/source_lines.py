"""Lines of sources below answers, under the rights of the moment."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from django.utils.translation import gettext as _

from accounts.relative_time import exact_day
from accounts.scope import Scope
from chat.answers.figures import excerpt_of
from chat.models import AttachmentCitation, FactCitation, MessageCitation
from knowledge.models import name_in_language
from knowledge.selectors import documents_readable, sets_readable
from knowledge.selectors.relations import is_replaced, successors
from knowledge.selectors.reviews import due_dates
from ragcore.answerability import DOUBTFUL_BELOW

SET_GAP = " · "  # between the names of a source's sets
RELEVANT_FROM = 0.4  # probability from which a source is said to answer the question


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """A source below an answer. An unreadable one keeps its number only."""

    number: int
    title: str
    sets: str
    page: int | None
    relevance: float | None  # that it answers the question, 0 to 1; None: not judged
    weak: bool
    cited: bool
    readable: bool
    is_file: bool = False  # that the asker attached: nobody else may read it
    section: str = ""  # headings above the passage, without the title
    excerpt: str = ""  # the beginning of the passage, in plain words
    review_due: date | None = None  # by when its document was to be reviewed, where that is past
    edited: datetime | None = None  # when an owner wrote the text of the passage; None: it is as in the document
    replaced_by: str = ""  # title of the document that holds in the place of this one; "": this one holds
    replaced_id: int = 0  # its id

    @property
    def words(self) -> str:
        """`[1] Title, section, p. 3 (sets)`; an unreadable source keeps its number."""
        if not self.readable:
            return f"[{self.number}] {_('This source was removed, or you no longer have access.')}"
        page = _("p. %(page)s") % {"page": self.page} if self.page else ""
        where = ", ".join(part for part in (self.title, self.section, page) if part)
        notes = (self.edited_note, self.replaced_note)
        note = "".join(f" – {words}" for words in notes if words)
        return f"[{self.number}] {where}" + (f" ({self.sets})" if self.sets else "") + note

    @property
    def edited_note(self) -> str:
        """That an owner changed the passage, and when; "" where nobody did."""
        return edited_words(self.edited) if self.edited else ""

    @property
    def replaced_note(self) -> str:
        """That another document holds in its place, and which; "" where it holds itself."""
        return replaced_words(self.replaced_by) if self.replaced_by else ""

    @property
    def relevance_level(self) -> str:
        """high, medium or low."""
        return level_of(self.relevance or 0.0)


def fact_title(file: str) -> str:
    """Where an imported fact is from."""
    return _("fact, imported from %(file)s") % {"file": file}


def edited_words(at: datetime) -> str:
    """That an owner changed a passage, with the day."""
    return _("edited by the owner on %(day)s") % {"day": exact_day(at)}


def replaced_words(title: str) -> str:
    """That another document holds in the place of a source."""
    return _("replaced by %(title)s") % {"title": title}


def level_of(relevance: float) -> str:
    """high, medium or low, for a probability of 0 to 1."""
    return "high" if relevance >= RELEVANT_FROM else "medium" if relevance >= DOUBTFUL_BELOW else "low"


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """What a source line says of a document that the asker may read."""

    title: str
    sets: str  # names of readable sets
    review_due: date | None
    replaced_by: str = ""  # title of the document that holds in its place, where the asker may open that, too
    replaced_id: int = 0  # its id


def known_documents(*, scope: Scope, ids: set[int]) -> dict[int, KnownDocument]:
    """Readable documents among these, by id."""
    due = due_dates(scope=scope, document_ids=ids)
    names = dict(sets_readable(scope=scope).values_list("pk", name_in_language()))
    listed = documents_readable(scope=scope).filter(pk__in=ids).annotate(is_older=is_replaced("pk"))
    rows = list(listed.prefetch_related("sets"))
    newer = successors(scope=scope, document_ids={row.pk for row in rows if row.is_older})
    return {
        row.pk: KnownDocument(
            row.title,
            SET_GAP.join(names[s.pk] for s in row.sets.all() if s.pk in names),
            due.get(row.pk),
            newer[row.pk].title if row.pk in newer else "",
            newer[row.pk].document if row.pk in newer else 0,
        )
        for row in rows
    }


def source_line(citation: MessageCitation, document: KnownDocument | None) -> SourceLine:
    """The line of a citation; of a document that is not known to the asker only its number."""
    title, sets = (document.title, document.sets) if document else ("", "")
    return SourceLine(
        number=citation.number,
        title=title,
        sets=sets,
        page=citation.chunk.page if document else None,
        relevance=citation.relevance,
        weak=citation.weak,
        cited=citation.cited,
        readable=document is not None,
        section=" › ".join(heading for heading in citation.chunk.heading_path if heading != title) if document else "",
        excerpt=excerpt_of(citation) if document else "",
        review_due=document.review_due if document else None,
        edited=citation.chunk.edited if document else None,
        replaced_by=document.replaced_by if document else "",
        replaced_id=document.replaced_id if document else 0,
    )


def with_facts(
    sources: Sequence[SourceLine], facts: Sequence[FactCitation], *, readable: Collection[int], sets: Mapping[int, str]
) -> Sequence[SourceLine]:
    """The sources and the cited facts, by number. `readable`: ids of facts; `sets`: names of sets by id."""
    lines = [
        SourceLine(
            number=row.number,
            title=fact_title(row.file) if row.triple_id in readable else "",
            sets=sets.get(row.knowledge_set_id, "") if row.triple_id in readable else "",
            page=None,
            relevance=row.relevance,
            weak=row.weak,
            cited=row.cited,
            readable=row.triple_id in readable,
            excerpt=row.excerpt if row.triple_id in readable else "",
        )
        for row in facts
    ]
    return sorted([*sources, *lines], key=lambda line: line.number) if lines else sources


def with_files(sources: Sequence[SourceLine], files: Sequence[AttachmentCitation]) -> Sequence[SourceLine]:
    """The sources and the cited attached files, by number."""
    lines = [
        SourceLine(
            number=row.number,
            title=row.passage.attachment.name,
            sets=_("Attached file"),
            page=row.passage.page,
            relevance=row.relevance,
            weak=row.weak,
            cited=row.cited,
            readable=True,
            is_file=True,
            section=" › ".join(row.passage.heading_path),
            excerpt=row.excerpt,
        )
        for row in files
    ]
    return sorted([*sources, *lines], key=lambda line: line.number) if lines else sources

"""The lexicon of a set: its terms, and what of them is published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from django.utils import timezone

from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.lexicon_errors import LexiconTermError
from knowledge.models import LexiconTerm, LexiconVersion
from knowledge.services.lexicon.terms import FIELDS, MOST_TERMS, checked_values, terms_store
from knowledge.services.set_files.sections import Arriving, Leaving, Line, SetSection, set_section

PUBLISHED = ("text", "language", "kind", "long_form", "synonyms", "translations")


@set_section
class LexiconSection(SetSection):
    """Stored before the documents, so that their passages are indexed with its names.

    The lexicon of the organisation stays where it is. Where a term was found, and by whom, does not travel.
    """

    name: ClassVar[str] = "lexicon"
    is_first: ClassVar[bool] = True

    def lines(self, leaving: Leaving) -> Iterator[Line]:
        of_set = {"tenant_id": leaving.knowledge_set.tenant_id, "knowledge_set": leaving.knowledge_set}
        live = LexiconVersion.objects.filter(**of_set, state=LexiconVersion.State.LIVE).first()
        clearance = leaving.scope.clearance
        for term in LexiconTerm.objects.filter(**of_set, clearance__lte=clearance).order_by("key", "long_form", "pk"):
            yield {**_line(term), "kind": "term", "term_kind": term.kind, "clearance": term.clearance}
        for entry in live.entries if live else ():
            if entry.get("clearance", 0) <= clearance:
                values = {name: entry.get(name) for name in (*PUBLISHED, "clearance")}
                yield {**values, "kind": "published", "term_kind": entry.get("kind")}

    def store(self, arriving: Arriving, lines: Sequence[Line]) -> Mapping[str, int]:
        home, clearance = arriving.knowledge_set, arriving.scope.clearance
        cleared = [line for line in lines[: 2 * MOST_TERMS] if _clearance(line) <= clearance]
        terms = [term for line in cleared if line.get("kind") == "term" and (term := _term(line, arriving)) is not None]
        refused = terms_store(terms)
        entries = [entry for line in cleared if line.get("kind") == "published" and (entry := _entry(line)) is not None]
        if entries:
            now = timezone.now()
            LexiconVersion.objects.create(
                tenant_id=home.tenant_id,
                knowledge_set=home,
                number=1,
                entries=entries,
                state=LexiconVersion.State.LIVE,
                author=arriving.actor,
                live_since=now,
            )
            epoch_advance(tenant_id=home.tenant_id, sets=[home.pk])
        return {"terms": len(terms) - len(refused), "published_terms": len(entries)}


def _line(term: LexiconTerm) -> dict[str, Any]:
    return {name: getattr(term, name) for name in FIELDS}


def _term(line: Line, arriving: Arriving) -> LexiconTerm | None:
    values = _checked(line)
    if values is None:
        return None
    return LexiconTerm(
        tenant_id=arriving.knowledge_set.tenant_id,
        knowledge_set=arriving.knowledge_set,
        origin=LexiconTerm.Origin.IMPORT,
        author=arriving.actor,
        clearance=_clearance(line),
        **values,
    )


def _entry(line: Line) -> dict[str, Any] | None:
    values = _checked({**line, "status": LexiconTerm.Status.APPROVED})
    return None if values is None else {**{name: values[name] for name in PUBLISHED}, "clearance": _clearance(line)}


def _checked(line: Line) -> dict[str, Any] | None:
    """The values of a term; None where the lexicon here does not take it."""
    try:
        values = {name: line[name] for name in FIELDS if name in line}
        if not isinstance(values.get("text"), str):
            return None
        for name in ("synonyms", "translations"):
            values[name] = list(values.get(name) or [])
        values["kind"] = line.get("term_kind", LexiconTerm.Kind.TERM)
        return checked_values(values)
    except (LexiconTermError, TypeError):
        return None


def _clearance(line: Line) -> int:
    value = line.get("clearance", 0)
    return value if type(value) is int and 0 <= value <= 4 else 4

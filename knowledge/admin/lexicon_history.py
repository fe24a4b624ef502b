"""The history of a lexicon in the admin, and how its search for terms ended, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.paginator import Page, Paginator
from django.http import HttpRequest
from django.utils.text import Truncator, capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.admin.base import admin_scope
from accounts.scope import Scope
from knowledge.models import KnowledgeSet, LexiconChange, LexiconTerm
from knowledge.selectors.lexicon import changes_managed
from knowledge.selectors.lexicon_history import changes_first, changes_together, terms_of_batches
from knowledge.services.lexicon.terms import FIELDS
from work.models import Job, State
from work.words import error_words

ROWS = 50  # on one page
NAMED = 5  # terms of a batch
VALUE_CHARACTERS = 60
Status = LexiconTerm.Status


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRow:
    """What was done at once: to one term, or to several terms, whose `batch` has a page of its own."""

    change: LexiconChange  # by which all of it is undone
    title: str
    words: str
    undo: str  # the words of the button
    names: str = ""
    file: str = ""
    undone: datetime | None = None
    batch: UUID | None = None


def history_context(request: HttpRequest, home: KnowledgeSet | None) -> dict[str, Any]:
    """One page of what was done to a lexicon, or of the changes of one batch (`batch` in the address)."""
    scope, number = admin_scope(request), request.GET.get("page")
    batch = _uuid(request.GET.get("batch", ""))
    if batch is None:
        page: Page[Any] = Paginator(changes_together(scope=scope, knowledge_set=home), ROWS).get_page(number)
        return {"page": page, "rows": _rows(scope, home, list(page.object_list)), "of_batch": None}
    acts = list(changes_together(scope=scope, knowledge_set=home).filter(batch=batch))
    changes = changes_managed(scope=scope, knowledge_set=home).filter(batch=batch).order_by("pk")
    page = Paginator(changes, ROWS).get_page(number)
    return {"page": page, "rows": [_row(act) for act in page], "of_batch": next(iter(_rows(scope, home, acts)), None)}


def _rows(scope: Scope, home: KnowledgeSet | None, acts: Sequence[Mapping[str, Any]]) -> list[HistoryRow]:
    """The rows of some of `changes_together`."""
    several = [act["batch"] for act in acts if act["batch"] is not None]
    latest = LexiconChange.objects.select_related("author").in_bulk([act["latest"] for act in acts])
    terms = terms_of_batches(scope=scope, batches=several)
    names_of_batch: dict[UUID, list[str]] = {}
    for change in changes_first(scope=scope, knowledge_set=home, batches=several, most=NAMED):
        if change.batch is not None:
            names_of_batch.setdefault(change.batch, []).append(change.text)
    return [
        _row(latest[act["latest"]])
        if act["changes"] == terms.get(act["batch"], 1) == 1
        else _row_of_several(latest[act["latest"]], act, names_of_batch[act["batch"]], undone_with=terms[act["batch"]])
        for act in acts
    ]


def _row(change: LexiconChange) -> HistoryRow:
    return HistoryRow(
        change=change,
        title=change.text,
        words=change_words(change),
        undo=_("Undo"),
        file=change.file_name,
        undone=change.undone,
    )


def _row_of_several(change: LexiconChange, act: Mapping[str, Any], names: list[str], *, undone_with: int) -> HistoryRow:
    more = ["…"] if act["terms"] > len(names) else []
    undo = ngettext("Undo: %(count)d term", "Undo: %(count)d terms", undone_with)
    return HistoryRow(
        change=change,
        title=ngettext("%(count)d term", "%(count)d terms", act["terms"]) % {"count": act["terms"]},
        words=together_words(act),
        undo=undo % {"count": undone_with},
        names=", ".join([*dict.fromkeys(names), *more]),
        file=act["file"],
        undone=act["taken_back"],
        batch=act["batch"],
    )


def _uuid(value: str) -> UUID | None:
    try:
        return UUID(value)
    except ValueError:
        return None


# ── words ───────────────────────────────────────────────────────────────────────────────────────


def change_words(change: LexiconChange) -> str:
    """What was done to one term: which fields were changed, from what to what."""
    before, after = change.before, change.after
    if before is None:
        return _("added")
    if after is None:
        return _("deleted")
    changed = [name for name in FIELDS if before[name] != after[name]]
    return "; ".join(_field_words(name, before[name], after[name]) for name in changed) or _("changed")


def together_words(act: Mapping[str, Any]) -> str:
    """What was done to several terms: one row of `changes_together`."""
    counts = {name: act[name] for name in ("added", "changed", "deleted") if act[name]}
    if list(counts) == ["changed"]:
        was, became = {act["was"], act["was_last"]}, {act["became"], act["became_last"]}
        if len(was) == len(became) == 1 and was != became:
            return f"{Status(was.pop()).label} → {Status(became.pop()).label}"
    if len(counts) == 1:
        return {"added": _("added"), "changed": _("changed"), "deleted": _("deleted")}[next(iter(counts))]
    words = {"added": _("%(count)d added"), "changed": _("%(count)d changed"), "deleted": _("%(count)d deleted")}
    return ", ".join(words[name] % {"count": count} for name, count in counts.items())


def _field_words(name: str, before: Any, after: Any) -> str:
    label = capfirst(str(LexiconTerm._meta.get_field(name).verbose_name))  # type: ignore[union-attr]
    values = {"field": label, "before": _value_words(name, before), "after": _value_words(name, after)}
    return _("%(field)s: %(before)s → %(after)s") % values


def _value_words(name: str, value: Any) -> str:
    choices = dict(LexiconTerm._meta.get_field(name).flatchoices)  # type: ignore[union-attr]
    text = ", ".join(value) if isinstance(value, list) else str(choices.get(value, value))
    return Truncator(text).chars(VALUE_CHARACTERS) or "–"


def problem_words(job: Job | None) -> str:
    """Why a search for terms failed; "" where it did not."""
    return error_words(job) if job is not None and job.state == State.FAILED else ""

"""Terms are written here only: every change is recorded with its values before and after, and can be undone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.errors import NameTakenError, NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.lexicon_errors import LexiconTermError
from knowledge.models import KnowledgeSet, LexiconChange, LexiconTerm
from knowledge.models.lexicon import NAME_CHARACTERS
from knowledge.selectors.lexicon import (
    changes_above,
    lexicon_condition,
    lexicon_set_get,
    term_get,
    terms_managed,
    terms_of,
)
from ragcore.text.normalise import normalise_query, visible
from ragcore.text.scripts import language_of

Status = LexiconTerm.Status
Kind = LexiconTerm.Kind
FIELDS = ("text", "language", "kind", "long_form", "synonyms", "translations", "status")
# what the history keeps; no evidence: a quotation is stored once, where it goes with its document
STORED = (*FIELDS, "key", "origin", "score", "clearance")
MOST_NAMES = 50  # synonyms or translations of one term
MOST_TERMS = 50_000  # of one lexicon
AT_ONCE = 500  # rows that one statement stores


def term_key(text: str) -> str:
    """What two writings of a term have in common."""
    return normalise_query(text).lower()[:NAME_CHARACTERS]


@transaction.atomic
def term_save(
    *,
    scope: Scope,
    actor: User,
    values: Mapping[str, Any],
    term_id: int | None = None,
    set_id: int | None = None,
    origin: str = LexiconTerm.Origin.PERSON,
    batch: UUID | None = None,
) -> LexiconTerm:
    """Change a term, or add one to the lexicon of a set or (without a set) of the tenant: fields of FIELDS.

    Raises NotFoundError, NotAllowedError, MissingRightError, LexiconTermError, NameTakenError.
    """
    if term_id is None:
        home = lexicon_set_get(scope=scope, set_id=set_id)
        tenant_id = home.tenant_id if home is not None else scope.tenant_id
        term = LexiconTerm(tenant_id=tenant_id, knowledge_set=home, author=actor, origin=origin)
        if LexiconTerm.objects.filter(tenant_id=tenant_id, knowledge_set=home).count() >= MOST_TERMS:
            raise LexiconTermError("too_many", limit=MOST_TERMS)
        before = None
    else:
        term = term_get(scope=scope, term_id=term_id)
        before = stored_values(term)
    for name, value in checked_values(values, old=term).items():
        setattr(term, name, value)
    if before is not None and before == stored_values(term):
        return term
    term_store(term)
    change_record(term=term, before=before, after=stored_values(term), actor=actor, batch=batch)
    audit_record(actor=actor, action="lexicon.change", target=term.text, term=term.pk, **_place(term))
    return term


@transaction.atomic
def term_delete(*, scope: Scope, actor: User, term_id: int) -> LexiconChange:
    """Delete a term; undoing the change brings it back, without the quotation. Raises NotFoundError."""
    term = term_get(scope=scope, term_id=term_id)
    change = change_record(term=term, before=stored_values(term), after=None, actor=actor)
    audit_record(actor=actor, action="lexicon.delete", target=term.text, term=term.pk, **_place(term))
    term.delete()
    return change


@transaction.atomic
def terms_delete(*, scope: Scope, actor: User, term_ids: Sequence[int]) -> list[LexiconChange]:
    """Delete several terms; one batch in the history, undone together. Terms of others are left out.

    Raises NotFoundError if none of them is the asker's.
    """
    rows = _terms(scope, term_ids)
    batch = uuid4()
    changes = [
        change_record(term=term, before=stored_values(term), after=None, actor=actor, batch=batch) for term in rows
    ]
    audit_record(actor=actor, action="lexicon.delete", target=rows[0].text, terms=len(rows))
    LexiconTerm.objects.filter(pk__in=[term.pk for term in rows]).delete()
    return changes


@transaction.atomic
def terms_decide(*, scope: Scope, actor: User, term_ids: Sequence[int], status: str) -> list[LexiconChange]:
    """Approve, reject or reopen several terms; one batch in the history. Terms of others are left out.

    Raises NotFoundError if none of them is the asker's.
    """
    rows = _terms(scope, term_ids)
    batch = uuid4()
    changes = []
    for term in rows:
        if term.status == status:
            continue
        before = stored_values(term)
        term.status = Status(status)
        term.save(update_fields=["status", "updated"])
        changes.append(change_record(term=term, before=before, after=stored_values(term), actor=actor, batch=batch))
    audit_record(actor=actor, action="lexicon.decide", target=rows[0].text, status=status, terms=len(changes))
    return changes


def _terms(scope: Scope, term_ids: Sequence[int]) -> list[LexiconTerm]:
    rows = list(terms_managed(scope=scope).filter(pk__in=term_ids).order_by("pk"))
    if not rows:
        raise NotFoundError("lexicon_term", term=next(iter(term_ids), 0))
    return rows


@transaction.atomic
def change_undo(*, scope: Scope, actor: User, change_id: int) -> LexiconTerm | None:
    """Bring a term back to what it was before a change, with all changes of its batch; None: it did not exist.

    Undoing twice does nothing more. What a search for terms has brought up to date since, such as the score, is no
    later change. Raises NotFoundError, LexiconTermError where somebody has changed the term again since, or the batch
    has changes of terms that the actor may not see.
    """
    change = LexiconChange.objects.filter(lexicon_condition(scope=scope), pk=change_id).first()
    managed = set() if change is None else _managed(scope, change)
    if change is None or change.pk not in managed:
        raise NotFoundError("lexicon_change", change=change_id)
    together = list(_together(change))
    if any(one.undone is None and one.pk not in managed for one in together):
        raise LexiconTermError("hidden")
    terms = _undone(sorted((one for one in together if one.undone is None), key=lambda one: -one.pk))
    LexiconChange.objects.filter(pk__in=[one.pk for one in together], undone=None).update(undone=timezone.now())
    audit_record(actor=actor, action="lexicon.undo", target=change.text, changes=len(together))
    return terms.get(change.term_id)


def _together(change: LexiconChange) -> QuerySet[LexiconChange]:
    """The changes that are undone with this one, itself among them."""
    return LexiconChange.objects.filter(Q(batch=change.batch) if change.batch else Q(pk=change.pk))


def _managed(scope: Scope, change: LexiconChange) -> set[int]:
    """Those of them whose terms the asker may see, in whatever lexicon that they keep."""
    mine = _together(change).filter(lexicon_condition(scope=scope)).exclude(changes_above(scope=scope))
    return set(mine.values_list("pk", flat=True))


def _undone(changes: Sequence[LexiconChange]) -> dict[int | None, LexiconTerm | None]:
    """Take changes back in this order; the terms by their ids, None where one is no more."""
    rows = LexiconTerm.objects.select_for_update().filter(pk__in=[one.term_id for one in changes]).order_by("pk")
    held: dict[int | None, LexiconTerm] = {term.pk: term for term in rows}
    terms: dict[int | None, LexiconTerm | None] = dict(held)
    for one in changes:
        terms[one.term_id] = _before(one, terms.get(one.term_id))
    LexiconTerm.objects.filter(pk__in=[pk for pk in held if terms[pk] is None]).delete()
    for term in terms_store([term for term in terms.values() if term is not None]):
        raise NameTakenError("lexicon_term", name=term.text)
    return terms


def _before(change: LexiconChange, term: LexiconTerm | None) -> LexiconTerm | None:
    """The term as it was before a change, not stored yet; None where it did not exist."""
    if change.after is not None and (term is None or any(getattr(term, name) != change.after[name] for name in FIELDS)):
        raise LexiconTermError("changed", term=change.text)
    if change.before is None:
        return None
    if term is None:
        term = LexiconTerm(pk=change.term_id, tenant_id=change.tenant_id, knowledge_set_id=change.knowledge_set_id)
    for name in STORED:
        setattr(term, name, change.before[name])
    return term


def term_store(term: LexiconTerm) -> None:
    """Save a term. Raises NameTakenError where another one has its words; the transaction goes on."""
    try:
        with transaction.atomic():
            term.save()
    except IntegrityError as error:
        raise NameTakenError("lexicon_term", name=term.text) from error


def terms_store(terms: Sequence[LexiconTerm]) -> list[LexiconTerm]:
    """Save terms with a few statements; those whose words another one has are not saved, but returned."""
    terms = sorted(terms, key=lambda term: term.pk or math.inf)  # locked in one order, new ones last
    return [one for start in range(0, len(terms), AT_ONCE) for one in _refused(terms[start : start + AT_ONCE])]


def _refused(terms: Sequence[LexiconTerm]) -> list[LexiconTerm]:
    """Save those that can be saved, and return the others: the halves of what fails are tried by themselves."""
    try:
        with transaction.atomic():
            LexiconTerm.objects.bulk_create(
                terms, update_conflicts=True, unique_fields=["pk"], update_fields=[*STORED, "updated"]
            )
    except IntegrityError:
        if len(terms) == 1:
            return list(terms)
        middle = len(terms) // 2
        return [*_refused(terms[:middle]), *_refused(terms[middle:])]
    return []


def change_record(
    *,
    term: LexiconTerm,
    before: Any,
    after: Any,
    actor: User | None,
    batch: UUID | None = None,
    file_name: str = "",
) -> LexiconChange:
    """Keep what was changed; `file_name`: of the file that it was imported from."""
    change = change_of(term=term, before=before, after=after, actor=actor, batch=batch, file_name=file_name)
    change.save()
    return change


def change_of(
    *, term: LexiconTerm, before: Any, after: Any, actor: User | None, batch: UUID | None, file_name: str = ""
) -> LexiconChange:
    """What `change_record` keeps, not stored yet."""
    return LexiconChange(
        tenant_id=term.tenant_id,
        knowledge_set_id=term.knowledge_set_id,
        term_id=term.pk,
        text=(after or before)["text"],
        before=before,
        after=after,
        batch=batch,
        file_name=file_name[:200],
        author=actor,
    )


def stored_values(term: LexiconTerm) -> dict[str, Any]:
    """The values of a term as the history keeps them."""
    return {name: getattr(term, name) for name in STORED}


def _place(term: LexiconTerm) -> dict[str, Any]:
    return {"set": term.knowledge_set_id}


# ── values ──────────────────────────────────────────────────────────────────────────────────────


def checked_values(values: Mapping[str, Any], *, old: LexiconTerm | None = None) -> dict[str, Any]:
    """Values of a term, cleaned; what is not given is taken from the old term. Raises LexiconTermError."""
    old = old or LexiconTerm()
    given = {name: values.get(name, getattr(old, name)) for name in FIELDS}
    text = _name(given["text"])
    if not any(character.isalnum() for character in text):
        raise LexiconTermError("empty")
    found: dict[str, Any] = {"text": text, "key": term_key(text), "long_form": _name(given["long_form"])}
    if term_key(found["long_form"]) == found["key"]:
        found["long_form"] = ""
    for field in ("synonyms", "translations"):
        found[field] = _names(given[field], but=found["key"])
    for field, choices in (("status", Status), ("kind", Kind), ("language", LexiconTerm.Language)):
        if given[field] not in choices.values:
            raise LexiconTermError(field, value=str(given[field])[:40])
        found[field] = given[field]
    if found["language"] == LexiconTerm.Language.OTHER:
        found["language"] = language_of(text)
    if found["long_form"] and found["kind"] == Kind.TERM:
        found["kind"] = Kind.ABBREVIATION
    return found


def _name(value: Any) -> str:
    text = " ".join(visible(str(value or "")).split())
    if len(text) > NAME_CHARACTERS:
        raise LexiconTermError("long", limit=NAME_CHARACTERS, term=text[:40])
    return text


def _names(values: Iterable[Any], *, but: str) -> list[str]:
    """Names, each once, without the term itself."""
    found: dict[str, str] = {}
    for value in values:
        if (name := _name(value)) and term_key(name) != but:
            found.setdefault(term_key(name), name)
    if len(found) > MOST_NAMES:
        raise LexiconTermError("names", limit=MOST_NAMES)
    return list(found.values())


def home_terms(*, scope: Scope, home: KnowledgeSet | None) -> dict[tuple[str, str], LexiconTerm]:
    """The terms of a lexicon by key and long form."""
    return {(term.key, term.long_form): term for term in terms_of(scope=scope, knowledge_set=home)}

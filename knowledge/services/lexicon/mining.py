"""Searching the documents of a set, or of the tenant, for terms: suggestions that somebody reviews.

It reads what its author may read, except documents that only named readers may see; for the lexicon of the tenant only
documents of sets that are open to everyone, because all administrators see the suggestions, and not all of them are
members of the other sets. A suggestion is shown to nobody whose clearance is below that of the lowest document that has
it. The reading is background work: `knowledge/jobs/mine_terms.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.indexes.statements import lexicon_lock
from knowledge.lexicon_errors import LexiconTermError
from knowledge.models import LexiconChange, LexiconTerm
from knowledge.models.lexicon import NAME_CHARACTERS
from knowledge.queue import MINE_TERMS, lexicon_subject
from knowledge.selectors.lexicon import lexicon_set_get, mining_managed
from knowledge.services.lexicon.terms import STORED, checked_values, term_key
from ragcore.text.mining.candidates import TermCandidate
from work.models import Job
from work.services import job_cancel_now, work_start

EVIDENCE_CHARACTERS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class MinedLexicon:
    """The lexicon that suggestions are for, and in whose name they are made."""

    tenant_id: int
    set_id: int | None  # None: of the tenant
    author: User | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MiningOptions:
    """What a search for terms does besides reading."""

    asks_model: bool = False  # the language model scores the candidates, where there is one
    compounds_only: bool = False  # of frequent phrases only nouns with nouns or adjectives before them
    learns_general: bool = True  # phrases of general frequent words are examples of what is no term

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> MiningOptions:
        """Those of a job; what it does not name is as usual."""
        return cls(**{each.name: arguments[each.name] for each in fields(cls) if each.name in arguments})


USUAL_MINING = MiningOptions()


@transaction.atomic
def mining_start(*, scope: Scope, actor: User, set_id: int | None = None, options: MiningOptions = USUAL_MINING) -> Job:
    """Search the documents of a set for terms, or (None) those of the sets of the tenant that are open to everyone.

    Raises NotFoundError, NotAllowedError, MissingRightError, LexiconTermError while such a search is under way.
    """
    home = lexicon_set_get(scope=scope, set_id=set_id)
    started = work_start(
        kind=MINE_TERMS,
        tenant_id=home.tenant_id if home is not None else scope.tenant_id,
        author=actor,
        subject=lexicon_subject(set_id),
        arguments={"set_id": set_id, **asdict(options)},
    )
    if not started.is_new:
        raise LexiconTermError("busy")
    target = home.name if home else "tenant"
    audit_record(actor=actor, action="lexicon.mine", target=target, run=started.job.pk, **asdict(options))
    return started.job


def mining_cancel(*, scope: Scope, mining_id: int) -> None:
    """End a search; nothing is suggested then. Raises NotFoundError."""
    job = mining_managed(scope=scope, mining_id=mining_id)
    if job is None:
        raise NotFoundError("lexicon_mining", run=mining_id)
    job_cancel_now(job)


@transaction.atomic
def suggestions_store(lexicon: MinedLexicon, candidates: Sequence[TermCandidate]) -> int:
    """Store new suggestions and bring the scores of open ones up to date; returns how many are new.

    A term that somebody saves at the same moment is theirs: it stays as it is and counts as known. Imports of files
    into the lexicon wait until the end of the transaction, and are waited for.
    """
    lexicon_lock(tenant_id=lexicon.tenant_id, set_id=lexicon.set_id)
    rows = LexiconTerm.objects.filter(tenant_id=lexicon.tenant_id, knowledge_set_id=lexicon.set_id)
    known: dict[tuple[str, str], int | None] = {
        (key, long_form.lower()): pk for pk, key, long_form in rows.values_list("pk", "key", "long_form")
    }
    fresh: list[LexiconTerm] = []
    again: dict[int, TermCandidate] = {}
    for candidate in candidates:
        name = (term_key(candidate.text), candidate.long_form[:NAME_CHARACTERS].lower())
        if name not in known:
            if (term := _suggestion(lexicon, candidate)) is not None:
                fresh.append(term)
                known[name] = None
        elif (pk := known[name]) is not None:
            again[pk] = candidate
    _open_update(rows, again)
    return _new_store(rows, fresh)


def _new_store(rows: QuerySet[LexiconTerm], fresh: Sequence[LexiconTerm]) -> int:
    """Insert what nobody else has inserted meanwhile; how many."""
    LexiconTerm.objects.bulk_create(fresh, batch_size=500, ignore_conflicts=True)
    # rows that were left out get no id, nor do those that were stored: what tells them apart is when they were made
    stored: set[tuple[str, str, datetime]] = set()
    for start in range(0, len(fresh), 500):
        keys = [term.key for term in fresh[start : start + 500]]
        stored.update(rows.filter(key__in=keys).values_list("key", "long_form", "created"))
    return sum((term.key, term.long_form, term.created) in stored for term in fresh)


def _open_update(rows: QuerySet[LexiconTerm], again: Mapping[int, TermCandidate]) -> None:
    """Scores and quotations of suggestions that nobody has decided, also at this moment; synonyms of those that have
    none and that nobody has changed: somebody may have taken them out. Undoing a change gives them back to the search.
    """
    held = rows.select_for_update().filter(pk__in=list(again), status=LexiconTerm.Status.CANDIDATE).order_by("pk")
    terms = list(held)
    changes = LexiconChange.objects.filter(term_id__in=[term.pk for term in terms], undone=None)
    changed = set(changes.values_list("term_id", flat=True))
    for term in terms:
        one = again[term.pk]
        term.score = one.score
        if one.model_score is not None:
            term.model_score = one.model_score
        if one.synonyms and not term.synonyms and term.pk not in changed:
            term.synonyms = list(one.synonyms)
            term.clearance = max(term.clearance, one.level)
        if one.evidence and one.level <= term.clearance:
            term.evidence, term.evidence_version = one.evidence[:EVIDENCE_CHARACTERS], one.source
    columns = ["score", "model_score", "synonyms", "clearance", "evidence", "evidence_version"]
    LexiconTerm.objects.bulk_update(terms, columns, batch_size=500)


def _suggestion(lexicon: MinedLexicon, one: TermCandidate) -> LexiconTerm | None:
    given = {name: getattr(one, name) for name in ("text", "kind", "long_form", "language", "synonyms", "translations")}
    try:
        values = checked_values({**given, "status": LexiconTerm.Status.CANDIDATE})
    except LexiconTermError:
        return None
    term = LexiconTerm(
        tenant_id=lexicon.tenant_id,
        knowledge_set_id=lexicon.set_id,
        author=lexicon.author,
        origin=LexiconTerm.Origin.MINED,
        score=one.score,
        model_score=one.model_score,
        evidence=one.evidence[:EVIDENCE_CHARACTERS],
        evidence_version=one.source if one.evidence else None,
        clearance=one.level,
    )
    for name, value in values.items():
        if name in STORED:
            setattr(term, name, value)
    return term

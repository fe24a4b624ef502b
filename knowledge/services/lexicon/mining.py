"""Searching the documents of a set, or of the tenant, for terms: suggestions that somebody reviews.

It reads what its author may read, except documents that only named readers may see; for the lexicon of the tenant only
documents of sets that are open to everyone, because all administrators see the suggestions, and not all of them are
members of the other sets. A suggestion is shown to nobody whose clearance is below that of the lowest document that has
it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from accounts.services import audit_record
from knowledge import model_registry
from knowledge.faults import known_fault
from knowledge.indexes.statements import lexicon_lock
from knowledge.lexicon_errors import LexiconTermError
from knowledge.models import Document, DocumentVersion, KnowledgeSet, LexiconChange, LexiconMining, LexiconTerm
from knowledge.models.lexicon import NAME_CHARACTERS
from knowledge.queue import MINE_TERMS, enqueue_on_commit
from knowledge.selectors.documents import documents_askable
from knowledge.selectors.lexicon import lexicon_condition, lexicon_set_get
from knowledge.selectors.sets import sets_readable
from knowledge.services.fencing import claim, fenced
from knowledge.services.lexicon.terms import STORED, checked_values, term_key
from knowledge.services.signs_of_life import signs_of_life
from ragcore.errors import RagError, TransientError
from ragcore.text.mining.candidates import (
    TermCandidate,
    TermMiner,
    defined_apart,
    names_of,
    term_words,
    with_synonyms,
)
from ragcore.text.mining.synonyms import NameContexts

logger = logging.getLogger(__name__)

State = LexiconMining.State
OPEN = (State.QUEUED, State.RUNNING)
LOST_AFTER = LexiconMining.LOST_AFTER
LONGEST_SECONDS = 6 * 3600.0  # that a search may take
MOST_STARTS = 6  # without an end; what stops its worker time and again is given up
MOST_CHARACTERS = 2_000_000  # of one document
EVIDENCE_CHARACTERS = 500
AT_ONCE = 20  # documents that are loaded together


@transaction.atomic
def mining_start(*, scope: Scope, actor: User, set_id: int | None = None) -> LexiconMining:
    """Search the documents of a set for terms, or (None) those of the sets of the tenant that are open to everyone.

    Raises NotFoundError, NotAllowedError, MissingRightError, LexiconTermError while such a search is under way.
    """
    home = lexicon_set_get(scope=scope, set_id=set_id)
    tenant_id = home.tenant_id if home is not None else scope.tenant_id
    mine = LexiconMining.objects.filter(tenant_id=tenant_id, knowledge_set=home, state__in=OPEN)
    if mine.exclude(_is_lost()).exists():
        raise LexiconTermError("busy")
    mine.update(state=State.FAILED, error_code="worker_lost", finished=timezone.now())
    run = LexiconMining.objects.create(tenant_id=tenant_id, knowledge_set=home, author=actor)
    audit_record(actor=actor, action="lexicon.mine", target=home.name if home else "tenant", run=run.pk)
    enqueue_on_commit(MINE_TERMS, mining_id=run.pk)
    return run


def mining_cancel(*, scope: Scope, mining_id: int) -> None:
    """Ask a search to end; nothing is suggested then. One that no worker has is over at once. Raises NotFoundError."""
    mine = LexiconMining.objects.filter(lexicon_condition(scope=scope), pk=mining_id)
    if not mine.update(is_cancelled=True):
        raise NotFoundError("lexicon_mining", run=mining_id)
    mine.filter(Q(state=State.QUEUED) | _is_lost()).update(state=State.CANCELLED, finished=timezone.now())


def minings_resume() -> int:
    """Call a worker to searches whose worker or message was lost; how many. To each at most once in LOST_AFTER.

    One that was cancelled is over then, and one that has lost MOST_STARTS workers has failed.
    """
    now = timezone.now()
    silent = LexiconMining.objects.filter(state__in=OPEN, heartbeat__lt=now - LOST_AFTER)
    silent.filter(is_cancelled=True).update(state=State.CANCELLED, finished=now)
    silent.filter(_is_lost(), starts__gte=MOST_STARTS).update(
        state=State.FAILED, error_code="worker_lost", finished=now
    )
    ids = list(silent.values_list("pk", flat=True))
    silent.filter(pk__in=ids).update(state=State.QUEUED, heartbeat=now)
    for mining_id in ids:
        enqueue_on_commit(MINE_TERMS, mining_id=mining_id)
    if ids:
        logger.warning("searches for terms are begun again: %s", ids)
    return len(ids)


def _is_lost() -> Q:
    """Condition on searches: a worker has begun it and gives no sign of life."""
    return Q(state=State.RUNNING, heartbeat__lt=timezone.now() - LOST_AFTER)


def mining_run(*, mining_id: int) -> None:
    """Read the documents and store suggestions. Repeating it adds nothing that is there; one worker does it."""
    free = LexiconMining.objects.filter(Q(state=State.QUEUED) | _is_lost())
    run = claim(free, pk=mining_id, state=State.RUNNING, heartbeat=timezone.now())
    if run is None:
        return  # it is over, or another worker is at it
    if run.author is None or not run.author.is_active:
        _fail(run, "author_gone")
        return
    try:
        with signs_of_life(lambda: _open(run).update(heartbeat=timezone.now()), limit_seconds=LONGEST_SECONDS):
            _mine(run)
    except Exception as error:
        known = known_fault(error)
        logger.warning("searching for terms failed: %s", error, exc_info=known is None)
        if not isinstance(known, TransientError):  # else `minings_resume` has it begun again
            _fail(run, known.code if known is not None else "internal")


def _fail(run: LexiconMining, code: str) -> None:
    _open(run).update(state=State.FAILED, error_code=code, finished=timezone.now())


def _open(run: LexiconMining) -> QuerySet[LexiconMining]:
    """The search, if it is not over and no other worker has begun it again since."""
    return fenced(run).filter(state__in=OPEN)


def _mine(run: LexiconMining) -> None:
    assert run.author is not None
    documents = _documents(run, scope_for(run.author)).filter(readers=None, source_readers=None)
    rows = list(documents.exclude(live_version=None).order_by("pk").values_list("live_version_id", "clearance"))
    if not _alive(run, documents=len(rows), documents_done=0):
        return
    miner = TermMiner(model_registry.tokenizer())
    done = 0
    for texts in _texts(rows):
        for version, text, level in texts:
            miner.add(text, level=level, source=version)
        done += len(texts)
        if not _alive(run, documents_done=done):
            return
    found = miner.candidates(reviewed=_reviewed(run))
    found = _compared(run, rows, found)
    with transaction.atomic():
        added = suggestions_store(run, found)
        if not _alive(run, state=State.DONE, found=added, finished=timezone.now()):
            transaction.set_rollback(True)


def _documents(run: LexiconMining, scope: Scope) -> QuerySet[Document]:
    """Documents of the set, or of all sets of the tenant that are open to everyone."""
    if run.knowledge_set_id is not None:
        return documents_askable(scope=scope, sets=[run.knowledge_set_id])
    rows = sets_readable(scope=scope).filter(visibility=KnowledgeSet.Visibility.EVERYONE)
    sets = list(rows.order_by().values_list("pk", flat=True))
    return documents_askable(scope=scope, sets=sets) if sets else Document.objects.none()  # no sets would mean all


def _compared(run: LexiconMining, rows: Sequence[tuple[int, int]], found: list[TermCandidate]) -> list[TermCandidate]:
    """The candidates, some with another name that the documents use alike; the documents are read again for it."""
    terms = LexiconTerm.objects.filter(tenant_id=run.tenant_id, knowledge_set_id=run.knowledge_set_id)
    approved = terms.filter(status=LexiconTerm.Status.APPROVED)
    known = {
        name: clearance
        for text, long_form, synonyms, clearance in approved.values_list("text", "long_form", "synonyms", "clearance")
        for name in (text, long_form, *synonyms)
        if name
    }
    contexts = NameContexts([*names_of(found), *known], model_registry.tokenizer())
    for texts in _texts(rows):
        for _version, text, _level in texts:
            contexts.add(text)
        if not _alive(run):
            return found
    try:
        embed = model_registry.embedder().embed_documents
        pairs = contexts.likely_synonyms(embed=embed, different=defined_apart(found))
    except RagError as error:  # the terms are worth showing without it
        logger.warning("names were not compared as synonyms: %s", error)
        return found
    return with_synonyms(found, pairs, levels_of_names={name.lower(): level for name, level in known.items()})


def _texts(rows: Sequence[tuple[int, int]]) -> Iterator[list[tuple[int, str, int]]]:
    """Versions with their texts and clearances, some at a time."""
    for start in range(0, len(rows), AT_ONCE):
        levels = dict(rows[start : start + AT_ONCE])
        texts = dict(DocumentVersion.objects.filter(pk__in=levels).values_list("pk", "markdown"))
        yield [(pk, texts[pk][:MOST_CHARACTERS], level) for pk, level in levels.items() if pk in texts]


def _alive(run: LexiconMining, **values: object) -> bool:
    """Write progress; False once the search was cancelled, or another worker has begun it again."""
    written = {"state": State.RUNNING, "heartbeat": timezone.now(), **values}
    if _open(run).filter(is_cancelled=False).update(**written):
        return True
    _open(run).filter(is_cancelled=True).update(state=State.CANCELLED, finished=timezone.now())
    return False


def _reviewed(run: LexiconMining) -> dict[str, bool]:
    """What people have decided about terms of this lexicon: each search learns from it."""
    tokenizer = model_registry.tokenizer()
    rows = LexiconTerm.objects.filter(tenant_id=run.tenant_id, knowledge_set_id=run.knowledge_set_id)
    decided = rows.exclude(status=LexiconTerm.Status.CANDIDATE).values_list("text", "status")
    return {term_words(text, tokenizer): status == LexiconTerm.Status.APPROVED for text, status in decided}


@transaction.atomic
def suggestions_store(run: LexiconMining, found: Sequence[TermCandidate]) -> int:
    """Store new suggestions and bring the scores of open ones up to date; returns how many are new.

    A term that somebody saves at the same moment is theirs: it stays as it is and counts as known. Imports of files
    into the lexicon wait until the end of the transaction, and are waited for.
    """
    lexicon_lock(tenant_id=run.tenant_id, set_id=run.knowledge_set_id)
    rows = LexiconTerm.objects.filter(tenant_id=run.tenant_id, knowledge_set_id=run.knowledge_set_id)
    known: dict[tuple[str, str], int | None] = {
        (key, long_form.lower()): pk for pk, key, long_form in rows.values_list("pk", "key", "long_form")
    }
    fresh: list[LexiconTerm] = []
    again: dict[int, TermCandidate] = {}
    for one in found:
        name = (term_key(one.text), one.long_form[:NAME_CHARACTERS].lower())
        if name not in known:
            if (term := _suggestion(run, one)) is not None:
                fresh.append(term)
                known[name] = None
        elif (pk := known[name]) is not None:
            again[pk] = one
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
        if one.synonyms and not term.synonyms and term.pk not in changed:
            term.synonyms = list(one.synonyms)
            term.clearance = max(term.clearance, one.level)
        if one.evidence and one.level <= term.clearance:
            term.evidence, term.evidence_version = one.evidence[:EVIDENCE_CHARACTERS], one.source
    fields = ["score", "synonyms", "clearance", "evidence", "evidence_version"]
    LexiconTerm.objects.bulk_update(terms, fields, batch_size=500)


def _suggestion(run: LexiconMining, one: TermCandidate) -> LexiconTerm | None:
    given = {name: getattr(one, name) for name in ("text", "kind", "long_form", "language", "synonyms", "translations")}
    try:
        values = checked_values({**given, "status": LexiconTerm.Status.CANDIDATE})
    except LexiconTermError:
        return None
    term = LexiconTerm(
        tenant_id=run.tenant_id,
        knowledge_set_id=run.knowledge_set_id,
        author=run.author,
        origin=LexiconTerm.Origin.MINED,
        score=one.score,
        evidence=one.evidence[:EVIDENCE_CHARACTERS],
        evidence_version=one.source if one.evidence else None,
        clearance=one.level,
    )
    for name, value in values.items():
        if name in STORED:
            setattr(term, name, value)
    return term

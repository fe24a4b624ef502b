"""Publishing a lexicon: whole terms into the index beside running searches, then the switch (D8, D17).

A version is published in two steps. First, passages that contain its names get one more term for each whole name,
batch by batch; passages that are processed meanwhile get them, too. Searches go on with the version before: nothing
that they ask for is taken away. Then, in one transaction, the version comes into use and cached answers become stale.
Where golden sets guard the knowledge set, the version is measured between the two steps, and comes into use when it is
published at the gate; until then it is still being built. What was in use before is never held up.

One worker builds a version: it holds a claim, which another one takes over only where the first gives no sign of life.

Names that are no longer published stay in the index until their passages are processed again: no question asks for
them. So the way back is a switch, too.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Max, Q, QuerySet
from django.utils import timezone

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge import model_registry
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.lexicon_entries import (
    PassageText,
    passage_texts,
    passages_with_parts,
    whole_terms_add,
)
from knowledge.lexicon_errors import LexiconTermError
from knowledge.models import KnowledgeSet, LexiconTerm, LexiconVersion
from knowledge.queue import BUILD_LEXICON, enqueue_on_commit
from knowledge.selectors.lexicon import lexicon_of_version, lexicon_set_get, versions_managed
from knowledge.services.fencing import claim, fenced
from knowledge.services.lexicon.terms import term_key
from knowledge.services.publish_gate import publish_gate
from knowledge.services.representations import indexed_text
from ragcore.errors import TransientError
from ragcore.text.lexicon import TermLexicon
from work.faults import known_fault
from work.signs_of_life import signs_of_life

logger = logging.getLogger(__name__)

State = LexiconVersion.State
NAMES_AT_ONCE = 500
PASSAGES_AT_ONCE = 300  # in one transaction, which holds the lock of the tenant's statistics
LONGEST_SECONDS = 6 * 3600.0  # that building a version may take
LOST_AFTER = timedelta(minutes=3)  # without a sign of life
MOST_FAILURES = 3
HELD = "change"  # key in `measured` of a version that waits at the gate: id of what is measured


@transaction.atomic
def lexicon_publish(*, scope: Scope, actor: User, set_id: int | None = None, note: str = "") -> LexiconVersion:
    """Publish the approved terms of a lexicon as a new version; returns it, being built, or in use if nothing changed.

    Raises NotFoundError, NotAllowedError, MissingRightError.
    """
    home = lexicon_set_get(scope=scope, set_id=set_id)
    tenant_id = home.tenant_id if home is not None else scope.tenant_id
    return _published(tenant_id, home, _approved(tenant_id, home), actor=actor, note=note)


@transaction.atomic
def lexicon_publish_term(
    *, scope: Scope, actor: User, set_id: int | None, key: str, long_form: str, note: str = ""
) -> LexiconVersion:
    """Publish one term as it stands, or its absence, and of all others what is published already.

    `key`, `long_form`: of the term. A version that waits at the gate is given up; one that is being built is the one
    that the term is added to. Raises NotFoundError, NotAllowedError, MissingRightError.
    """
    home = lexicon_set_get(scope=scope, set_id=set_id)
    tenant_id = home.tenant_id if home is not None else scope.tenant_id
    same = _versions(tenant_id, home)
    base = same.filter(state=State.BUILDING).exclude(measured__has_key=HELD).first()
    base = base or same.filter(state=State.LIVE).first()
    entries = [one for one in (base.entries if base is not None else []) if entry_key(one) != (key, long_form)]
    entries += _approved(tenant_id, home, key=key, long_form=long_form)
    entries.sort(key=entry_key)
    return _published(tenant_id, home, entries, actor=actor, note=note)


def _published(
    tenant_id: int, home: KnowledgeSet | None, entries: list[dict[str, Any]], *, actor: User, note: str
) -> LexiconVersion:
    """These entries as a new version, being built; the version in use where it has them already."""
    live = _versions(tenant_id, home).filter(state=State.LIVE).first()
    if live is not None and sorted(live.entries, key=entry_key) == sorted(entries, key=entry_key):
        _overtake(tenant_id, home, actor=actor)
        return live
    version = _version_create(tenant_id, home, entries, actor=actor, note=note)
    audit_record(actor=actor, action="lexicon.publish", target=_title(home), version=version.number)
    return version


def entry_key(entry: Mapping[str, Any]) -> tuple[str, str]:
    """What tells an entry of a version from the others: its term and its long form."""
    return term_key(entry["text"]), str(entry.get("long_form", ""))


@transaction.atomic
def lexicon_publish_cancel(*, scope: Scope, actor: User, version_id: int) -> LexiconVersion:
    """Give up a version that is not in use yet; what its terms are stays. Raises NotFoundError, LexiconTermError."""
    version = _managed(scope, version_id)
    if version.state != State.BUILDING:
        raise LexiconTermError("over")
    _overtake(version.tenant_id, version.knowledge_set, actor=actor)
    audit_record(actor=actor, action="lexicon.cancel", target=_title(version.knowledge_set), version=version.number)
    version.refresh_from_db()
    return version


@transaction.atomic
def lexicon_roll_back(*, scope: Scope, actor: User, version_id: int) -> LexiconVersion:
    """Publish the entries of a former version as a new one; terms are not changed.

    Raises NotFoundError.
    """
    former = _managed(scope, version_id)
    home = former.knowledge_set
    if former.state not in (State.RETIRED, State.FAILED):
        raise LexiconTermError("in_use")
    version = _version_create(former.tenant_id, home, former.entries, actor=actor, note=f"= {former.number}")
    audit_record(actor=actor, action="lexicon.roll_back", target=_title(home), version=former.number)
    return version


def _managed(scope: Scope, version_id: int) -> LexiconVersion:
    version = LexiconVersion.objects.select_related("knowledge_set").filter(pk=version_id).first()
    home = version.knowledge_set if version is not None else None
    if version is None or not versions_managed(scope=scope, knowledge_set=home).filter(pk=version_id).exists():
        raise NotFoundError("lexicon_version", version=version_id)
    return version


def _versions(tenant_id: int, home: KnowledgeSet | None) -> QuerySet[LexiconVersion]:
    return LexiconVersion.objects.filter(tenant_id=tenant_id, knowledge_set=home)


def _overtake(tenant_id: int, home: KnowledgeSet | None, *, actor: User) -> None:
    """Nothing that is being built comes into use any more; what is measured of it ends."""
    mine = _versions(tenant_id, home).select_for_update()
    list(mine.order_by("pk").values_list("pk", flat=True))  # one after the other
    building = mine.filter(state=State.BUILDING)
    held = [measured[HELD] for measured in building.values_list("measured", flat=True) if HELD in measured]
    building.update(state=State.RETIRED, measured={})
    if gate := publish_gate():
        for change in held:
            gate.discard(change=change, actor=actor)


def _version_create(
    tenant_id: int, home: KnowledgeSet | None, entries: list[dict[str, Any]], *, actor: User, note: str
) -> LexiconVersion:
    _overtake(tenant_id, home, actor=actor)
    mine = _versions(tenant_id, home)
    number = (mine.order_by().aggregate(last=Max("number"))["last"] or 0) + 1
    version = LexiconVersion.objects.create(
        tenant_id=tenant_id, knowledge_set=home, entries=entries, number=number, author=actor, note=note
    )
    enqueue_on_commit(BUILD_LEXICON, version_id=version.pk)
    return version


def _approved(tenant_id: int, home: KnowledgeSet | None, **of: str) -> list[dict[str, Any]]:
    rows = LexiconTerm.objects.filter(tenant_id=tenant_id, knowledge_set=home, status=LexiconTerm.Status.APPROVED, **of)
    names = ("text", "language", "kind", "long_form", "synonyms", "translations", "clearance")
    return list(rows.order_by("key", "long_form").values(*names))


def _title(home: KnowledgeSet | None) -> str:
    return home.name if home is not None else "tenant"


# ── the index ───────────────────────────────────────────────────────────────────────────────────


def lexicon_build(*, version_id: int) -> None:
    """Index the names of a version, then bring it into use. Safe to repeat: what is there already stays as it is.

    Does nothing while another worker builds it. What fails is tried again by `lexicon_builds_resume`, MOST_FAILURES
    times in all.
    """
    version = _claimed(version_id)
    if version is None:
        return
    try:
        with signs_of_life(lambda: _alive(version), limit_seconds=LONGEST_SECONDS):
            _build(version)
    except Exception as error:
        logger.exception("lexicon version %s could not be published", version_id)
        _fail(version, error)


def _claimed(version_id: int) -> LexiconVersion | None:
    """The version, for this worker alone; None where it is not to be built, or somebody builds it."""
    now = timezone.now()
    waiting = LexiconVersion.objects.filter(state=State.BUILDING).exclude(measured__has_key=HELD)
    free = waiting.filter(Q(claim=None) | Q(heartbeat__lt=now - LOST_AFTER))
    return claim(free, pk=version_id, heartbeat=now)


def _fail(version: LexiconVersion, error: Exception) -> None:
    """Count what went wrong; after MOST_FAILURES times it is not tried again."""
    known = known_fault(error)
    failures = version.failures + int(not isinstance(known, TransientError))  # what passes by itself does not count
    state = State.FAILED if failures >= MOST_FAILURES else State.BUILDING
    problem = str(known)[:200] if known is not None else type(error).__name__
    mine = fenced(version).filter(state=State.BUILDING)
    mine.update(state=state, failures=failures, problem=problem, claim=None, heartbeat=timezone.now())


def _build(version: LexiconVersion) -> None:
    lexicon = lexicon_of_version(version)
    names = whole_names(lexicon)
    if not _alive(version, names=len(names), names_done=0):
        return
    for start in range(0, len(names), NAMES_AT_ONCE):
        batch = names[start : start + NAMES_AT_ONCE]
        if not _names_index(version, lexicon, batch):
            return
        if not _alive(version, names_done=start + len(batch)):
            return
    _bring_into_use(version)


def whole_names(lexicon: TermLexicon) -> list[str]:
    """Names that are terms of their own in the index."""
    return sorted({name for name in lexicon.all_names() if lexicon.whole_terms(name, _words(name))})


def _names_index(version: LexiconVersion, lexicon: TermLexicon, names: Sequence[str]) -> bool:
    """Index some names; False if another version has overtaken this one."""
    tokenizer = model_registry.tokenizer()
    parts = [tuple(dict.fromkeys(tokenizer.terms(name))) for name in names]
    chunks = passages_with_parts(tenant_id=version.tenant_id, names=parts)
    for start in range(0, len(chunks), PASSAGES_AT_ONCE):
        texts = passage_texts(tenant_id=version.tenant_id, chunks=chunks[start : start + PASSAGES_AT_ONCE])
        terms = {one.chunk: found for one in texts if (found := _whole_terms(lexicon, one))}
        if terms:
            with transaction.atomic():
                changed = whole_terms_add(tenant_id=version.tenant_id, terms=terms)
            if not _alive(version, passages=F("passages") + changed):
                return False
    return True


def _whole_terms(lexicon: TermLexicon, passage: PassageText) -> list[str]:
    text = indexed_text(title=passage.title, heading_path=passage.heading_path, text=passage.text)
    return lexicon.whole_terms(text, _words(text))


def _words(text: str) -> list[str]:
    return model_registry.tokenizer().words(text)


def _alive(version: LexiconVersion, **values: Any) -> bool:
    """Write progress; False if the version is no longer being built, or not by this worker."""
    return bool(fenced(version).filter(state=State.BUILDING).update(heartbeat=timezone.now(), **values))


def _bring_into_use(version: LexiconVersion) -> None:
    """Bring it into use, unless it is measured first."""
    gate = publish_gate()
    if gate is not None and not _was_in_use(version):
        change = gate.hold_lexicon(version=version)
        if change is not None:
            _alive(version, measured={HELD: change}, claim=None)
            return
    if _alive(version):
        lexicon_version_use(version_id=version.pk)


def _was_in_use(version: LexiconVersion) -> bool:
    same = LexiconVersion.objects.filter(tenant_id=version.tenant_id, knowledge_set_id=version.knowledge_set_id)
    return same.filter(entries=version.entries).exclude(live_since=None).exists()


@transaction.atomic
def lexicon_version_use(*, version_id: int) -> bool:
    """Bring a version into use whose names are indexed; False if another version has overtaken it."""
    version = LexiconVersion.objects.get(pk=version_id)
    same = LexiconVersion.objects.select_for_update().filter(
        tenant_id=version.tenant_id, knowledge_set_id=version.knowledge_set_id
    )
    states = dict(same.order_by("pk").values_list("pk", "state"))
    if states.get(version.pk) != State.BUILDING:
        return False
    same.filter(state=State.LIVE).update(state=State.RETIRED)
    now = timezone.now()
    same.filter(pk=version.pk).update(state=State.LIVE, live_since=now, heartbeat=now, measured={})
    sets = None if version.knowledge_set_id is None else [version.knowledge_set_id]
    epoch_advance(tenant_id=version.tenant_id, sets=sets)
    return True


def lexicon_version_drop(*, version_id: int) -> None:
    """Give a version up that has not come into use."""
    LexiconVersion.objects.filter(pk=version_id, state=State.BUILDING).update(state=State.RETIRED, measured={})


def lexicon_builds_resume() -> int:
    """Queue builds that failed or were lost, each at most once in LOST_AFTER; returns how many."""
    lost = LexiconVersion.objects.filter(state=State.BUILDING, heartbeat__lt=timezone.now() - LOST_AFTER)
    lost = lost.exclude(measured__has_key=HELD)
    ids = list(lost.values_list("pk", flat=True))
    lost.update(heartbeat=timezone.now(), claim=None)
    for version_id in ids:
        enqueue_on_commit(BUILD_LEXICON, version_id=version_id)
    if ids:
        logger.warning("lexicon versions are built on: %s", ids)
    return len(ids)


# ── what it does ────────────────────────────────────────────────────────────────────────────────


def versions_unmeasured() -> list[LexiconVersion]:
    """Versions in use whose effect on golden cases is not known yet."""
    rows = LexiconVersion.objects.filter(state=State.LIVE, measured={}).exclude(entries=[])
    return list(rows.select_related("author", "knowledge_set").order_by("pk"))


def former_version(version: LexiconVersion) -> int | None:
    """The version of the same lexicon that was in use before; None for the first one."""
    rows = LexiconVersion.objects.filter(tenant_id=version.tenant_id, knowledge_set_id=version.knowledge_set_id)
    before = rows.filter(live_since__lt=version.live_since) if version.live_since else rows.exclude(live_since=None)
    found: int | None = before.exclude(pk=version.pk).order_by("-live_since").values_list("pk", flat=True).first()
    return found


def version_measured_set(*, version_id: int, measured: dict[str, Any]) -> None:
    """Keep what a version did for golden cases."""
    LexiconVersion.objects.filter(pk=version_id).update(measured=measured)

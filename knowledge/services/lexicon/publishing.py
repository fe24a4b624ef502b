"""Publishing a lexicon: whole terms into the index beside running searches, then the switch.

A version is published in two steps. First, passages that contain its names get one more term for each whole name,
batch by batch (`knowledge/jobs/build_lexicon.py`); passages that are processed meanwhile get them, too. Searches go on
with the version before: nothing that they ask for is taken away. Then, in one transaction, the version comes into use
and cached answers become stale. Where golden sets guard the knowledge set, the version is measured between the two
steps, and comes into use when it is published at the gate; until then it is still being built. What was in use before
is never held up.

Names that are no longer published stay in the index until their passages are processed again: no question asks for
them. So the way back is a switch, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import Max, QuerySet
from django.utils import timezone

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.lexicon_errors import LexiconTermError
from knowledge.models import KnowledgeSet, LexiconTerm, LexiconVersion
from knowledge.queue import BUILD_LEXICON, lexicon_version_subject
from knowledge.selectors.lexicon import lexicon_set_get, versions_managed
from knowledge.services.lexicon.terms import term_key
from knowledge.services.publish_gate import publish_gate
from work.services import work_start

State = LexiconVersion.State
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
    subject, arguments = lexicon_version_subject(version.pk), {"version_id": version.pk}
    work_start(kind=BUILD_LEXICON, tenant_id=tenant_id, author=actor, subject=subject, arguments=arguments)
    return version


def _approved(tenant_id: int, home: KnowledgeSet | None, **of: str) -> list[dict[str, Any]]:
    rows = LexiconTerm.objects.filter(tenant_id=tenant_id, knowledge_set=home, status=LexiconTerm.Status.APPROVED, **of)
    names = ("text", "language", "kind", "long_form", "synonyms", "translations", "clearance")
    return list(rows.order_by("key", "long_form").values(*names))


def _title(home: KnowledgeSet | None) -> str:
    return home.name if home is not None else "tenant"


# ── use ─────────────────────────────────────────────────────────────────────────────────────────


def lexicon_version_settle(*, version: LexiconVersion) -> None:
    """Bring a version into use whose names are indexed, unless it is measured first. Called in a transaction."""
    gate = publish_gate()
    if gate is not None and not _was_in_use(version):
        change = gate.hold_lexicon(version=version)
        if change is not None:
            LexiconVersion.objects.filter(pk=version.pk).update(measured={HELD: change})
            return
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
    same.filter(pk=version.pk).update(state=State.LIVE, live_since=now, measured={})
    sets = None if version.knowledge_set_id is None else [version.knowledge_set_id]
    epoch_advance(tenant_id=version.tenant_id, sets=sets)
    return True


def lexicon_version_building(*, version_id: int) -> LexiconVersion | None:
    """A version that is built, locked until the end of the transaction; None where it waits at the gate or is over."""
    rows = LexiconVersion.objects.filter(pk=version_id, state=State.BUILDING).exclude(measured__has_key=HELD)
    return rows.select_for_update(no_key=True).first()


def lexicon_version_follow(*, version_id: int, is_failed: bool, is_cancelled: bool) -> None:
    """A version whose job has failed or was cancelled is not built any more; one whose job goes on is built again,
    if it is the latest of its lexicon.
    """
    mine = LexiconVersion.objects.filter(pk=version_id)
    if is_failed or is_cancelled:
        state = State.FAILED if is_failed else State.RETIRED
        mine.filter(state=State.BUILDING).update(state=state, measured={})
        return
    version = mine.first()
    if version is None or version.state not in (State.FAILED, State.RETIRED) or version.live_since is not None:
        return
    latest = _versions(version.tenant_id, version.knowledge_set).order_by("-number").first()
    if latest is not None and latest.pk == version.pk:
        mine.update(state=State.BUILDING)


def lexicon_version_drop(*, version_id: int) -> None:
    """Give a version up that has not come into use."""
    LexiconVersion.objects.filter(pk=version_id, state=State.BUILDING).update(state=State.RETIRED, measured={})


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

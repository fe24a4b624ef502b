"""The lexicon: which terms a search uses, which the index holds, and which somebody may see and change.

A search uses the terms of the tenant and of the sets that it searches and the asker may read. The index holds whole
terms of every lexicon of the tenant: a document may come into another set without being indexed again, and a term that
no question asks for does nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from django.db.models import Q, QuerySet

from accounts.errors import MissingRightError, NotFoundError
from accounts.roles import administers
from accounts.scope import Scope
from knowledge import model_registry
from knowledge.indexes.corpus_epoch import EpochCache, epoch_now, epoch_of
from knowledge.indexes.visibility import Visible
from knowledge.models import KnowledgeSet, LexiconChange, LexiconTerm, LexiconVersion
from knowledge.options_draft import NO_DRAFT, OptionsDraft
from knowledge.queue import BUILD_LEXICON, MINE_TERMS, lexicon_subject, lexicon_version_subject
from knowledge.rights import LEXICON_CHANGE
from knowledge.selectors.sets import set_curated, sets_curated, sets_readable
from ragcore.text.lexicon import LexiconEntry, ReadEntry, TermLexicon
from work.models import Job

State = LexiconVersion.State
KEPT_LEXICONS = 16  # compiled, in one process; one of 20,000 terms takes about 30 MB
KEPT_VERSIONS = 64  # read, in one process

Versions = tuple[tuple[int | None, int], ...]  # (set or None, version)
_versions: EpochCache[Versions] = EpochCache()


# ── in use ──────────────────────────────────────────────────────────────────────────────────────


def lexicon_of_search(
    *, scope: Scope, visible: Visible, sets: Sequence[int] = (), draft: OptionsDraft = NO_DRAFT
) -> TermLexicon | None:
    """The published terms for one search; None where there are none.

    Terms from documents above the clearance of the asker are left out.
    """
    published = _in_force(scope.tenant_id, epoch_of(scope=scope, visible=visible), draft)
    readable = set(visible.readable) if visible.readable is not None else None
    return _lexicon_of(published, scope=scope, sets=sets, readable=readable)


def lexicon_of_person(*, scope: Scope, sets: Sequence[int] = (), draft: OptionsDraft = NO_DRAFT) -> TermLexicon | None:
    """The published terms of the tenant and of every set that somebody may read, or of those of `sets` among them."""
    published = _in_force(scope.tenant_id, epoch_now(tenant_id=scope.tenant_id), draft)
    return _lexicon_of(published, scope=scope, sets=sets)


def _lexicon_of(
    published: Versions,
    *,
    scope: Scope,
    sets: Sequence[int],
    readable: set[int] | None = None,
) -> TermLexicon | None:
    """Those of the versions that a question to these sets, or to all, is read with; `readable`: where it is known."""
    if not published:
        return None
    if readable is None:
        readable = set(sets_readable(scope=scope).order_by().values_list("pk", flat=True))
    set_ids = readable & set(sets) if sets else readable
    version_ids = tuple(version for set_id, version in published if set_id is None or set_id in set_ids)
    return _compiled(version_ids, scope.shared_clearance) if version_ids else None


def lexicon_of_index(*, tenant_id: int) -> TermLexicon | None:
    """Every term that passages of a tenant are indexed with: published, or about to be."""
    rows = LexiconVersion.objects.filter(tenant_id=tenant_id, state__in=(State.LIVE, State.BUILDING)).order_by("pk")
    versions = tuple(rows.values_list("pk", flat=True))
    return _compiled(versions, None) if versions else None


def lexicon_of_version(version: LexiconVersion) -> TermLexicon:
    """The terms of one version, whoever may see them."""
    return _compiled((version.pk,), None)


def _in_force(tenant_id: int, epoch: int, draft: OptionsDraft) -> Versions:
    """The published versions, with those that are tried in the place of theirs."""
    published, tried = _published(tenant_id, epoch), draft.lexicons
    if not tried:
        return published
    others_published = [pair for pair in published if pair[0] not in tried]
    return (*others_published, *((set_id, version) for set_id, version in tried.items() if version is not None))


def _published(tenant_id: int, epoch: int) -> Versions:
    """Publishing a version, and taking one back, advances the epoch."""
    return _versions.get((tenant_id,), epoch=epoch, make=lambda: _live_versions(tenant_id))


def _live_versions(tenant_id: int) -> Versions:
    rows = LexiconVersion.objects.filter(tenant_id=tenant_id, state=State.LIVE).exclude(entries=[])
    return tuple(rows.order_by("pk").values_list("knowledge_set_id", "pk"))


@lru_cache(maxsize=KEPT_LEXICONS)
def _compiled(versions: tuple[int, ...], clearance: int | None) -> TermLexicon:
    """The terms of versions, which never change, up to a clearance."""
    entries = (entry for version in sorted(versions) for entry in _read(version))
    visible = (entry for least, entry in entries if clearance is None or least <= clearance)
    return TermLexicon.of_read(visible, model_registry.tokenizer())


@lru_cache(maxsize=KEPT_VERSIONS)
def _read(version: int) -> tuple[tuple[int, ReadEntry], ...]:
    """(clearance, entry) of a version with its names read, for all combinations of sets that it is searched in."""
    stored = LexiconVersion.objects.values_list("entries", flat=True).get(pk=version)
    tokenizer = model_registry.tokenizer()
    return tuple((entry.get("clearance", 0), ReadEntry.of(entry_of(entry), tokenizer)) for entry in stored)


def entry_of(stored: Mapping[str, Any]) -> LexiconEntry:
    """An entry of a version."""
    return LexiconEntry(
        text=stored["text"],
        language=stored.get("language", "other"),
        kind=stored.get("kind", "term"),
        long_form=stored.get("long_form", ""),
        synonyms=tuple(stored.get("synonyms", ())),
        translations=tuple(stored.get("translations", ())),
    )


# ── to see and change ───────────────────────────────────────────────────────────────────────────


def lexicon_set_get(*, scope: Scope, set_id: int | None) -> KnowledgeSet | None:
    """The set whose lexicon the asker may change; None stands for the tenant's lexicon.

    Raises NotFoundError, NotAllowedError, MissingRightError.
    """
    if set_id is not None:
        return set_curated(scope=scope, set_id=set_id)
    if not administers(scope=scope, doing=LEXICON_CHANGE):
        raise MissingRightError("change_lexicon")
    return None


def lexicon_condition(*, scope: Scope) -> Q:
    """Rows of lexicons that the asker may change."""
    condition = Q(knowledge_set__in=sets_curated(scope=scope).order_by().values("pk"))
    if administers(scope=scope, doing=LEXICON_CHANGE):
        condition |= Q(knowledge_set=None, tenant_id=scope.tenant_id)
    return condition


def terms_managed(*, scope: Scope) -> QuerySet[LexiconTerm]:
    """Terms that the asker may see and change: of the own lexicons, from documents up to the own clearance."""
    rows = LexiconTerm.objects.filter(lexicon_condition(scope=scope), clearance__lte=scope.clearance)
    return rows.select_related("knowledge_set")


def terms_of(*, scope: Scope, knowledge_set: KnowledgeSet | None) -> QuerySet[LexiconTerm]:
    """The terms of one lexicon."""
    rows = terms_managed(scope=scope)
    if knowledge_set is not None:
        return rows.filter(knowledge_set=knowledge_set)
    return rows.filter(knowledge_set=None, tenant_id=scope.tenant_id)


def term_get(*, scope: Scope, term_id: int) -> LexiconTerm:
    """A term that the asker may change. Raises NotFoundError."""
    term = terms_managed(scope=scope).filter(pk=term_id).first()
    if term is None:
        raise NotFoundError("lexicon_term", term=term_id)
    return term


def changes_managed(*, scope: Scope, knowledge_set: KnowledgeSet | None) -> QuerySet[LexiconChange]:
    """Changes of one lexicon, the latest first; of terms that the asker may see."""
    rows = LexiconChange.objects.filter(lexicon_condition(scope=scope), knowledge_set=knowledge_set)
    if knowledge_set is None:
        rows = rows.filter(tenant_id=scope.tenant_id)
    return rows.exclude(changes_above(scope=scope)).select_related("author")


def changes_above(*, scope: Scope) -> Q:
    """Condition on changes: of terms that the asker may not see."""
    return Q(after__clearance__gt=scope.clearance) | Q(before__clearance__gt=scope.clearance)


def versions_managed(*, scope: Scope, knowledge_set: KnowledgeSet | None) -> QuerySet[LexiconVersion]:
    """Versions of one lexicon, the latest first."""
    rows = LexiconVersion.objects.filter(lexicon_condition(scope=scope), knowledge_set=knowledge_set)
    if knowledge_set is None:
        rows = rows.filter(tenant_id=scope.tenant_id)
    return rows.select_related("author").defer("entries")


def minings_managed(*, scope: Scope, knowledge_set: KnowledgeSet | None) -> QuerySet[Job]:
    """Searches for terms in one set, or in all documents of the tenant, the latest first."""
    if knowledge_set is None:
        is_managed, tenant_id = administers(scope=scope, doing=LEXICON_CHANGE), scope.tenant_id
    else:
        is_managed = sets_curated(scope=scope).filter(pk=knowledge_set.pk).exists()
        tenant_id = knowledge_set.tenant_id
    subject = lexicon_subject(knowledge_set.pk if knowledge_set is not None else None)
    rows = Job.objects.filter(kind=MINE_TERMS, tenant_id=tenant_id, subject=subject)
    return rows if is_managed else rows.none()


def mining_managed(*, scope: Scope, mining_id: int) -> Job | None:
    """A search for terms of a lexicon that the asker may change."""
    job = Job.objects.filter(kind=MINE_TERMS, pk=mining_id).first()
    if job is None:
        return None
    set_id = job.arguments["set_id"]
    home = KnowledgeSet.objects.filter(pk=set_id).first() if set_id is not None else None
    return minings_managed(scope=scope, knowledge_set=home).filter(pk=mining_id).first()


def build_of(*, scope: Scope, version: LexiconVersion) -> Job | None:
    """The job that builds, or has built, a version of a lexicon that the asker may change."""
    if not versions_managed(scope=scope, knowledge_set=version.knowledge_set).filter(pk=version.pk).exists():
        return None
    subject = lexicon_version_subject(version.pk)
    return Job.objects.filter(kind=BUILD_LEXICON, tenant_id=version.tenant_id, subject=subject).first()

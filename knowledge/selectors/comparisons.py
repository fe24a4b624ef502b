"""Compare texts: versions of a document, and pairs of near-duplicate documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from django.db.models import Q, QuerySet

from accounts.errors import NotFoundError
from accounts.scope import Scope
from knowledge.models import DocumentVersion, DuplicatePair
from knowledge.selectors.documents import document_get
from knowledge.selectors.keeping import documents_openable, versions_listed
from knowledge.selectors.sets import sets_curated
from ragcore.text.sentences import split_sentences

# ── versions of a document ────────────────────────────────────────────────────────────────────────


CONTEXT_LINES = 2
MAX_PARTS = 4000  # of a version; beyond it paragraphs are compared whole

Change = Literal["same", "removed", "added", "skipped"]


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A piece of text with what happened to it; "skipped" stands for `count` pieces that stayed."""

    change: Change
    text: str = ""
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionDiff:
    """What changed from one version to another."""

    old: DocumentVersion
    new: DocumentVersion
    lines: tuple[DiffLine, ...]
    added: int
    removed: int


def version_diff(*, scope: Scope, document_id: int, old: int, new: int) -> VersionDiff:
    """Two versions by number, sentence by sentence, for keepers of the document. Raises NotFoundError."""
    document = document_get(scope=scope, document_id=document_id)
    listed = versions_listed(scope=scope, document=document).defer(None)
    by_number = {version.number: version for version in listed.filter(number__in=(old, new))}
    if not {old, new} <= set(by_number):
        raise NotFoundError("version", document=document_id)
    lines = tuple(texts_diff(by_number[old].markdown, by_number[new].markdown))
    return VersionDiff(
        old=by_number[old],
        new=by_number[new],
        lines=lines,
        added=sum(line.change == "added" for line in lines),
        removed=sum(line.change == "removed" for line in lines),
    )


def texts_diff(old: str, new: str) -> Iterator[DiffLine]:
    """Sentences that stayed, went or came, in reading order; long stretches that stayed are skipped."""
    before, after = _parts(old), _parts(new)
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from _unchanged(before[i1:i2], is_first=i1 == 0, is_last=i2 == len(before))
        else:
            yield from (DiffLine("removed", text) for text in before[i1:i2])
            yield from (DiffLine("added", text) for text in after[j1:j2])


def _parts(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > MAX_PARTS:
        return [part for part in text.split("\n\n") if part.strip()]
    return [part.strip() for line in lines for part in split_sentences(line) if part.strip()]


def _unchanged(parts: list[str], *, is_first: bool, is_last: bool) -> Iterator[DiffLine]:
    head = [] if is_first else parts[:CONTEXT_LINES]
    rest = parts[len(head) :]
    tail = [] if is_last else rest[-CONTEXT_LINES:]
    skipped = len(rest) - len(tail)
    yield from (DiffLine("same", text) for text in head)
    if skipped:
        yield DiffLine("skipped", count=skipped)
    yield from (DiffLine("same", text) for text in tail)


# ── near-duplicates ───────────────────────────────────────────────────────────────────────────────


def pairs_of(*, scope: Scope, set_id: int | None = None) -> QuerySet[DuplicatePair]:
    """Open pairs of documents that the asker may both open, at least one in a set that the asker keeps.

    Most alike first; without those that the asker has dismissed.
    """
    readable = documents_openable(scope=scope).order_by().values("pk")
    sets = sets_curated(scope=scope)
    if set_id is not None:
        sets = sets.filter(pk=set_id)
    ids = list(sets.order_by().values_list("pk", flat=True))
    pairs = DuplicatePair.objects.exclude(dismissed_by=scope.user_id).filter(
        Q(first__sets__in=ids) | Q(second__sets__in=ids),
        first__in=readable,
        second__in=readable,
        state=DuplicatePair.State.OPEN,
    )
    return pairs.select_related("first__live_version", "second__live_version").distinct().order_by("-similarity", "-pk")


def pair_get(*, scope: Scope, pair_id: int) -> DuplicatePair:
    """An open pair that the asker may decide about. Raises NotFoundError."""
    pair = pairs_of(scope=scope).filter(pk=pair_id).first()
    if pair is None:
        raise NotFoundError("pair", pair=pair_id)
    return pair

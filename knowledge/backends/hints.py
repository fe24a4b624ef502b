"""What the stages may ask about words, titles and facts; kept in Postgres, whatever searches the vectors.

What optional stages ask runs in a savepoint: a statement that fails must not fail those that follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction

from accounts.scope import Scope
from knowledge.indexes.fuzzy import characters_between, terms_alike, terms_unseen, titles_near
from knowledge.indexes.visibility import Visible
from knowledge.indexes.visible_passages import facts_load, heads_load
from knowledge.selectors import sets_readable
from ragcore.types import DocumentFacts, Hit


@dataclass(frozen=True, slots=True)
class ScopedFuzzyIndex:
    """FuzzyIndex of one asker."""

    scope: Scope
    visible: Visible

    @transaction.atomic
    def unseen(self, words: Sequence[str]) -> set[str]:
        return terms_unseen(scope=self.scope, visible=self.visible, words=words)

    @transaction.atomic
    def alike(self, words: Sequence[str], *, limit: int) -> dict[str, dict[str, float]]:
        return terms_alike(scope=self.scope, visible=self.visible, words=words, limit=limit)

    @transaction.atomic
    def between(self, pairs: Sequence[str], *, before: str, after: str, limit: int) -> dict[str, int]:
        return characters_between(
            scope=self.scope, visible=self.visible, pairs=pairs, before=before, after=after, limit=limit
        )

    @transaction.atomic
    def titles(self, text: str, *, least: float) -> list[Hit]:
        return titles_near(scope=self.scope, visible=self.visible, text=text, least=least)


@dataclass(frozen=True, slots=True)
class ScopedFactsIndex:
    """FactsIndex of one asker; of the sets of a document those count that the asker may read."""

    scope: Scope
    visible: Visible
    within: Scope | None = None  # and a second person, too

    @transaction.atomic
    def documents(self, documents: Sequence[int]) -> dict[int, DocumentFacts]:
        rows = sets_readable(scope=self.scope)
        if self.within is not None:
            rows = rows.filter(pk__in=sets_readable(scope=self.within).order_by().values("pk"))
        readable = list(rows.order_by().values_list("pk", flat=True))
        return facts_load(scope=self.scope, visible=self.visible, readable=readable, documents=documents)

    def heads(self, chunks: Sequence[int]) -> dict[int, str]:
        return heads_load(scope=self.scope, visible=self.visible, chunks=chunks)

"""What a request may see: the required argument of every search."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The rights of one asker. Built by `accounts.selectors.scope_for`, never from request data.

    `limited_by`: what is read and searched must be allowed to a second person, too. Managing is not limited.
    """

    tenant_id: int
    user_id: int
    clearance: int  # 0 to 4; documents above it do not exist for this asker
    group_ids: frozenset[int] = frozenset()
    administers: Literal["nothing", "tenant", "everything"] = "nothing"  # managing only; asking never crosses tenants
    limited_by: Scope | None = None
    only_sets: frozenset[int] | None = None  # ids; what is in none of these sets does not exist for the asker
    embed: int | None = None  # asks in the chat of another page: only the conversations that began there are seen

    def within(self, *, sets: frozenset[int], embed: int) -> Scope:
        """The rights of this asker in a chat on another page: to ask in these sets, and to manage nothing."""
        return replace(self, administers="nothing", only_sets=sets, embed=embed)

    def limited_to(self, other: Scope) -> Scope:
        """The rights that both share; unchanged where both are the same person."""
        return self if other.user_id == self.user_id else replace(self, limited_by=other)

    @property
    def persons(self) -> tuple[Scope, ...]:
        """The rights of the asker alone and, where there is one, of the second person alone."""
        return (self,) if self.limited_by is None else (replace(self, limited_by=None), self.limited_by)

    @property
    def shared_clearance(self) -> int:
        """The highest clearance of documents that all of them may read."""
        return min(person.clearance for person in self.persons)

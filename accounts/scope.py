"""What a request may see: the required argument of every search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The rights of one asker. Built by `accounts.selectors.scope_for`, never from request data."""

    tenant_id: int
    user_id: int
    clearance: int  # 0 to 4; documents above it do not exist for this asker
    group_ids: frozenset[int] = frozenset()
    administers: Literal["nothing", "tenant", "everything"] = "nothing"  # managing only; asking never crosses tenants

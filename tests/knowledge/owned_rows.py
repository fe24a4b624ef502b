"""Rows of one owner and their set, made once for many tests of a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from accounts.models import User
from knowledge.models import KnowledgeSet
from tests.factories import make_admin, make_set


def owned(make: Callable[[User, KnowledgeSet], Any]) -> Callable[[], tuple[User, KnowledgeSet, Any]]:
    """For the mark `starts_from`: an owner, their set `common`, and what `make(owner, common)` makes.

    A test that has the fixture `kept_rows` gets these as `owner`, `common` and `kept_rows[2]`.
    """

    def rows_make() -> tuple[User, KnowledgeSet, Any]:
        owner = make_admin()
        common = make_set("common", owners=[owner])
        return owner, common, make(owner, common)

    return rows_make

"""Count what filters leave to be searched, and explain why they leave nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import OperationalError

from accounts.scope import Scope
from knowledge.errors import RetrievalUnavailableError, UnmatchedFilterError
from knowledge.indexes.search_space import passages_visible
from knowledge.indexes.statements import statement_timeout
from knowledge.indexes.visibility import visible_sql
from knowledge.models import Document
from knowledge.selectors import corpus_epoch, documents_askable
from knowledge.selectors.filters import FilterChoices, filter_choices, filters_check, filters_unheard
from knowledge.types import Filters, FilterWarning

STATEMENT_SECONDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterCount:
    """Number of documents and passages that sets and filters leave to be searched."""

    documents: int
    passages: int
    warnings: tuple[FilterWarning, ...] = ()


def filters_count(*, scope: Scope, sets: Sequence[int], filters: Filters) -> FilterCount:
    """Count live documents and passages within the asker's rights.

    Raises UnknownFilterError, InvalidFilterError, RetrievalUnavailableError.
    """
    filters_check(scope=scope, filters=filters)
    try:
        with statement_timeout(seconds=STATEMENT_SECONDS):
            documents_found = documents_askable(scope=scope, sets=sets, filters=filters)
            passages = passages_visible(
                scope=scope, visible=visible_sql(documents_found), epoch=corpus_epoch(scope=scope)
            )
            warnings = filters_explained(scope=scope, filters=filters, searched=passages)
            documents = documents_found.filter(state=Document.State.LIVE).count()
    except OperationalError as error:
        raise RetrievalUnavailableError from error
    return FilterCount(documents=documents, passages=passages, warnings=warnings)


def filters_offered(*, scope: Scope, words: str = "") -> FilterChoices:
    """`filter_choices` with a time limit. Raises RetrievalUnavailableError."""
    try:
        with statement_timeout(seconds=STATEMENT_SECONDS):
            return filter_choices(scope=scope, words=words)
    except OperationalError as error:
        raise RetrievalUnavailableError from error


def filters_explained(*, scope: Scope, filters: Filters, searched: int) -> tuple[FilterWarning, ...]:
    """Reasons why filters left nothing to search; empty if they left something, or there are none.

    Within what the asker may see: a name that only hidden documents contain counts as unknown.
    """
    if searched or not filters:
        return ()
    attributes, tags = filters_unheard(scope=scope, filters=filters)
    unknown_attributes = [
        _warning(f"filters.metadata.{name}", UnmatchedFilterError("unknown_attribute", name=name))
        for name in attributes
    ]
    tagged = [_warning("filters.tags", UnmatchedFilterError("unknown_tag", name=tag)) for tag in tags]
    return (_warning("filters", UnmatchedFilterError("no_match")), *unknown_attributes, *tagged)


def _warning(field: str, error: UnmatchedFilterError) -> FilterWarning:
    return FilterWarning(code=error.reason, field=field, message=error.message, data=error.message_data())

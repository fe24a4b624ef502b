"""Narrows a question to the documents beside another one, where it asks for these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from accounts.scope import Scope
from chat.types import AnswerRequest
from knowledge.selectors.relations import documents_beside, documents_with_relations
from ragcore.understanding.related_documents import related_wish

MOST_BASES = 3  # documents that "this design" or a name may mean
_KINDS: Mapping[str, tuple[str, ...]] = {  # role -> how such documents are related, as seen from the other one
    "test": ("tested_by",),
    "design": ("designed_in", "develops", "tests"),
    "development": ("developed_by", "tests"),
    "supplement": ("extended_by",),
    "older": ("replaces",),
}


def narrowed_request(*, scope: Scope, request: AnswerRequest, cited_before: tuple[int, ...]) -> AnswerRequest:
    """The request, limited to the documents that it asks for beside those of the answer before or a named one.

    As it is where it asks for none, or where the asker may open none of them.
    """
    wish = related_wish(request.query)
    if wish is None or request.filters.documents or request.filters.related_to is not None:
        return request
    kinds = _KINDS[wish.role]
    bases = documents_with_relations(scope=scope, name=wish.name) if wish.name else cited_before
    near = documents_beside(scope=scope, document_ids=bases[:MOST_BASES], kinds=kinds)
    if not near:
        return request
    return replace(request, filters=replace(request.filters, documents=near))

"""`/api/v1/rag/filters`: what a search can be narrowed by, and how much a choice leaves (V3, D13)."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Query

from chat.api.auth import caller_of
from chat.api.rag import rag_router
from chat.api.responses import FilterCountOut, FiltersOut, described
from chat.api.schemas import FilterCountIn, FilterQuery
from chat.executors import run_db
from chat.serializers import serialize_warnings
from knowledge.selectors.filters import FilterChoices
from knowledge.services.filters import filters_count, filters_offered
from knowledge.types import Facet


@rag_router.get("/filters", summary="What a search can be narrowed by", openapi_extra=described(FiltersOut))
async def filters(request: HttpRequest, query: Query[FilterQuery]) -> dict[str, Any]:
    """Sets by axis, tags and attributes of the documents that you may search, with the number of documents of each.

    The fifty most frequent of each, tags and attributes in the newest 50,000 documents; `more` says how many there are
    besides. `q`: only those that hold these words.
    """
    choices = await run_db(filters_offered, scope=caller_of(request).scope, words=query.q.strip())
    return choices_present(choices)


@rag_router.post("/filters/count", summary="How much a filter leaves", openapi_extra=described(FilterCountOut))
async def count(request: HttpRequest, body: FilterCountIn) -> dict[str, Any]:
    """Documents and passages that a search with these sets and filters goes through; `warnings` where it is none."""
    found = await run_db(
        filters_count, scope=caller_of(request).scope, sets=tuple(body.sets), filters=body.filters.value()
    )
    return {
        "documents": found.documents,
        "passages": found.passages,
        "warnings": serialize_warnings(found.warnings),
    }


def choices_present(choices: FilterChoices) -> dict[str, Any]:
    """The response of `filters`. `kind` of an attribute: number and day can be asked for by range."""
    return {
        "axes": [
            {
                "axis": axis.axis,
                "name": axis.name,
                "sets": [
                    {"id": one.id, "code": one.code, "name": one.name, "documents": one.documents} for one in axis.sets
                ],
                "more": axis.more,
            }
            for axis in choices.axes
        ],
        "tags": _values(choices.tags),
        "attributes": {
            "values": [
                {
                    "code": one.name,
                    "name": choices.names.get(one.name, one.name),
                    "kind": one.kind,
                    "documents": one.documents,
                    **_values(one.values),
                }
                for one in choices.attributes.attributes
            ],
            "more": choices.attributes.more,
        },
        "counted": {"documents": choices.counted, "newest_only": choices.is_sample},
    }


def _values(facet: Facet) -> dict[str, Any]:
    return {
        "values": [{"value": one.value, "documents": one.documents} for one in facet.values],
        "more": facet.more,
    }

"""What a search can be narrowed by, within the asker's rights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.postgres.aggregates import BoolOr
from django.db.models import Q
from django.utils.translation import get_language

from accounts.scope import Scope
from knowledge.errors import UnknownFilterError
from knowledge.filtering import MAX_VALUE_CHARACTERS
from knowledge.indexes.document_attributes import (
    FacetQuery,
    attributes_count,
    documents_count,
    facet_query,
    sets_count,
    tags_count,
)
from knowledge.indexes.visibility import visible_sql
from knowledge.models import Attribute, KnowledgeSet
from knowledge.selectors.documents import corpus_epoch, documents_askable
from knowledge.selectors.sets import sets_listed, sets_readable
from knowledge.types import AttributeFacets, Facet, Filters

COUNTED = 50_000  # documents; of more, the newest stand for all, and that is told
SHOWN = 50  # of everything, by the number of documents; how many more there are is told


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFacet:
    """A readable set with its live documents that the asker may search."""

    id: int
    code: str
    name: str
    documents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisFacet:
    """The sets of an axis, those with the most documents first."""

    axis: str
    name: str
    sets: Sequence[SetFacet]
    more: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterChoices:
    """Everything that occurs in documents that the asker may search. `names`: of attributes, in words."""

    axes: Sequence[AxisFacet]
    tags: Facet
    attributes: AttributeFacets
    names: dict[str, str]
    counted: int  # documents in which tags and attributes were counted
    is_sample: bool  # whether these were only the newest


def filter_choices(*, scope: Scope, words: str = "") -> FilterChoices:
    """Sets, tags and values of attributes that hold `words`, each with the number of documents.

    At most SHOWN of each, by number; tags and attributes of the newest COUNTED documents. The same rights, corpus epoch
    and words are answered from memory.
    """
    question = facet_query(
        scope=scope,
        visible=visible_sql(documents_askable(scope=scope)),
        epoch=corpus_epoch(scope=scope),
        words=words,
        limit=SHOWN,
        longest=MAX_VALUE_CHARACTERS,
        newest=COUNTED,
    )
    counted = documents_count(question)
    return FilterChoices(
        axes=_axes(scope, question),
        tags=tags_count(question),
        attributes=attributes_count(question),
        names=attribute_names(scope=scope),
        counted=counted,
        is_sample=counted >= COUNTED,
    )


def attribute_names(*, scope: Scope) -> dict[str, str]:
    """Code → name in the reader's language, of the attributes that the tenant has given names."""
    is_chinese = (get_language() or "").startswith("zh")
    rows = Attribute.objects.filter(tenant=scope.tenant_id).values_list("code", "name", "name_zh")
    return {code: name_zh if is_chinese and name_zh else name for code, name, name_zh in rows}


def filters_check(*, scope: Scope, filters: Filters) -> None:
    """Raises UnknownFilterError for a code that no set of the tenant has on that axis.

    That a set exists is no secret: a closed one is not refused, it only holds nothing for the asker.
    """
    for field, axis, codes in (
        ("capability", KnowledgeSet.Axis.CAPABILITY, filters.capability),
        ("organisation", KnowledgeSet.Axis.ORGANISATION, filters.organisation),
    ):
        if codes and (unknown := set(codes) - _codes(scope, axis, codes)):
            code = min(unknown)
            raise UnknownFilterError("code", field=f"filters.{field}", code=code)


def filters_known(*, scope: Scope, filters: Filters) -> Filters:
    """The filters without codes of sets that are gone; for filters that were kept for later."""
    return Filters(
        axis=filters.axis,
        capability=_left(scope, KnowledgeSet.Axis.CAPABILITY, filters.capability),
        organisation=_left(scope, KnowledgeSet.Axis.ORGANISATION, filters.organisation),
        tags=filters.tags,
        metadata=filters.metadata,
        documents=_left_documents(scope, filters.documents),
    )


def document_names(*, scope: Scope, ids: Sequence[int]) -> dict[str, str]:
    """Id, as text, → title, of the documents that a search of the asker may touch."""
    if not ids:
        return {}
    rows = documents_askable(scope=scope).filter(pk__in=ids).values_list("pk", "title")
    return {str(number): title for number, title in rows}


def filters_unheard(*, scope: Scope, filters: Filters) -> tuple[list[str], list[str]]:
    """Attributes, and tags, of the filters that no document has which the asker may search; one pass over these."""
    attributes, tags = list(filters.metadata), list(filters.tags)
    aggregates = {f"a{i}": BoolOr(Q(metadata__has_key=name)) for i, name in enumerate(attributes)}
    aggregates |= {f"t{i}": BoolOr(Q(tags__contains=[tag])) for i, tag in enumerate(tags)}
    present = documents_askable(scope=scope).aggregate(**aggregates)
    return (
        [name for i, name in enumerate(attributes) if not present[f"a{i}"]],
        [tag for i, tag in enumerate(tags) if not present[f"t{i}"]],
    )


def _codes(scope: Scope, axis: str, codes: Sequence[str]) -> set[str]:
    sets = sets_listed(scope=scope).filter(Q(tenant_id=scope.tenant_id), axis=axis, code__in=codes)
    return set(sets.values_list("code", flat=True))


def _left_documents(scope: Scope, ids: Sequence[int]) -> tuple[int, ...]:
    names = document_names(scope=scope, ids=ids)
    return tuple(number for number in ids if str(number) in names)


def _left(scope: Scope, axis: str, codes: Sequence[str]) -> tuple[str, ...]:
    present = _codes(scope, axis, codes) if codes else set()
    return tuple(code for code in codes if code in present)


def _axes(scope: Scope, question: FacetQuery) -> list[AxisFacet]:
    rows = [row for row in sets_readable(scope=scope) if question.words in f"{row.name} {row.name_zh}".lower()]
    counted = sets_count(question, tuple(sorted(row.pk for row in rows)))
    facets = []
    for axis in KnowledgeSet.Axis:
        sets = [
            SetFacet(id=row.pk, code=row.code, name=row.shown_name, documents=counted[row.pk])
            for row in rows
            if row.axis == axis and row.pk in counted
        ]
        sets.sort(key=lambda item: (-item.documents, item.name))
        if sets:
            more = max(0, len(sets) - SHOWN)
            facets.append(AxisFacet(axis=axis.value, name=str(axis.label), sets=sets[:SHOWN], more=more))
    return facets

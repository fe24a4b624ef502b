"""Which sets have their documents read for facts, and which versions are to be read (U8)."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from knowledge.models import Document, FactReading, KnowledgeSet, SiteOptions
from ragcore.graph.extraction import RULES_VERSION
from ragcore.options import FactOptions, resolve

GROUP = "facts"


def sets_read_for_facts() -> list[int]:
    """Sets of all tenants whose documents are read, by id."""
    sites = dict(SiteOptions.objects.values_list("tenant_id", "options"))
    rows = KnowledgeSet.objects.order_by("pk").values_list("pk", "tenant_id", "options")
    return [
        pk
        for pk, tenant, own in rows
        if resolve(
            FactOptions, ("site", sites.get(tenant, {}).get(GROUP, {})), ("set", own.get(GROUP, {}))
        ).value.extract
    ]


def documents_to_read(*, sets: list[int]) -> QuerySet[Document]:
    """Searchable documents of these sets whose live version has not been read by the present rules for one of them."""
    read = FactReading.objects.filter(version=OuterRef("live_version"), rules=RULES_VERSION, knowledge_set__in=sets)
    inside = Document.sets.through.objects.filter(document_id=OuterRef("pk"), knowledgeset_id__in=sets)
    rows = Document.objects.filter(Exists(inside), ~Exists(read), deleted=None).exclude(live_version=None)
    return rows.select_related("live_version").order_by("pk")

"""Which sets have their documents read for facts or entities, and which versions are to be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from knowledge.models import Document, EntityReading, FactReading, KnowledgeSet, SiteOptions
from ragcore.graph.extraction import RULES_VERSION
from ragcore.graph.model_extraction import MODEL_RULES
from ragcore.options import FactOptions, resolve

GROUP = "facts"
RETRY_PAUSE = timedelta(minutes=10)  # until the model is asked again about a passage that it did not answer for


def sets_read_for_facts() -> list[int]:
    """Sets of all tenants whose documents are read for facts, by id."""
    return [pk for pk, _tenant, options in _sets() if options.reading != "off"]


def sets_of_equal_confidence() -> list[int]:
    """Sets whose facts all count the same, whichever rule read them, by id."""
    return [pk for pk, _tenant, options in _sets() if options.confidence == "equal"]


def fact_rules(*, is_equal: bool) -> str:
    """How a reading by the present rules is called; a set that weighs facts otherwise has its documents read again."""
    return f"{RULES_VERSION} equal" if is_equal else RULES_VERSION


def sets_read_for_entities() -> dict[int, list[int]]:
    """Sets whose documents are read for entities, by id, for each tenant."""
    by_tenant: dict[int, list[int]] = {}
    for pk, tenant, options in _sets():
        if options.entities:
            by_tenant.setdefault(tenant, []).append(pk)
    return by_tenant


def _sets() -> Iterator[tuple[int, int, FactOptions]]:
    """Every set with its tenant and its options, by id."""
    sites = dict(SiteOptions.objects.values_list("tenant_id", "options"))
    rows = KnowledgeSet.objects.order_by("pk").values_list("pk", "tenant_id", "options")
    for pk, tenant, of_set in rows:
        layers = ("site", sites.get(tenant, {}).get(GROUP, {})), ("set", of_set.get(GROUP, {}))
        yield pk, tenant, resolve(FactOptions, *layers).value


def sets_read_by_model(*, sets: list[int]) -> list[int]:
    """Those of the sets that let a language model read, too."""
    return [pk for pk, _tenant, options in _sets() if pk in sets and options.reading == "model"]


def readings_to_ask(*, sets: Sequence[int]) -> QuerySet[FactReading]:
    """Live versions that the rules have read and the model has not read to the end, of sets that let it.

    Those for which the model did not answer come last, and rest for RETRY_PAUSE where it answered for others.
    """
    rows = FactReading.objects.filter(
        knowledge_set__in=sets,
        rules__in=[fact_rules(is_equal=is_equal) for is_equal in (False, True)],
        version=F("version__document__live_version"),
    )
    rows = rows.filter(version__document__deleted=None).exclude(model=MODEL_RULES)
    rows = rows.filter(Q(tries=0) | Q(tried__lt=timezone.now() - RETRY_PAUSE))
    return rows.select_related("version__document").order_by("tries", F("tried").asc(nulls_first=True), "pk")


def documents_to_read(*, sets: list[int], equal: Sequence[int] = ()) -> QuerySet[Document]:
    """Searchable documents of these sets whose live version has not been read by the present rules for one of them.

    `equal`: `sets_of_equal_confidence`.
    """
    of_rules = Q(rules=fact_rules(is_equal=False)) & ~Q(knowledge_set__in=equal)
    of_equal = Q(rules=fact_rules(is_equal=True), knowledge_set__in=equal)
    read = FactReading.objects.filter(of_rules | of_equal, version=OuterRef("live_version"), knowledge_set__in=sets)
    inside = Document.sets.through.objects.filter(document_id=OuterRef("pk"), knowledgeset_id__in=sets)
    rows = Document.objects.filter(Exists(inside), ~Exists(read), deleted=None).exclude(live_version=None)
    return rows.select_related("live_version").order_by("pk")


def documents_without_entities(*, tenant_id: int, sets: Sequence[int], rules: str, limit: int) -> list[Document]:
    """The next searchable documents of these sets whose live version has not been read by these rules."""
    read = EntityReading.objects.filter(version=OuterRef("live_version"), rules=rules)
    inside = Document.sets.through.objects.filter(document_id=OuterRef("pk"), knowledgeset_id__in=sets)
    rows = Document.objects.filter(Exists(inside), ~Exists(read), tenant_id=tenant_id, deleted=None)
    read_fields = ("pk", "tenant_id", "title", "metadata", "live_version")
    return list(rows.exclude(live_version=None).order_by("pk").only(*read_fields)[:limit])

"""What one person sees of a tenant and may do in it, as values that can be compared."""

from __future__ import annotations

from typing import Any

from accounts.models import User
from knowledge.models import KnowledgeSet
from knowledge.selectors.comparisons import pairs_of
from knowledge.selectors.documents import documents_askable, documents_readable
from knowledge.selectors.jobs import jobs_readable
from knowledge.selectors.keeping import documents_kept, documents_openable
from knowledge.selectors.sets import sets_managed, sets_readable, sources_managed
from tests.factories import scope_of

COLUMNS = ("title", "external_id", "sha256", "clearance", "state", "tags", "metadata", "weight", "live_version_id")


def documents_seen(person: User) -> dict[int, dict[str, Any]]:
    """By id what a person sees of each document and may do with it."""
    scope = scope_of(person)
    rights = {
        name: set(rows(scope=scope).order_by().values_list("pk", flat=True))
        for name, rows in (("asks", documents_askable), ("opens", documents_openable), ("keeps", documents_kept))
    }
    rows = documents_readable(scope=scope).prefetch_related("versions")
    return {
        row.pk: {
            **{name: getattr(row, name) for name in COLUMNS},
            **{name: row.pk in ids for name, ids in rights.items()},
            "versions": sorted((v.number, v.sha256, v.withdrawn is None) for v in row.versions.all()),
        }
        for row in rows
    }


def rest_seen(person: User) -> dict[str, Any]:
    """Sets, sources, jobs and near-duplicates of a person."""
    scope = scope_of(person)
    managed, readable = sets_managed(scope=scope), sets_readable(scope=scope)
    columns = ("pk", "name", "visibility", "originals", "options")
    jobs = jobs_readable(scope=scope)
    return {
        "sets": list(KnowledgeSet.objects.filter(pk__in=managed).order_by("pk").values_list(*columns)),
        "reads": set(readable.values_list("pk", flat=True)),
        "sources": list(sources_managed(scope=scope).order_by("pk").values_list("pk", "name", "options")),
        "jobs": list(jobs.order_by("pk").values_list("pk", "paused", "cancelled")),
        "pairs": {(pair.first_id, pair.second_id) for pair in pairs_of(scope=scope)},
    }

"""A public set made searchable in the product, in a tenant of its own, as every peer gets an index of its own."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

from accounts.models import User
from accounts.selectors import scope_for
from accounts.services import user_create
from bench.peers.sets import PublicSet
from knowledge.models import IngestItem
from knowledge.services import documents_bulk, indexes_refresh, ingestion_advance
from knowledge.services.sets import set_create


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Who may ask which set, how long loading took (embedding included), and what was refused."""

    user_id: int
    set_id: int
    seconds: float
    refused: int


def set_load(public: PublicSet, *, admin: User) -> Loaded:
    """Through the services of production, with one worker: this process. Passages keep their ids as external ids."""
    name = f"bench-{public.name}".replace("_", "-")[:64]
    asker = user_create(actor=admin, username=name, tenant=name)
    asker.can_create_sets = True
    asker.save(update_fields=["can_create_sets"])
    scope = scope_for(asker)
    made = set_create(scope=scope, actor=asker, values={"code": name, "name": public.label})
    lines = (
        json.dumps({"external_id": p.id, "title": p.title, "text": p.text, "sets": [made.pk]}).encode()
        for p in public.passages
    )
    start = time.perf_counter()
    accepted = documents_bulk(scope=scope, actor=asker, lines=lines)
    while IngestItem.objects.filter(job_id=accepted.job_id, finished=None).exists():
        ingestion_advance(job_id=accepted.job_id)
    indexes_refresh()
    seconds = time.perf_counter() - start
    return Loaded(user_id=asker.pk, set_id=made.pk, seconds=seconds, refused=len(accepted.rejected))

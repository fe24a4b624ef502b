"""One set after the other: ingested, given a model of its own, and asked three times."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from django.conf import settings
from django.core.management import call_command

from accounts.models import Tenant, User
from accounts.scope import Scope
from accounts.selectors import scope_for
from bench.retrieval import note, work_off
from bench.set_models.model_folder import model_place
from evaluation.services.golden import benchmark_load
from evaluation.services.runs.measuring import ranked_documents
from knowledge.models import SearchModel, SetEmbedder
from knowledge.queue import FILL_SET_VECTORS
from knowledge.services import indexes_refresh, retrieve
from knowledge.services.search_models import search_model_save, search_model_test
from knowledge.services.set_embedders import set_embedder_start, set_embedder_switch_on
from knowledge.types import RetrievalMode, RetrievalRequest
from ragcore.metrics.bootstrap import paired_interval
from ragcore.metrics.quality import ndcg_at_k, recall_at_k
from work.upkeep import due_run

SITE, TOGETHER, ALONE = "site", "together", "alone"
MODES = {ALONE: SetEmbedder.Mode.ALONE, TOGETHER: SetEmbedder.Mode.FUSED}

Asked = list[tuple[str, frozenset[str]]]


def measure_sets(folders: Sequence[Path], *, model: str, limit: int) -> dict[str, Any]:
    """Figures of each set by its name."""
    call_command("bootstrap", "--demo", "0", verbosity=0)
    admin = User.objects.create(
        username="bench-set-models",
        tenant=Tenant.objects.get(is_default=True),
        is_staff=True,
        is_superuser=True,
        clearance=4,
    )
    who: dict[str, Any] = {"scope": scope_for(admin), "actor": admin}
    target = search_model_save(**who, model=SearchModel(), values=_values(model))
    note(search_model_test(**who, model=target))
    done: dict[str, Any] = {}
    for folder in folders:
        name = folder.parent.name if folder.name in ("dev", "heldout") else folder.name
        done[name] = _measured(folder, name, who, target, limit)
        note(f"{name}: {json.dumps(done[name], ensure_ascii=False)}")
    return done


def _values(model: str) -> dict[str, str]:
    """What is registered: the product's own model, or a folder where models may be."""
    if model == SearchModel.Provider.PACKAGED:
        return {"provider": model}
    place = model_place(model, Path(settings.DATA_DIR) / "models" / f"bench-set-models-{os.getpid()}")
    return {"provider": SearchModel.Provider.FOLDER, "name": str(place)}


def _measured(folder: Path, name: str, who: dict[str, Any], target: SearchModel, limit: int) -> dict[str, Any]:
    golden, accepted = benchmark_load(**who, folder=folder, name=name)
    work_off(accepted.job_id)
    indexes_refresh()
    set_id = golden.sets.get().pk
    cases = golden.cases.order_by("pk")
    asked: Asked = [(case.question, frozenset(case.relevant)) for case in cases if case.relevant][:limit]
    vector, hybrid = {}, {}
    seconds = 0.0
    for way in (SITE, ALONE, TOGETHER):
        if way != SITE:
            start = time.perf_counter()
            row = _switched_on(set_id, who, target, MODES[way])
            seconds = seconds or time.perf_counter() - start
            note(f"{name}: {way}: {json.dumps(row.figures, ensure_ascii=False)}")
        vector[way] = _each(who["scope"], set_id, asked, "vector", recall_at_k)
        hybrid[way] = _each(who["scope"], set_id, asked, "hybrid", ndcg_at_k)
    return {
        "questions": len(asked),
        "recall10": {way: round(fmean(found), 4) for way, found in vector.items()},
        "recall10_gain": {way: paired_interval(vector[way], vector[SITE]).text(signed=True) for way in MODES},
        "hybrid_ndcg10": {way: round(fmean(found), 4) for way, found in hybrid.items()},
        "hybrid_gain": {way: paired_interval(hybrid[way], hybrid[SITE]).text(signed=True) for way in MODES},
        "vectors_seconds": round(seconds, 1),
    }


def _switched_on(set_id: int, who: dict[str, Any], target: SearchModel, mode: SetEmbedder.Mode) -> SetEmbedder:
    """The model in use for the set, once all its vectors are made."""
    row = set_embedder_start(**who, set_id=set_id, target_id=target.pk, mode=mode)
    while row.state == SetEmbedder.State.BUILDING:
        due_run(kind=FILL_SET_VECTORS)
        row.refresh_from_db()
    return set_embedder_switch_on(**who, embedder_id=row.pk, reason="bench")


def _each(scope: Scope, set_id: int, asked: Asked, mode: RetrievalMode, figure: Callable[..., float]) -> list[float]:
    found = []
    for question, right in asked:
        request = RetrievalRequest(query=question, sets=(set_id,), mode=mode, top_k=10)
        candidates = retrieve(scope=scope, request=request).state.candidates
        found.append(figure(ranked_documents(candidates, named=right), right, 10))
    return found

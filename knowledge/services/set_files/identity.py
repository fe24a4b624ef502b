"""Whether vectors of a set file can be compared with those of this site."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from knowledge.embedder_fit import PROBES, SAME_COSINE
from knowledge.model_registry import embedder
from knowledge.models import EmbedderFit

FIRST_TEXT = "Knowledge"  # embedded once where nothing was yet, so that it is measured how the model is shortened


def model_identity() -> dict[str, Any]:
    """The embedding model in use: its name, how its vectors are shortened, and vectors that tell its weights."""
    name = embedder().model
    row = EmbedderFit.objects.filter(model=name).first()
    if row is None:
        return {"name": name, "dimensions": None, "projection": None, "probes": None}
    projection = None if row.projection is None else hashlib.sha256(bytes(row.projection)).hexdigest()
    probes = None if row.probes is None else base64.b64encode(bytes(row.probes)).decode()
    return {"name": name, "dimensions": row.dimensions, "projection": projection, "probes": probes}


def model_settle(theirs: Mapping[str, Any]) -> None:
    """Have it measured how the model in use is shortened, where the other site has done so and this one not yet."""
    model = embedder()
    is_measured_there = theirs.get("name") == model.model and theirs.get("dimensions") is not None
    if is_measured_there and not EmbedderFit.objects.filter(model=model.model).exists():
        model.embed_documents([FIRST_TEXT])


def is_same_model(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> bool:
    """Whether name, shortening and weights are the same; a site that has not used its model yet is asked by name."""
    if theirs.get("name") != ours["name"] or not ours["name"]:
        return False
    if ours["dimensions"] is None or theirs.get("dimensions") is None:
        return theirs.get("projection") is None
    if any(theirs.get(name) != ours[name] for name in ("dimensions", "projection")):
        return False
    if theirs.get("probes") is None or ours["probes"] is None:
        return theirs.get("projection") is None
    return _is_near(theirs["probes"], ours["probes"])


def _is_near(first: Any, second: Any) -> bool:
    try:
        a, b = (np.frombuffer(base64.b64decode(packed), "<f2").reshape(len(PROBES), -1) for packed in (first, second))
    except (TypeError, ValueError):
        return False
    return a.shape == b.shape and bool(np.all((a.astype(np.float32) * b.astype(np.float32)).sum(axis=1) >= SAME_COSINE))

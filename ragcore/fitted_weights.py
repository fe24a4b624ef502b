"""Weights that were fitted to the cosines of one embedding model: a file for each model, chosen by its name.

Cosines of one model lie elsewhere than those of another, so weights of one mean nothing to the other. What becomes of a
model that no weights were fitted to, such as one that somebody has registered, each caller says; some take those of
NEUTRAL.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

NEUTRAL = "embedded-minilm-ngrams-1"  # whose weights serve a model without any, as they always did


@cache
def fitted_weights(package: str, file: str, model: str) -> dict[str, Any] | None:
    """The record of NAME.MODEL.json for a file NAME.json of a package, not to be changed; None where there is none."""
    resource = files(package).joinpath(file_of(file, model))
    if not model or not resource.is_file():
        return None
    record: dict[str, Any] = json.loads(resource.read_text(encoding="utf-8"))
    return record


def neutral_weights(package: str, file: str) -> dict[str, Any]:
    """The record of NEUTRAL, which every package with such a file has."""
    record = fitted_weights(package, file, NEUTRAL)
    assert record is not None
    return record


def file_of(file: str, model: str) -> str:
    """The name of the file with the weights of a model."""
    return file.replace(".json", f".{model}.json")

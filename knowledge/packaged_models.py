"""The packaged embedding models before the first question: exported once, and what an operator should know of them."""

from __future__ import annotations

import logging
from pathlib import Path

from django.conf import settings

from ragcore.errors import EmbedderRefusedError

logger = logging.getLogger(__name__)


def packaged_embedder_prepare() -> None:
    """Export the packaged embedding model that the environment names, if it does and the model is not there yet.

    Some seconds in a program of its own. A failure is logged; whoever loads the model tries again and raises it.
    """
    from ragcore.embedding import EMBEDDERS
    from ragcore.embedding.packaged import PackagedEmbedder

    client = EMBEDDERS.classes.get(settings.EMBEDDER)
    if client is None or not issubclass(client, PackagedEmbedder):
        return
    try:
        client.prepare(_models_dir())
    except (EmbedderRefusedError, OSError):
        logger.exception("the packaged embedding model could not be prepared")


def packaged_embedder_note() -> str | None:
    """Why the multilingual model cannot be used on this machine, as a line for the operator; None: it can."""
    from ragcore.embedding.e5 import e5_fault

    fault = e5_fault(_models_dir())
    return f"{fault} Without it, the packaged embedding model reads English only." if fault else None


def _models_dir() -> Path:
    return Path(settings.DATA_DIR) / "models"

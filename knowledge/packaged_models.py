"""The packaged embedding models: which one a new site begins with, and what an operator should know of them.

Nothing here reads the database. Which model a site uses is a row of it (`services.packaged_embedders`).
"""

from __future__ import annotations

import logging
from functools import lru_cache
from pathlib import Path

from django.conf import settings

from ragcore.errors import EmbedderRefusedError

logger = logging.getLogger(__name__)

MULTILINGUAL, ENGLISH = PACKAGED = ("embedded_e5", "embedded")  # as EMBEDDER names them; a site begins with the first


def packaged_default() -> str:
    """The model of both languages, else, on a machine that cannot have it, the English one."""
    return ENGLISH if _fault(_models_dir()) else MULTILINGUAL


def packaged_available() -> tuple[str, ...]:
    """The packaged models that this machine can run, the one to begin with first."""
    return PACKAGED if packaged_default() == MULTILINGUAL else (ENGLISH,)


def packaged_embedder_prepare(client: str) -> None:
    """Export the embedding model that EMBEDDER would name so, if it is a packaged one.

    That of both languages has a dictionary, which is laid out, too.

    What is there already is left. Some seconds in a program of its own. A failure is logged; whoever loads the model
    tries again and raises it.
    """
    from ragcore.embedding import EMBEDDERS
    from ragcore.embedding.packaged import PackagedEmbedder
    from ragcore.text.glossary import CedictGlossary

    embedder_class = EMBEDDERS.classes.get(client)
    if embedder_class is None or not issubclass(embedder_class, PackagedEmbedder):
        return
    if client == MULTILINGUAL:
        CedictGlossary(_models_dir()).prepare()
    try:
        embedder_class.prepare(_models_dir())
    except (EmbedderRefusedError, OSError):
        logger.exception("the packaged embedding model could not be prepared")


def packaged_embedder_note(client: str) -> str | None:
    """Why the multilingual model cannot be used on this machine, as a line for the operator; None: it can.

    `client`: the model in use, as EMBEDDER names it.
    """
    fault = _fault(_models_dir())
    if fault is None:
        return None
    if client == MULTILINGUAL:
        return f"{fault} This site uses it: until it is there, passages are found by their words alone."
    return f"{fault} Without it, the packaged embedding model reads English only."


@lru_cache(maxsize=1)
def _fault(models_dir: Path) -> EmbedderRefusedError | None:
    """Looked at once a process: where the model is not exported, its package is read whole."""
    from ragcore.embedding.e5 import e5_fault

    return e5_fault(models_dir)


def _models_dir() -> Path:
    return Path(settings.DATA_DIR) / "models"

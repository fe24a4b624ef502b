"""Errors of fitted query vectors and of embedding models of sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ragcore.errors import PermanentError, Sentence


class AdapterSwitchError(PermanentError):
    """Fitted query vectors of a set cannot be switched on or off."""

    code = "adapter_switch"
    default_message = "The fitted query vectors cannot be switched."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "unusable": "This training produced nothing that can be switched on.",
        "in_use": "This version is already in use.",
        "not_in_use": "No fitted query vectors are in use.",
        "model": "These query vectors were fitted for another embedding model.",
    }


class SetEmbedderError(PermanentError):
    """The embedding model of a set cannot be started or switched like this."""

    code = "set_embedder"
    default_message = "The embedding model of the set cannot be changed now."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "untested": "A platform administrator must test this model first: it has not answered yet.",
        "site_model": "The site already uses this model.",
        "open": "Another model of this set is being prepared. Switch it on or cancel it first.",
        "kept": "The vectors of this model are kept. Switch it on.",
        "in_use": "This model is already in use.",
        "not_ready": "Not all passages have vectors of this model yet.",
        "other_model": "The entry refers to another model than the one whose vectors were computed.",
        "no_scale": "The model has not been compared with that of the site yet. Try again in some minutes.",
        "changed": "Someone else has changed this in the meantime.",
    }

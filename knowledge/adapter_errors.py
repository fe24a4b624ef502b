"""Errors of fitted query vectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ragcore.errors import PermanentError, Sentence


class AdapterSwitchError(PermanentError):
    """Fitted query vectors of a set cannot be switched on or off."""

    code = "adapter_switch"
    default_message = "The fitted query vectors cannot be switched."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "unusable": "This training has left nothing that could be switched on.",
        "in_use": "This version is in use already.",
        "not_in_use": "No fitted query vectors are in use.",
        "model": "These query vectors were fitted for another embedding model.",
    }

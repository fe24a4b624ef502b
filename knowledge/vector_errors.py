"""Errors of fitted query vectors and of domain vectors."""

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


class LatentModelError(PermanentError):
    """A version of the domain vectors that cannot be switched like this."""

    code = "domain_vectors"
    default_message = "This version cannot be switched now."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "building": "This version is still being built.",
        "live": "This version is in use already.",
        "retired": "This version is not in use.",
        "dropped": "This version was deleted. Only the version before the one in use is kept.",
    }

"""Errors of the registry of models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ragcore.errors import PermanentError, Sentence


class ModelInvalidError(PermanentError):
    """What is entered about a model or its server cannot be used."""

    code = "model_invalid"
    default_message = "This cannot be stored about a model."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "name": "Enter the name of the model as its server calls it, without spaces.",
        "price": "Enter both prices, or none.",
        "locked": "The environment sets the model for: %(purposes)s. Change it there.",
        "key": "A key has at most %(limit)s characters and no line breaks.",
        "key_again": "Enter the key again: it belongs to the former address and is not sent to another one.",
        "server_twice": "This server is entered twice.",
        "no_server": "There is no server in use to be tested.",
    }

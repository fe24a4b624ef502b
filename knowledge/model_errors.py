"""Errors of the registry of models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ragcore.errors import PermanentError, Sentence


class ModelInvalidError(PermanentError):
    """What is entered about a model or its server cannot be used."""

    code = "model_invalid"
    default_message = "This model information cannot be saved."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "name": "Enter the model's name on its server, without spaces.",
        "price": "Enter both prices, or none.",
        "locked": "The environment sets the model for: %(purposes)s. Change it there.",
        "key": "A key has at most %(limit)s characters and no line breaks.",
        "key_again": "Enter the key again: it belongs to the previous address and is not sent to another one.",
        "server_twice": "This server is entered twice.",
        "no_server": "There is no server in use to be tested.",
        "tokenizer": (
            "'%(name)s' is no tokenizer: it must be a tokenizer.json of Hugging Face or a vocabulary of tiktoken."
        ),
        "tokenizer_missing": (
            "The models folder of the server has no file '%(name)s', and no folder of this name with a tokenizer.json."
        ),
        "tokenizer_outside": "The tokenizer must lie in the models folder of the server.",
        "tokenizer_encoding": "The vocabulary of '%(name)s' is not in the server's folder models/tiktoken.",
        "tokenizer_size": "'%(name)s' is larger than %(limit_mb)s MB.",
        "not_loaded": "The model file is not loaded, so there is no server to be tested.",
    }


class ModelNotUsedError(PermanentError):
    """The model of an exam is not in use any more."""

    code = "model_not_used"
    default_message = "This language model is no longer in use."


class EmbedderSwitchError(PermanentError):
    """The embedding model of the site cannot be changed like this."""

    code = "embedder_switch"
    default_message = "The embedding model cannot be changed now."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "not_embedder": "This is not an embedding model.",
        "untested": "Test this model first: it has not answered yet.",
        "in_use": "This model is already in use.",
        "open": "Another change of the embedding model is going on. Finish or cancel it first.",
        "former_kept": "The vectors of the previous model are still kept for rollback. Delete them first.",
        "not_ready": "Not all passages have vectors of this model yet.",
        "building": "Not all passages have vectors of this model yet.",
        "paused": "Computing vectors is paused. Resume it first.",
        "changed": "Someone else has changed this in the meantime.",
        "incomplete": "Some new passages have no vectors of this model yet. Try again in a minute.",
        "other_model": "The entry refers to another model than the one whose vectors were computed.",
        "none_kept": "No vectors of a previous model are kept.",
        "locked": "The environment sets the embedding model (EMBEDDER). Change it there.",
    }


class SearchModelInvalidError(PermanentError):
    """What is entered about an embedding model or reranker cannot be used."""

    code = "search_model_invalid"
    default_message = "This model information cannot be saved."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "name": "Enter the name of the model, without spaces.",
        "name_long": "The name is too long.",
        "packaged": "There is no built-in embedding model of this name. There are: %(names)s.",
        "url": "Enter the address of the server.",
        "folder": "There is no such folder with a model, or it is outside of the folders that the operator allows.",
        "code": "The operator has not allowed code of models to run (EMBEDDER_TRUST_REMOTE_CODE).",
        "twice": "This model is registered already.",
        "held": "Vectors of this model are in use or being made: only address and key can be changed.",
        "in_use": "This model is in use, being prepared, or kept for rollback.",
        "not_reranker": "This is not a reranker.",
        "reranker_locked": "The environment sets the reranker (RERANKER). Change it there.",
    }


class RerankerFitSwitchError(PermanentError):
    """Fitted weights of the reranker cannot be switched on or off."""

    code = "reranker_fit_switch"
    default_message = "The fitted weights cannot be switched."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "unusable": "This training produced nothing that can be switched on.",
        "in_use": "This version is already in use.",
        "not_in_use": "No fitted weights are in use.",
    }

"""Why a whole embedding model is not trained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ragcore.errors import PermanentError, Sentence


class ModelTrainingError(PermanentError):
    """A training of an embedding model cannot be prepared, started or continued."""

    code = "model_training"
    default_message = "The embedding model cannot be trained."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "torch": "Training needs PyTorch, which is not installed. Install it on every machine with workers "
        "(%(command)s) and restart them.",
        "running": "An embedding model is already being trained with this set. Finish or cancel that training first.",
        "origins": "Choose at least one kind of pairs.",
        "settings": "%(name)s must be from %(low)s to %(high)s.",
        "base": "This embedding model cannot be trained: choose the built-in model of Chinese and English, or a model "
        "in a folder that was tested.",
        "code": "This model runs code of its own. Such models cannot be trained here.",
        "few": "There are too few questions to learn from: %(found)s; at least %(least)s are needed.",
        "documents": "The questions are about too few documents: some must be held out to judge the result.",
        "empty": "The set has no passages yet.",
        "memory": "The model is too large for the memory of this machine: training it takes at least %(needed)s, and "
        "%(available)s are free.",
        "disk": "The disk is too full: training takes at least %(needed)s, and %(available)s are free.",
        "long": "On this processor it would take about %(hours)s hours; the most is %(most)s. Use fewer examples or "
        "epochs, shorter texts, or a machine with a GPU.",
        "not_prepared": "Prepare the training first: that says how long it takes.",
        "started": "This training has already been started.",
        "over": "This training is over.",
        "not_loaded": "The model cannot be loaded for training: %(problem)s",
        "not_a_transformer": "Only transformer models can be trained; this one has another kind of weights.",
        "pooling": "The model has no pooling that “%(pooling)s” could replace.",
        "ended": "The training program ended unexpectedly. Its machine may have run out of memory; the log of the "
        "worker says more.",
        "not_better": "Nothing better came of this training, so there is no model to add.",
        "gone": "The folder of this model is gone.",
    }

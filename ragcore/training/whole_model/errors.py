"""Why a whole model is not trained; the words are those of evaluation.training_errors, by the same reasons."""

from __future__ import annotations


class TuneRefusedError(Exception):
    """`reason` and `data` of what stands in the way."""

    def __init__(self, reason: str, **data: object) -> None:
        super().__init__(reason, data)
        self.reason, self.data = reason, data

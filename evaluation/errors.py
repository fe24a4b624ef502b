"""Errors of the evaluation app."""

from ragcore.errors import PermanentError


class InvalidGoldenFileError(PermanentError):
    """A file of golden cases has lines that cannot be used; `data["faults"]` lists (line, message), 1-based."""

    code = "invalid_golden_file"
    default_message = "The file of golden cases has faults."


class NothingToEvaluateError(PermanentError):
    """The golden set has no case."""

    code = "nothing_to_evaluate"
    default_message = "This golden set has no cases yet."


class InvalidGoldenCaseError(PermanentError):
    """A golden case lacks something or has a text that is too long."""

    code = "invalid_golden_case"
    default_message = "This golden case cannot be saved."

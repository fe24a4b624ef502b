"""Errors of sources that are described in files: the description, the answers of the system, and its objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ragcore.errors import PermanentError, Sentence, TransientError


class RestDescriptionError(PermanentError):
    """The description of a REST source has faults, each named with its place."""

    code = "rest_description"
    default_message = "This is not a description of a REST source."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "long": "A description has %(limit)s characters at most.",
        "toml": "The description is not TOML: %(problem)s",
        "faults": "The description has faults: %(faults)s",
        "missing": "Paste a description, or choose one of the systems.",
        "parameters": "The description has no parameter '%(name)s'. It has: %(names)s.",
    }


class RestAnswerError(PermanentError):
    """The system answered, but not with what its description expects."""

    code = "rest_answer"
    default_message = "The system answered with something else than its description expects."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "not_json": "The system answered with a page in the place of data, perhaps its sign-in: %(url)s",
        "failed": "The system answered with an error: %(problem)s",
        "items": "The answer of %(url)s has no list at “%(expression)s”.",
        "status": "The system answered with the status %(status)s: %(url)s",
        "forbidden": "The account of this source may not read %(url)s.",
        "not_there": "There is nothing at %(url)s.",
        "credentials": "The system does not accept the credentials.",
        "no_credentials": "The system needs credentials: %(wanted)s.",
        "loop": "The pages of “%(list)s” repeat themselves; the rest of the list is not known.",
        "pages": "The list “%(list)s” has more than %(limit)s pages; the rest of it is not known.",
    }


class RestBusyError(TransientError):
    """The system asks to wait (429, or 503 with Retry-After) longer than a run waits."""

    code = "rest_busy"
    default_message = "The system is busy."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "wait": "The system asks to try again in %(retry_after_seconds)s seconds.",
        "status": "The system is out of order: it answered with the status %(status)s.",
    }


class RestItemError(PermanentError):
    """One object of the system cannot be taken."""

    code = "rest_item"
    default_message = "This object cannot be taken."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "no_id": "An object of “%(list)s” has no value at “%(expression)s”.",
        "same_id": "Two objects of “%(list)s” have the id '%(id)s'.",
        "long_id": "The id of this object is longer than %(limit)s characters.",
        "address": "The object has no address of its file.",
    }

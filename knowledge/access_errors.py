"""Errors of quotas and of requests for access."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ragcore.errors import PermanentError, Sentence


class QuotaExceededError(PermanentError):
    """The tenant has as much as its quota allows."""

    code = "quota_exceeded"
    default_message = "The quota of your organisation is used up."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "sets": "The quota of your organisation is used up: %(limit)s knowledge sets.",
        "documents": "The quota of your organisation is used up: %(limit)s documents.",
        "megabytes": "The quota of your organisation is used up: %(limit)s MB of originals.",
    }


class PlaceInvalidError(PermanentError):
    """A folder or host that is to be given to a tenant."""

    code = "place_invalid"
    default_message = "This folder or host cannot be assigned."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "host": "Enter one host name, address or network, such as wiki.example.org or 10.1.0.0/16.",
        "folder": "Enter an absolute folder.",
        "outside": (
            "This folder lies outside of those that the operator of this site has opened for sources "
            "(SOURCE_FOLDERS, GRANTABLE_FOLDERS)."
        ),
        "data": "The data folder of this product cannot be assigned.",
    }


class AccessNotNeededError(PermanentError):
    """Whoever reads a set already needs no access."""

    code = "access_not_needed"
    default_message = "You already have access to this knowledge set."


class AccessDecidedError(PermanentError):
    """A request is decided once."""

    code = "access_decided"
    default_message = "This request has already been decided or withdrawn."


class DeclineReasonError(PermanentError):
    """Whoever is refused is told why."""

    code = "reason_missing"
    default_message = "Give a reason for declining the request."


class ClearanceTooLowError(PermanentError):
    """Documents of a source, or of a folder, have a least clearance."""

    code = "clearance_too_low"
    default_message = "The source of this document has a higher minimum clearance."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "floor": "The source of this document has a minimum clearance of %(floor)s."
    }

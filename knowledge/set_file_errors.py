"""Errors of files in which knowledge sets travel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from accounts.errors import NotAllowedError
from ragcore.errors import PermanentError, Sentence, TransientError


class SetFileInvalidError(PermanentError):
    """The file is no set file that can be imported; the sentence says what is wrong with it."""

    code = "set_file_invalid"
    default_message = "This file is not a knowledge set file of this product."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "truncated": "The file is incomplete: its end is missing. Copy or download it again.",
        "later": (
            "The file has format version %(version)s, this site reads up to %(known)s. Update this site, or export "
            "the set with an older version."
        ),
        "manifest_changed": "The manifest of the file was changed after the export. Use the file as it was exported.",
        "changed": "The part %(part)s was changed after the export. Use the file as it was exported.",
        "missing": "The part %(part)s is missing. Use the file as it was exported.",
        "unexpected": "The file contains %(part)s, which does not belong in a knowledge set file.",
        "unsafe": "The file is not accepted: %(part)s unpacks to more than a knowledge set file may contain.",
        "encrypted": "The file is encrypted. Use the file as it was exported.",
        "content": "The part %(part)s has a value that cannot be imported, in line %(line)s: %(field)s.",
    }


class SetFileStateError(PermanentError):
    """The file is not in a state in which this is possible."""

    code = "set_file_state"
    default_message = "This is not possible in the current state of the file."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "started": "The import has already been started.",
        "unfinished": "The export is not finished yet.",
        "expired": "The export has been deleted. Start it again.",
        "person": "Only the person who uploaded the file can start its import.",
    }


class SetNotExportableError(NotAllowedError):
    """The asker keeps the set, but may not open all that is in it."""

    code = "set_not_exportable"
    default_message = "Only someone who may open every document of this knowledge set can export it."
    reasons: ClassVar[Mapping[str, Sentence]] = {}


class MappingInvalidError(PermanentError):
    """The choices for an import do not fit its file or this site."""

    code = "set_file_mapping"
    default_message = "The mapping does not fit."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "name": "The file names nobody called %(name)s.",
        "target": "There is no active account or user group called %(name)s here.",
        "form": "Write each line of the mapping as user:NAME=NAME HERE or group:NAME=NAME HERE, not %(line)s.",
    }


class SetFileBusyError(TransientError):
    """Another process still writes the file."""

    code = "set_file_busy"
    default_message = "The file is still being written by another process."

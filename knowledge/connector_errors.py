"""Errors of connectors: what a place where knowledge lives refused, or has that cannot be taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ragcore.errors import PermanentError, Plural, Sentence, TransientError

LONGEST_REST = 7 * 24 * 3600.0  # seconds


class ConnectorError(PermanentError):
    """A source cannot be read as it is set; somebody has to change the settings here or there."""

    code = "connector_failed"
    default_message = "This source cannot be read with these settings."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "address": "This is not an address that a source of this kind can be read from.",
        "credentials": "The source does not accept the credentials.",
        "not_repository": "There is no Git repository at this address.",
        "branch": "The repository has no branch '%(branch)s'.",
        "empty_repository": "The repository has no commits.",
        "query": "The database does not accept the query: %(problem)s",
        "not_select": "Only one query that reads is taken: it begins with SELECT or WITH.",
        "column": "The query has no column '%(column)s'. It has: %(columns)s.",
        "no_container": "The address names no bucket, container or share.",
        "no_place": "There is nothing at this address, or it may not be listed.",
        "no_webdav": "The server does not speak WebDAV at this address.",
        "no_webhdfs": "The server does not speak WebHDFS at this address.",
        "host_key": "The key of the server is not known yet. It has %(key)s; if that is right, enter it as host key.",
        "other_host_key": "The server has another key than the source: %(key)s. It may be another server.",
        "no_folder": "The mailbox has no folder that fits: %(folders)s",
        "no_feed": "There is no news feed at this address.",
        "driver": "Databases of the kind '%(kind)s' cannot be read here.",
    }


class SourceUnreachableError(TransientError):
    """A source does not answer now."""

    code = "source_unreachable"
    default_message = "The source does not answer at the moment."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "because": "The source does not answer: %(problem)s",
    }


class SourceBusyError(TransientError):
    """A source wants to be left alone for some seconds (Retry-After). The run goes on after them.

    `retry_seconds`: at least a second, at most LONGEST_REST.
    """

    code = "source_busy"
    default_message = "The source asks to be read later."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "seconds": "The source asks to be read again in %(seconds)s seconds.",
    }

    def __init__(self, retry_seconds: float = 60.0) -> None:
        self.retry_seconds = min(max(float(retry_seconds), 1.0), LONGEST_REST)
        super().__init__("seconds", seconds=round(self.retry_seconds))


class ItemOfSourceError(PermanentError):
    """One item of a source cannot be taken."""

    code = "item_not_taken"
    default_message = "This item of the source cannot be taken."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "lfs": "The file itself is in Git LFS; the repository has only a pointer to it.",
        "path": "The path is too long or is no text.",
        "folders": "The folder has more folders below it than are read.",
        "attachments": "The message has %(count)s attachments more than are read.",
        "pages": "Only the first %(limit)s pages were read.",
        "alike": "More than %(limit)s pages have addresses of this form; the others were not read.",
        "no_id": "A row has no value in the column of ids.",
        "same_id": "Two rows have the id '%(id)s'.",
    }


class NotDeletedError(PermanentError):
    """Documents that a source does not have any more were kept, because its list may have been wrong."""

    code = "not_deleted"
    default_message = "Nothing was deleted, because the source could not be listed completely."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "empty": "Nothing was deleted, because the source seems to be empty.",
        "too_many": "%(missing)s of %(total)s documents are missing in the source. So many are not deleted at once.",
        "off": Plural(
            "%(missing)s document is no longer in the source. It stays, because “delete missing documents” is off.",
            "%(missing)s documents are no longer in the source. They stay, because “delete missing documents” is off.",
            "missing",
        ),
    }

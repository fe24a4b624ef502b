"""Errors of the knowledge app."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ragcore.errors import PermanentError, Plural, RagError, Sentence, TransientError


class UploadTooLargeError(PermanentError):
    """The file is over the site's limit."""

    code = "upload_too_large"
    default_message = "The file is larger than this site accepts."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "limit": "The file is larger than %(limit_mb)s MB, the limit of this site.",
    }


class SetNotOwnedError(PermanentError):
    """The asker sees the set, but may not put documents into it."""

    code = "set_not_owned"
    default_message = "Only owners of a knowledge set may add documents to it."


class ClearanceTooHighError(PermanentError):
    """Nobody may classify a document above their own clearance: they could not see it any more."""

    code = "clearance_too_high"
    default_message = "You cannot give a document a clearance above your own."


class MixedTenantsError(PermanentError):
    """A document belongs to one tenant."""

    code = "mixed_tenants"
    default_message = "All knowledge sets of a document must belong to the same tenant."


class InvalidFilterError(PermanentError):
    """What a filter says about attributes cannot be understood; `fault` says what."""

    code = "invalid_filter"
    default_message = "A filter on attributes cannot be understood."


class UnknownFilterError(PermanentError):
    """A filter names a set that does not exist on its axis: a misspelt code must not look like an empty corpus."""

    code = "unknown_filter"
    default_message = "A filter names a knowledge set that does not exist."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "code": "There is no knowledge set with the code '%(code)s' on this axis.",
    }


class InvalidWeightError(PermanentError):
    """A document counts at least half and at most double."""

    code = "invalid_weight"
    default_message = "The weight of a document must be between 0.5 and 2."


class InvalidTitleError(PermanentError):
    """A document has a title, of limited length."""

    code = "invalid_title"
    default_message = "A title has 1 to 512 characters."


class GraphNotBuiltError(PermanentError):
    """Graph retrieval was asked for, and no knowledge graph exists."""

    code = "graph_not_built"
    default_message = "Graph retrieval needs a knowledge graph, and none has been built for these sets."


class RetrievalUnavailableError(TransientError):
    """Postgres did not answer."""

    code = "retrieval_unavailable"
    default_message = "Search is not available at the moment. Please try again shortly."


class RetrievalTimeoutError(TransientError):
    """A search took longer than it may."""

    code = "timeout"
    default_message = "The search took too long."


class WorkerLostError(PermanentError):
    """The process that read the document ended again and again."""

    code = "worker_lost"
    default_message = "Reading this document crashed the worker several times, so it was skipped."


class StageTooLongError(PermanentError):
    """One step of reading a document did not get on for longer than any honest document takes."""

    code = "stage_too_long"
    default_message = (
        "One step of processing this document took longer than %(minutes)s minutes and was ended. Divide it into "
        "smaller files, or take out what is no text, and upload it again."
    )


class UnknownTenantError(PermanentError):
    """A set was to be made in a tenant that does not exist; tenants are made with their first user."""

    code = "unknown_tenant"
    default_message = "There is no tenant of this name."
    reasons: ClassVar[Mapping[str, Sentence]] = {"name": "There is no tenant '%(tenant)s'."}


class UnknownPeopleError(PermanentError):
    """Some users or groups are not of the set's tenant."""

    code = "unknown_people"
    default_message = "Some of these users or groups do not exist."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "names": "Unknown %(field)s: %(unknown)s.",
        "owner": "Unknown owner: %(unknown)s.",
    }


class OwnerNeededError(PermanentError):
    """An owner may hand a set over, but not leave it without any owner."""

    code = "owner_needed"
    default_message = "A knowledge set needs at least one owner."


class PassageChangedError(PermanentError):
    """A passage was edited or its document ingested again since it was shown."""

    code = "passage_changed"
    default_message = "This passage has been changed in the meantime. Reload the page and check it again."


class MaintenanceRunningError(TransientError):
    """Indexes are being rebuilt by another process; two at once would drop each other's work."""

    code = "maintenance_running"
    default_message = "Another process is rebuilding the indexes at the moment."


class SourceSettingsError(PermanentError):
    """The settings of a source contradict each other or its kind."""

    code = "invalid_source"
    default_message = "These settings do not fit this kind of source."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "no_schedule": "Sources of this kind send their documents themselves and have no schedule.",
        "handler": "There is no source handler '%(code)s'.",
        "no_location": "Sources of this kind have no location.",
        "no_settings": "Sources of this kind have no settings of their own.",
        "location_missing": "This kind of source needs a location: a folder, or one address per line.",
        "owner_missing": "A source needs an owner.",
        "no_credentials": "Sources of this kind need no credentials.",
        "credentials": "Credentials of this kind of source are %(wanted)s.",
        "credential_length": "A credential is empty or too long.",
        "secret_length": Plural(
            "The secret of a webhook needs at least %(limit)s character.",
            "The secret of a webhook needs at least %(limit)s characters.",
            "limit",
        ),
        "address_length": Plural(
            "An address has at most %(limit)s character.",
            "An address has at most %(limit)s characters.",
            "limit",
        ),
    }


class FolderNotAllowedError(PermanentError):
    """A folder that nobody has released for sources of the tenant, or that is not there."""

    code = "folder_not_allowed"
    default_message = (
        "This folder is not released for sources. Ask an administrator to release it under “Folders and hosts”."
    )
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "relative": "A folder needs its whole path, from the root.",
        "missing": "There is no such folder on the machine of this site.",
    }


class FolderUnreadableError(TransientError):
    """The folder of a source cannot be listed now; nothing is concluded from what is missing in it."""

    code = "folder_unreadable"
    default_message = "The folder of this source cannot be read at the moment."
    reasons: ClassVar[Mapping[str, Sentence]] = {"subfolder": "This folder cannot be read."}


class SourceInUseError(PermanentError):
    """A source with documents is not removed behind their backs."""

    code = "source_in_use"
    default_message = "This source still has documents. Delete them with it, or take it out of use instead."
    reasons: ClassVar[Mapping[str, Sentence]] = {"uploads": "The source of uploads cannot be removed."}


class SourcePausedError(PermanentError):
    """The folder or host of a source is not allowed any more: it is not read, and what it brought stays."""

    code = "source_paused"
    default_message = "This source is paused: its folder or host is not allowed any more."
    reasons: ClassVar[Mapping[str, Sentence]] = {"because": "This source is paused. %(problem)s"}


class SourceUnownedError(PermanentError):
    """Nobody answers for what the source takes in."""

    code = "source_without_owner"
    default_message = "The source has no owner. It takes in nothing until somebody owns it."
    reasons: ClassVar = {"inactive": "The source's owner is deactivated. It takes in nothing until it has another."}


class SourceRunningError(TransientError):
    """One run at a time."""

    code = "source_running"
    default_message = "This source is already being synchronised; nothing is lost."


class CredentialsUnreadableError(PermanentError):
    """The secret key of the site is another one than when the credentials were stored."""

    code = "credentials_unreadable"
    default_message = "The stored credentials cannot be read any more. Enter them again."


class RuleInvalidError(PermanentError):
    """A rule of a source handler cannot be used."""

    code = "invalid_rule"
    default_message = "This rule cannot be used."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "length": "A pattern has 1 to %(limit)s characters.",
        "slow": ("The expression %(expression)s takes too long on some texts. Avoid repetitions inside repetitions."),
        "expression": "The expression %(expression)s cannot be read: %(problem)s",
        "braces": "The template %(template)s has unbalanced braces.",
        "function": "Unknown template function %(name)s. Available: %(known)s.",
    }


class LeftOutError(PermanentError):
    """A rule says that the document does not belong here."""

    code = "left_out"
    default_message = "Skipped by a rule of the source handler."


class SupersededError(PermanentError):
    """A newer document of the same series is there."""

    code = "superseded"
    default_message = "A newer document of the same series is already here."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "replaced": "Replaced by %(title)s, a newer document of the same series.",
        "newer": "%(title)s is a newer document of the same series.",
    }


class RunLostError(PermanentError):
    """Another worker has taken the run over, or somebody has cancelled it."""

    code = "run_ended"
    default_message = "The run was terminated."


class JobOverError(PermanentError):
    """Only a job that goes on can be paused, resumed or cancelled."""

    code = "job_over"
    default_message = "This job has already ended."


class IngestionCancelledError(PermanentError):
    """Why a document did not go live whose job was cancelled."""

    code = "cancelled"
    default_message = "Processing was cancelled."


class WebhookReplayedError(PermanentError):
    """The same signed request has come before."""

    code = "replayed"
    default_message = "This request was already sent. Sign it again with the current time."


class NothingTakenError(PermanentError):
    """No member of an archive could be taken."""

    code = "nothing_taken"
    default_message = "No file in this archive can be imported."
    reasons: ClassVar[Mapping[str, Sentence]] = {"first": "No file in this archive can be imported: %(cause)s"}


class UnmatchedFilterError(PermanentError):
    """Filters that no passage matches; not raised, but told as a warning whose code is the reason."""

    code = "unmatched_filter"
    default_message = "No passage that you may search matches these filters."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "no_match": "No passage that you may search matches these filters.",
        "unknown_attribute": "No document that you may search has the attribute '%(name)s'.",
        "unknown_tag": "No document that you may search has the tag '%(name)s'.",
    }


# ── what the report of a run says; these are stored, not raised ─────────────────────────────────


class ItemUnreadableError(PermanentError):
    """A file of a source that cannot be read."""

    code = "unreadable"
    default_message = "This file cannot be read."
    reasons: ClassVar[Mapping[str, Sentence]] = {"not_a_file": "This is not a regular file."}


class OutsideFolderError(PermanentError):
    """A link that leads out of the folder of its source."""

    code = "outside_folder"
    default_message = "This link points outside the folder."


class UrlTooLongError(PermanentError):
    """An address that does not fit into an external id."""

    code = "url_too_long"
    default_message = "This address is too long."


class LimitReachedError(PermanentError):
    """A source has more documents than are taken."""

    code = "limit_reached"
    default_message = "The site map lists more pages than are read."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "documents": Plural(
            "Only the first %(limit)s document was imported.",
            "Only the first %(limit)s documents were imported.",
            "limit",
        ),
    }


class ItemsRefusedError(PermanentError):
    """A run of a source that came to its end, without some items."""

    code = "items_refused"
    default_message = "Some items of the source could not be imported."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "count": Plural(
            "%(count)s item of the source could not be imported.",
            "%(count)s items of the source could not be imported.",
            "count",
        ),
    }


class RunBrokenOffError(PermanentError):
    """The process that ran a source has ended."""

    code = "broken_off"
    default_message = "The last run was interrupted."


def error_columns(error: RagError | None) -> dict[str, Any]:
    """How documents and ingestion items store an error; empty values for none."""
    if error is None:
        return {"error_code": "", "error_message": "", "error_data": {}}
    return {"error_code": error.code, "error_message": error.message[:512], "error_data": error.message_data()}


class MeasuredFirstError(PermanentError):
    """Options of a set are measured before they are published; `data["change"]` is the id of what is measured."""

    code = "measured_first"
    default_message = "These settings are measured on the golden sets of this knowledge set before they are published."

"""Errors of the knowledge app."""

from ragcore.errors import PermanentError, TransientError


class UploadTooLargeError(PermanentError):
    """The file is over the site's limit."""

    code = "upload_too_large"
    default_message = "The file is larger than this site accepts."


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


class InvalidWeightError(PermanentError):
    """A document counts at least half and at most double."""

    code = "invalid_weight"
    default_message = "The weight of a document must be between 0.5 and 2."


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
    default_message = "Reading this document stopped the worker several times; it was set aside."


class UnknownTenantError(PermanentError):
    """A set was to be made in a tenant that does not exist; tenants are made with their first user."""

    code = "unknown_tenant"
    default_message = "There is no tenant of this name."


class UnknownPeopleError(PermanentError):
    """Some users or groups are not of the set's tenant."""

    code = "unknown_people"
    default_message = "Some of these users or groups do not exist."


class OwnerNeededError(PermanentError):
    """An owner may hand a set over, but not leave it without any owner."""

    code = "owner_needed"
    default_message = "A knowledge set needs at least one owner."


class PassageChangedError(PermanentError):
    """A passage was edited or its document ingested again since it was shown."""

    code = "passage_changed"
    default_message = "This passage has been changed meanwhile. Reload the page and look at it again."


class MaintenanceRunningError(TransientError):
    """Indexes are being rebuilt by another process; two at once would drop each other's work."""

    code = "maintenance_running"
    default_message = "Another process is rebuilding the indexes at the moment."


class SourceSettingsError(PermanentError):
    """The settings of a source contradict each other or its kind."""

    code = "invalid_source"
    default_message = "These settings do not fit this kind of source."


class FolderNotAllowedError(PermanentError):
    """A folder that the operator has not opened for sources, or that is not there."""

    code = "folder_not_allowed"
    default_message = (
        "This site may not read this folder. Its operator allows folders with the variable SOURCE_FOLDERS."
    )


class FolderUnreadableError(TransientError):
    """The folder of a source cannot be listed now; nothing is concluded from what is missing in it."""

    code = "folder_unreadable"
    default_message = "The folder of this source cannot be read at the moment."


class SourceInUseError(PermanentError):
    """A source with documents is not removed behind their backs."""

    code = "source_in_use"
    default_message = "This source still has documents. Delete them with it, or take it out of use instead."


class SourceRunningError(TransientError):
    """One run at a time."""

    code = "source_running"
    default_message = "Another run of this source is going on; what it brings is not lost."


class CredentialsUnreadableError(PermanentError):
    """The secret key of the site is another one than when the credentials were stored."""

    code = "credentials_unreadable"
    default_message = "The stored credentials cannot be read any more. Enter them again."


class RuleInvalidError(PermanentError):
    """A rule of a source handler cannot be used."""

    code = "invalid_rule"
    default_message = "This rule cannot be used."


class LeftOutError(PermanentError):
    """A rule says that the document does not belong here."""

    code = "left_out"
    default_message = "A rule of the source handler leaves this document out."


class SupersededError(PermanentError):
    """A newer document of the same series is there (D10)."""

    code = "superseded"
    default_message = "A newer document of the same series is already here."


class RunLostError(PermanentError):
    """Another worker has taken the run over, or somebody has cancelled it."""

    code = "run_ended"
    default_message = "The run was ended from outside."


class JobOverError(PermanentError):
    """Only a job that goes on can be paused, resumed or cancelled."""

    code = "job_over"
    default_message = "This job is over already."


class IngestionCancelledError(PermanentError):
    """Why a document did not go live whose job was cancelled."""

    code = "cancelled"
    default_message = "Its ingestion was cancelled."


class WebhookReplayedError(PermanentError):
    """The same signed request has come before."""

    code = "replayed"
    default_message = "This request has been sent before. Sign it anew with the present time."


class NothingTakenError(PermanentError):
    """No member of an archive could be taken."""

    code = "nothing_taken"
    default_message = "No file of this archive can be taken."


class BackendUnavailableError(TransientError):
    """The search backend besides Postgres does not answer, or not in time."""

    code = "backend_unavailable"
    default_message = "The search backend does not answer."


class BackendRefusedError(PermanentError):
    """The search backend answers, and does not do what it is asked for."""

    code = "backend_refused"
    default_message = "The search backend refused a request."


class BackendTooDeepError(PermanentError):
    """What the asker may find lies deeper than the backend looks; Postgres has no such limit."""

    code = "backend_too_deep"
    default_message = "The search backend does not look deep enough for these filters."


class BackendBusyError(TransientError):
    """One writer at a time."""

    code = "backend_busy"
    default_message = "Another process is writing to the search backend. Try again when it is done."


class BackendNotConfiguredError(PermanentError):
    """SEARCH_BACKEND names another one."""

    code = "backend_not_configured"
    default_message = "Set SEARCH_BACKEND=milvus and MILVUS_URI first."

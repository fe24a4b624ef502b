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


class GraphNotBuiltError(PermanentError):
    """Graph retrieval was asked for, and no knowledge graph exists."""

    code = "graph_not_built"
    default_message = "Graph retrieval needs a knowledge graph, and none has been built for these sets."


class RetrievalUnavailableError(TransientError):
    """Postgres did not answer."""

    code = "retrieval_unavailable"
    default_message = "Search is not available at the moment. Please try again shortly."


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

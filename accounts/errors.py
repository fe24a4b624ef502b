"""Errors of the accounts app."""

from ragcore.errors import PermanentError


class NotAuthenticatedError(PermanentError):
    """No valid key or session came with the request."""

    code = "not_authenticated"
    default_message = "Sign in or send a valid API key: Authorization: Bearer <key>."


class NotFoundError(PermanentError):
    """The thing does not exist, or the asker may not know that it does."""

    code = "not_found"
    default_message = "There is no such thing, or you may not see it."


class NotAllowedError(PermanentError):
    """The asker is known and may see the thing, but not change it."""

    code = "not_allowed"
    default_message = "You may not do this."


class NameTakenError(PermanentError):
    """A name that must be unique is in use."""

    code = "name_taken"
    default_message = "This name is already in use."

"""Errors of the accounts app."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ragcore.errors import PermanentError, Sentence, TransientError


class NotAuthenticatedError(PermanentError):
    """No valid key or session came with the request."""

    code = "not_authenticated"
    default_message = "Sign in or send a valid API key: Authorization: Bearer <key>."


class NotFoundError(PermanentError):
    """The thing does not exist, or the asker may not know that it does."""

    code = "not_found"
    default_message = "Not found, or you do not have access."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "user": "There is no user '%(username)s', or you may not make keys for them.",
        "tenant": "There is no such tenant, or you do not belong to it.",
        "one_version": "This document has only one version.",
        "no_text": "This document has no text yet.",
        "original": "The original file of this document is not stored here.",
        "pdf": "There is no PDF of this document.",
        "picture": "There is no such picture, or you may not see it.",
        "page_picture": "There is no picture of this page.",
        "document": "There is no document %(document)s, or you may not see it.",
        "passage": "This source does not exist any more, or you may not see it.",
        "pair": "This pair is no longer open.",
        "edit": "This edit no longer exists.",
        "proposed_case": "This proposal is decided already, or you may not see its document.",
        "case_batch": "This act is undone already, or it is not yours.",
        "job": "There is no job %(job)s, or it is not yours.",
        "set": "There is no knowledge set %(set)s.",
        "set_file": "There is no file %(file)s, or it is not yours.",
        "lexicon_term": "There is no such term, or you may not change it.",
        "search_model": "There is no such model.",
        "model_training": "There is no such training, or you may not see it.",
        "embedder_switch": "There is no such change of the embedding model.",
        "lexicon_mining": "There is no such search for terms, or it is not yours.",
        "lexicon_change": "There is no such change of the lexicon, or you may not undo it.",
        "query_adapter": "There is no such version of fitted query vectors, or it is not yours.",
        "set_embedder": "This embedding model of a set does not exist, or is not yours.",
        "reranker_fit": "There is no such version of fitted weights, or it is not yours.",
        "lexicon_version": "There is no such version of the lexicon, or you may not publish it.",
        "place": "There is no folder or host %(place)s, or you may not see it.",
        "triple_import": "There is no import %(triple_import)s, or you may not see it.",
        "entity": "There is no such entity, or you may not see it.",
        "entity_decision": "There is no such decision, or you may not undo it.",
        "triple": "There is no fact %(triple)s, or you may not see it.",
        "triple_decision": "There is no decision %(decision)s about facts, or you may not see it.",
        "source": "There is no source %(source)s, or you may not see it.",
        "version": "There is no such version of this document.",
        "relation": "There is no such relation, or you may not see it.",
        "conversation": "There is no such conversation.",
        "message": "There is no such message.",
        "link": "This link does not exist, has expired or was revoked.",
        "attachment": "There is no such attached file.",
        "citation": "There is no such source.",
        "experiment": "There is no such experiment.",
        "case": "There is no case %(case)s, or you may not review it.",
        "named_golden_set": "There is no golden set '%(name)s'.",
        "person": "There is no such person.",
        "question": "There is no such question, or you may not see it.",
        "golden_set": "There is no such golden set.",
        "notification": "There is no such notification.",
        "access_request": "There is no such request for access, or you may not see it.",
        "announcement": "There is no such announcement, or it cannot be dismissed.",
        "session": "This session has already ended.",
        "embed_key": "This key has been removed already.",
        "embed": "There is no such chat, or it is disabled.",
        "evaluation_run": "There is no such evaluation run.",
        "measured_change": "There is no such measured change.",
        "any_document": "There is no such document, or you may not see it.",
    }


class NotAllowedError(PermanentError):
    """The asker is known and may see the thing, but not change it."""

    code = "not_allowed"
    default_message = "You do not have permission to do this."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "users_of_others": "Only platform administrators may create users of other tenants.",
        "site_options": "Only administrators may change the settings of the site.",
        "reranker_fits": "Only administrators may fit the weights of the reranker.",
        "change_set": "Only owners may change the knowledge set '%(name)s'.",
        "curate_set": "Only owners and editors may change the documents of the knowledge set '%(name)s'.",
        "change_source": "Only its owner and administrators may change the source '%(name)s'.",
        "tenant": "There is no tenant '%(name)s', or you do not administer it.",
        "rights_of_sources": "Whose rights count is decided by whoever manages all sources of the set.",
        "compose_source": "Only its owner and administrators may compose sets of the source '%(name)s'.",
        "kept_by_others": "Only owners of all its knowledge sets may change a document.",
        "job_of_others": "This job works on documents or sources that others keep.",
        "outline": "The outline of a section is made from its passages; edit those.",
        "already_live": "The newest version of this document is already searchable.",
        "not_live": "This document is not searchable; retry it instead.",
        "restore_twice": "The same document was added again after the deletion; delete that one first.",
        "add_to_source": "Only its owner and administrators may add documents to the source '%(name)s'.",
        "version_of_source": "The source '%(name)s' brings new versions of this document itself.",
        "sets_of_others": "Only platform administrators may create sets in other tenants.",
        "last_set": "It is its last knowledge set; delete the document instead.",
        "own_administration": "Nobody can take the role of administrator from themselves; ask another administrator.",
        "erase_oneself": "Nobody can erase themselves; ask another administrator.",
        "owns_service_accounts": "This user owns service accounts; give them another owner or delete them first.",
        "last_administrator": "The last platform administrator cannot be erased.",
        "private_addresses": "Only platform administrators may allow private addresses.",
    }


class MissingRightError(PermanentError):
    """The asker may not do such a thing at all, whatever the object."""

    code = "missing_right"
    default_message = "You do not have the right to do this."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "create_sets": "You do not have the right to create knowledge sets. Ask an administrator.",
        "give_scope": "Only administrators may give a key the scope '%(scope)s'.",
        "use_directory": "Only keys of administrators, and of service accounts that they own, may do this.",
        "change_lexicon": "Only administrators may change the lexicon of the organisation.",
        "give_places": "Only platform administrators may give folders and hosts to tenants.",
        "manage_embeds": "Only administrators may manage chats on other pages.",
        "make_users": "Only administrators may create users.",
        "make_sources": "Only owners of knowledge sets and administrators may add sources.",
    }


class MissingScopeError(PermanentError):
    """The API key of the request is not for this; its user may be allowed to do it."""

    code = "missing_scope"
    default_message = "This API key does not have the scope that this request needs."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "needed": "This API key does not have the scope '%(scope)s'.",
        "given": "A key can give only scopes that it has itself, not '%(scope)s'.",
    }


class KeySettingsError(PermanentError):
    """Scopes or expiry of a new key cannot be used."""

    code = "invalid_key"
    default_message = "The settings of this API key are not valid."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "no_scope": "A key needs at least one scope.",
        "expired": "The expiry date is in the past.",
    }


class RateLimitedError(TransientError):
    """This person, key or tenant has done as much in the last minute, or does as much now, as it may."""

    code = "rate_limited"
    default_message = "Too many requests."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "at_once": "Your limit of %(limit)s questions at a time is reached. Please try again shortly.",
    }


class NameTakenError(PermanentError):
    """A name that must be unique is in use."""

    code = "name_taken"
    default_message = "This name is already in use."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "username": "The user name '%(username)s' is already in use.",
        "set_code": "There is already a set with the code '%(code)s'.",
        "lexicon_term": "The lexicon already has the term '%(name)s'.",
        "place": "The tenant already has '%(name)s'.",
        "source_name": "There is already a source with the name '%(name)s'.",
    }


class OidcError(PermanentError):
    """Somebody came back from the OpenID provider and cannot be signed in."""

    code = "oidc_failed"
    default_message = "Signing in with this provider did not work. Try again, or ask an administrator."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "unavailable": "The sign-in provider does not answer. Try again later.",
        "refused": "The answer of the sign-in provider is not valid. Try again, or ask an administrator.",
        "incomplete": "The sign-in provider does not say who you are. Ask an administrator.",
        "unknown": "There is no account for you here. Ask an administrator.",
        "inactive": "Your account is not active. Ask an administrator.",
        "name_taken": "An account with your user name is here already. Ask an administrator to link it.",
    }


class UnknownSetError(PermanentError):
    """Codes that no knowledge set of the tenant has; `data["codes"]`."""

    code = "unknown_set"
    default_message = "There is no such knowledge set."
    reasons: ClassVar[Mapping[str, Sentence]] = {"codes": "There are no knowledge sets with the codes %(codes)s."}

"""Adds one synonym from a feedback case to the lexicon and publishes it; takes both back.

Only this term is published: what an owner has approved and not published yet goes on waiting.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from accounts.models import User
from accounts.scope import Scope
from knowledge.lexicon_errors import LexiconTermError
from knowledge.models import LexiconChange, LexiconTerm, LexiconVersion
from knowledge.selectors.lexicon import lexicon_set_get, terms_of
from knowledge.services.lexicon.publishing import lexicon_publish_term
from knowledge.services.lexicon.terms import change_undo, term_key, term_save


@dataclass(frozen=True, slots=True, kw_only=True)
class SynonymAdded:
    """What was done; `change_id` is None where the approved term had the synonym already."""

    term: LexiconTerm
    change_id: int | None
    version: LexiconVersion  # in use as soon as its state is "live"


@transaction.atomic
def synonym_add(*, scope: Scope, actor: User, set_id: int | None, term: str, synonym: str) -> SynonymAdded:
    """Make `synonym` another name of `term` in the lexicon of a set, or (None) of the tenant, and publish it.

    A term that the lexicon does not have is added, one that was only suggested is approved. Raises NotFoundError,
    NotAllowedError, MissingRightError; LexiconTermError also for a term that somebody has rejected.
    """
    home = lexicon_set_get(scope=scope, set_id=set_id)
    known = terms_of(scope=scope, knowledge_set=home).filter(key=term_key(term)).order_by("pk").first()
    if known is not None and known.status == LexiconTerm.Status.REJECTED:
        raise LexiconTermError("rejected", term=known.text)
    names = [*known.synonyms, synonym] if known is not None else [synonym]
    before = {term_key(name) for name in known.synonyms} if known is not None else set()
    was_approved = known is not None and known.status == LexiconTerm.Status.APPROVED
    saved = term_save(
        scope=scope,
        actor=actor,
        term_id=known.pk if known is not None else None,
        set_id=set_id,
        values={"text": known.text if known else term, "synonyms": names, "status": LexiconTerm.Status.APPROVED},
        origin=LexiconTerm.Origin.REMEDY,
    )
    change = LexiconChange.objects.filter(term_id=saved.pk, undone=None).order_by("-pk").first()
    was_new = known is None or term_key(synonym) not in before or not was_approved
    version = lexicon_publish_term(
        scope=scope,
        actor=actor,
        set_id=set_id,
        key=saved.key,
        long_form=saved.long_form,
        note=f"{term} = {synonym}"[:200],
    )
    return SynonymAdded(term=saved, change_id=change.pk if change and was_new else None, version=version)


@transaction.atomic
def synonym_undo(*, scope: Scope, actor: User, change_id: int) -> LexiconVersion:
    """Take back what `synonym_add` did, and publish that. Raises as `change_undo`."""
    change_undo(scope=scope, actor=actor, change_id=change_id)
    change = LexiconChange.objects.get(pk=change_id)
    changed = change.after or change.before or {}
    return lexicon_publish_term(
        scope=scope,
        actor=actor,
        set_id=change.knowledge_set_id,
        key=term_key(changed.get("text", change.text)),
        long_form=changed.get("long_form", ""),
    )

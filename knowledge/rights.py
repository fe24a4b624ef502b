"""What each role may do with knowledge sets, documents and sources; asked by `knowledge.selectors.sets`."""

from __future__ import annotations

from accounts.roles import ADMINISTRATORS, EDITORS, EVERYBODY, OWNERS, Role, act

SET_LIST = act(
    "set.list", on="knowledge set", says="see that it exists: name, category, owners; ask for access", roles=EVERYBODY
)
SET_READ = act(
    "set.read",
    on="knowledge set",
    says="ask, read and cite its documents up to the own clearance",
    roles=frozenset({Role.OWNER, Role.EDITOR}),
    besides="members, and everybody of the tenant where the set is open to everyone",
)
SET_CURATE = act(
    "set.curate",
    on="knowledge set",
    says="add, change and remove documents and passages",
    roles=EDITORS,
    besides="of a document in several sets: with this right in all of them",
)
LEXICON_CHANGE = act(
    "lexicon.change",
    on="lexicon of the tenant",
    says="see, change, publish, search documents for terms",
    roles=ADMINISTRATORS,
    besides="the lexicon of a set: with the right to change its documents",
)
SET_CHANGE = act(
    "set.change",
    on="knowledge set",
    says="change name, visibility, people, settings and sources; re-process; delete; decide about access",
    roles=OWNERS,
)
PLACES_MANAGE = act(
    "places.manage",
    on="folder or private host",
    says="give to a tenant, change, take back",
    roles=frozenset({Role.PLATFORM_ADMIN}),
)
PLACES_USE = act(
    "places.use",
    on="folder or private host",
    says="see and use the tenant's own for sources",
    roles=OWNERS,
    besides="owners only those that are open to them",
)
MODELS_MANAGE = act(
    "models.manage",
    on="language model",
    says="connect, change, test, remove; say what it is used for",
    roles=frozenset({Role.PLATFORM_ADMIN}),
)
MODELS_SEE = act(
    "models.see", on="language model", says="see which one is used for what, without servers", roles=ADMINISTRATORS
)
SOURCE_CHANGE = act("source.change", on="source", says="change, run, hand over, delete", roles=OWNERS)

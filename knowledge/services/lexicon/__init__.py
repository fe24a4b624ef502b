"""The lexicon: editing terms, files, publishing, and finding terms in documents."""

from knowledge.services.lexicon.mining import MiningOptions, mining_cancel, mining_start
from knowledge.services.lexicon.publishing import (
    lexicon_publish,
    lexicon_publish_cancel,
    lexicon_roll_back,
    lexicon_version_drop,
    lexicon_version_use,
)
from knowledge.services.lexicon.remedies import synonym_add, synonym_undo
from knowledge.services.lexicon.terms import change_undo, term_delete, term_save, terms_decide, terms_delete

__all__ = [
    "MiningOptions",
    "change_undo",
    "lexicon_publish",
    "lexicon_publish_cancel",
    "lexicon_roll_back",
    "lexicon_version_drop",
    "lexicon_version_use",
    "mining_cancel",
    "mining_start",
    "synonym_add",
    "synonym_undo",
    "term_delete",
    "term_save",
    "terms_decide",
    "terms_delete",
]

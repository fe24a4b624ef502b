"""Errors of terms of a lexicon and of decisions about names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ragcore.errors import PermanentError, Sentence


class EntityDecisionError(PermanentError):
    """A decision about names that means nothing."""

    code = "invalid_entity_decision"
    default_message = "This decision cannot be made."
    reasons: ClassVar[Mapping[str, Sentence]] = {"same_name": "'%(name)s' is one name already, however it is written."}


class LexiconTermError(PermanentError):
    """A term of the lexicon that cannot be kept as it is."""

    code = "invalid_term"
    default_message = "This term cannot be kept."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "empty": "A term needs at least one letter or digit.",
        "long": "A name has at most %(limit)s characters: %(term)s…",
        "names": "A term has at most %(limit)s synonyms or translations.",
        "choice": "'%(value)s' is no value of %(field)s.",
        "too_many": "A lexicon has at most %(limit)s terms.",
        "changed": "'%(term)s' has been changed again since. Undo the later change first.",
        "hidden": "This change includes terms that you may not see. Only somebody who may see them can undo it.",
        "in_use": "This version is in use already.",
        "busy": "Documents are being searched for terms already.",
        "file": "The file cannot be read: it must be CSV or TSV in UTF-8, UTF-16 or GB 18030, or TBX.",
        "file_size": "The file is larger than %(limit_mb)s MB.",
        "columns": "The first line must name the columns, among them 'term'.",
        "tbx": "The TBX file cannot be read from line %(line)s on: it is no well-formed XML in the encoding it names.",
        "tbx_root": "The file is XML, but no TBX: it must begin with <tbx> or <martif>.",
        "tbx_entities": "The TBX file declares entities or elements of its own, which are not read.",
    }

"""Errors of terms of a lexicon and of decisions about names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ragcore.errors import PermanentError, Sentence


class EntityDecisionError(PermanentError):
    """A decision about names that means nothing."""

    code = "invalid_entity_decision"
    default_message = "This decision cannot be made."
    reasons: ClassVar[Mapping[str, Sentence]] = {"same_name": "'%(name)s' is already one name in all its spellings."}


class LexiconTermError(PermanentError):
    """A term of the lexicon that cannot be kept as it is."""

    code = "invalid_term"
    default_message = "This term cannot be saved."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "empty": "A term needs at least one letter or digit.",
        "long": "A name has at most %(limit)s characters: %(term)s…",
        "names": "A term has at most %(limit)s synonyms or translations.",
        "kind": "'%(value)s' is not a kind. Use term, abbreviation or name.",
        "status": "'%(value)s' is not a status. Use suggested, approved or rejected.",
        "language": "'%(value)s' is not a supported language. Use Chinese, English or other.",
        "too_many": "A lexicon has at most %(limit)s terms.",
        "changed": "'%(term)s' has been changed again since. Undo the later change first.",
        "hidden": "This change includes terms that you cannot see. Only someone who can see them can undo it.",
        "in_use": "This version is already in use.",
        "over": "This version is no longer being published.",
        "rejected": "Somebody has rejected the term '%(term)s'. Approve it in the lexicon first.",
        "busy": "Documents are already being searched for terms.",
        "file": "The file cannot be read: it must be CSV or TSV in UTF-8, UTF-16 or GB 18030, or TBX.",
        "encoding": "The file cannot be read: its encoding is uncertain. Save it as UTF-8, then import it again.",
        "quotes": "The file cannot be read from line %(line)s on: a quotation mark is missing or too many.",
        "file_size": "The file is larger than %(limit_mb)s MB.",
        "columns": "The first line must name the columns, among them 'term'.",
        "column_twice": "The columns '%(first)s' and '%(second)s' mean the same. Keep one of them.",
        "cells": "The line has more cells than there are columns. Put a cell with a comma or a separator in quotes.",
        "line_break": "Line break in '%(text)s'. Is a quotation mark missing? Lines up to %(last)s were read as one.",
        "tbx": "The TBX file cannot be read from line %(line)s on: it is no well-formed XML in the encoding it names.",
        "tbx_root": "The file is XML, but no TBX: it must begin with <tbx> or <martif>.",
        "tbx_entities": "The TBX file declares entities or elements of its own, which are not read.",
    }

"""Matching patterns that people have written, in bounded time.

Expressions run in the `regex` library because it can stop in the middle of a match; the one of the standard library
cannot, and one pattern such as `(a|aa)+$` would hold a worker for ever.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from functools import lru_cache

import regex

from knowledge.errors import RuleInvalidError
from knowledge.models import HandlerRule

MAX_PATTERN = 512  # characters
MAX_TEXT = 200_000  # characters of a document that rules look at
MATCH_SECONDS = 0.5  # for one rule on one document
CHECK_SECONDS = 0.2
HARD_TEXTS = ("a" * 3000 + "!", "ab" * 1500 + "!", "1" * 3000 + "!", " " * 3000 + "!", "a b-1_" * 500 + "!")

Match = HandlerRule.Match


def groups_found(*, match: str, pattern: str, text: str) -> Mapping[str, str] | None:
    """What the first match captured, "0" being all of it; None without a match. Case does not count.

    Raises TimeoutError after MATCH_SECONDS, RuleInvalidError for an expression that cannot be read.
    """
    looked_at = text[:MAX_TEXT]
    if match == Match.CONTAINS:
        return {"0": pattern} if pattern.casefold() in looked_at.casefold() else None
    expression = _compiled(fnmatch.translate(pattern) if match == Match.GLOB else pattern)
    found = expression.search(looked_at, timeout=MATCH_SECONDS)
    if found is None:
        return None
    captured = {str(number): text or "" for number, text in enumerate(found.groups(), 1)}
    return {"0": found.group(0), **captured, **{name: text or "" for name, text in found.groupdict().items()}}


def pattern_check(*, match: str, pattern: str) -> None:
    """Raises RuleInvalidError for patterns that cannot be read, or that take long on texts made to be hard."""
    if not pattern or len(pattern) > MAX_PATTERN:
        raise RuleInvalidError(f"A pattern has 1 to {MAX_PATTERN} characters.")
    if match != Match.REGEX:
        return
    expression = _compiled(pattern)
    try:
        for text in HARD_TEXTS:
            expression.search(text, timeout=CHECK_SECONDS)
    except TimeoutError:
        raise RuleInvalidError(
            f"The expression {pattern} takes too long on some texts. Avoid repetitions inside repetitions."
        ) from None


@lru_cache(maxsize=512)
def _compiled(expression: str) -> regex.Pattern[str]:
    try:
        return regex.compile(expression, flags=regex.IGNORECASE)
    except (regex.error, OverflowError, RecursionError) as error:
        raise RuleInvalidError(f"The expression {expression} cannot be read: {error}") from None

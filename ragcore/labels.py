"""Labels that people read, marked for translation where they are declared.

The core knows no languages: a marked text is an English message id. Callers that show it translate it. The name is
that of Django's own no-op, so `makemessages` collects the texts; modules import it as `_`.
"""

from __future__ import annotations


def gettext_noop(text: str) -> str:
    """The text as it is, marked for translation."""
    return text

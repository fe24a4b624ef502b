"""Notes on the language of sources: an answer has them in the language of its question, pages say them in theirs."""

from __future__ import annotations

import html
import re

from django.utils.html import format_html
from django.utils.translation import gettext as _

from ragcore.extractive.formatting import language_note

_NOTE = re.compile(r"<p(?: [^<>]*)?><strong>([^<>]*)</strong></p>")


def with_page_language(markup: str) -> str:
    """The HTML of an answer with these notes in the active language; everything else as it is."""
    return _NOTE.sub(_said, markup)


def _said(match: re.Match[str]) -> str:
    note = language_note(html.unescape(match[1]))
    if note is None:
        return match[0]
    if not note.titles:
        words = _("The source is in English") if note.language == "en" else _("The source is in Chinese")
    else:
        template = _("Sources in English: %(titles)s") if note.language == "en" else _("Sources in Chinese: %(titles)s")
        words = template % {"titles": note.titles}
    return format_html('<p class="language-note"><strong>{}</strong></p>', words)

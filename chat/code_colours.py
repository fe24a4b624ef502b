"""Code of answers in colours: classes for static/css/code.css, no styles of their own (B4)."""

from __future__ import annotations

from functools import cache
from html import escape

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

MAX_CHARACTERS = 20_000  # longer code is shown without colours


def coloured(code: str, language: str) -> str:
    """Escaped HTML of the code with `<span class="k">` around its parts; without any for a language nobody knows."""
    lexer = _lexer(language.lower()) if language and len(code) <= MAX_CHARACTERS else None
    return str(highlight(code, lexer, _formatter())) if lexer else escape(code)


@cache
def _formatter() -> HtmlFormatter[str]:
    return HtmlFormatter(nowrap=True)


@cache
def _lexer(language: str) -> Lexer | None:
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None

"""Loads URL patterns, translations and templates before the first request of a process."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.template import TemplateDoesNotExist, TemplateSyntaxError
from django.template.loader import get_template
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext

from ragsite.env import PROJECT_ROOT

FOLDER = PROJECT_ROOT / "templates"


def warm_pages() -> int:
    """Fill the caches that Django keeps of templates, addresses and catalogs; how many templates were read.

    A template that cannot be read alone, because it is a part of another one, is left to its page.
    """
    for language, _name in settings.LANGUAGES:
        with translation.override(language):
            reverse("chat:home")
            gettext("Sources")
    return sum(map(_is_read, _names()))


def _names() -> list[str]:
    paths: list[Path] = sorted(FOLDER.rglob("*.html"))
    return [path.relative_to(FOLDER).as_posix() for path in paths]


def _is_read(name: str) -> bool:
    try:
        get_template(name)
    except (TemplateDoesNotExist, TemplateSyntaxError):
        return False
    return True

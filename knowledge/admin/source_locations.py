"""What is entered as the location of a source: one text with an example for each kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from knowledge.connectors import connector_kinds
from knowledge.models import Source

NONE = _("Not needed. Documents are sent to this source.")
OWN_HELP: Mapping[str, Any] = {
    Source.Kind.FOLDER: _("The whole path of a folder on the machine of this site, such as /srv/documents/support."),
    Source.Kind.URL: _("Addresses of pages, one per line, such as https://www.example.com/manual/install.html."),
    Source.Kind.SITEMAP: _("The address of a site map, such as https://www.example.com/sitemap.xml."),
    Source.Kind.UPLOAD: NONE,
    Source.Kind.WEBHOOK: NONE,
    Source.Kind.API: NONE,
}


def locations_help(kinds: Sequence[str], *, chosen: str, folders: Sequence[str]) -> SafeString:
    """The texts of these kinds; a script shows that of the kind that is chosen. `folders`: that may be entered."""
    return format_html_join(
        "",
        '<span class="rs-location" data-kind="{}"{}>{}</span>',
        ((kind, "" if kind == chosen else SafeString(" hidden"), location_help(kind, folders)) for kind in kinds),
    )


def location_help(kind: str, folders: Sequence[str]) -> str:
    """The text of one kind."""
    if kind in OWN_HELP:
        words = str(OWN_HELP[kind])
    else:
        words = str(connector_kinds()[kind].location_help) if kind in connector_kinds() else ""
    if kind == Source.Kind.FOLDER and folders:
        words += " " + _("Folders allowed here: %(folders)s") % {"folders": ", ".join(folders)}
    return words

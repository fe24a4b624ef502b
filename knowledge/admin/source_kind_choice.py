"""The choice of a system in the form of a new source: kinds in groups, each with a line on what it brings in.

Without scripts it is a select; source_kind.js makes cards of it and shows the fields of the chosen kind only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget

from knowledge.connectors import connector_kinds
from knowledge.models import Source
from knowledge.models.sources import source_kinds
from knowledge.services.sources.sync_runs import LISTED_KINDS

Kind = Source.Kind
FILES = (Kind.FOLDER, Kind.URL, Kind.SITEMAP, "crawl", "feed", "storage", "git")
SENT = (Kind.UPLOAD, Kind.WEBHOOK, Kind.API)
SUMMARIES: Mapping[str, Any] = {
    Kind.FOLDER: _("Files of a folder on the machine of this site."),
    Kind.URL: _("Single pages, by their addresses."),
    Kind.SITEMAP: _("All pages that the site map of a website lists."),
    Kind.UPLOAD: _("Files that people upload here by hand."),
    Kind.WEBHOOK: _("A system reports its changes to this site."),
    Kind.API: _("A program sends documents by the REST API."),
}


def kind_choices() -> list[tuple[Any, list[tuple[str, Any]]]]:
    """Groups of (kind, label): files and websites, systems, and what is sent to this site."""
    labels = dict(source_kinds())
    systems = [kind for kind in labels if kind not in FILES and kind not in SENT]
    groups = ((_("Files and websites"), FILES), (_("Systems"), systems), (_("Sent to this site"), SENT))
    return [(title, [(str(kind), labels[kind]) for kind in kinds if kind in labels]) for title, kinds in groups]


def kind_summary(kind: str) -> Any:
    """What sources of a kind bring in, in a line."""
    return SUMMARIES[kind] if kind in SUMMARIES else connector_kinds()[kind].summary


class KindSelect(UnfoldAdminSelectWidget):  # type: ignore[misc]  # the theme has no types
    """A select whose options tell the script what they are and which fields they have."""

    def create_option(self, name: str, value: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The option of a kind."""
        option: dict[str, Any] = super().create_option(name, value, *args, **kwargs)
        connector = connector_kinds().get(str(value))
        credentials = connector.credential_fields if connector else ()
        takes = {
            "listed": value in LISTED_KINDS,
            "host": value in LISTED_KINDS and value != Kind.FOLDER,
            "login": any("user" in fields for fields in credentials),
            "secret": bool(credentials) or value == Kind.WEBHOOK,
            "webhook": any("webhook" in fields for fields in credentials),
        }
        option["attrs"]["data-summary"] = kind_summary(str(value))
        option["attrs"]["data-takes"] = " ".join(name for name, has_it in takes.items() if has_it)
        return option

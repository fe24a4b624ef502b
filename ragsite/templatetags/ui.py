"""Template tags and filters: icons, numbers, times, votes, names of options and errors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from pathlib import PurePath
from typing import Any

from django import template
from django.conf import settings
from django.contrib.admin.utils import label_for_field
from django.contrib.humanize.templatetags.humanize import intcomma
from django.templatetags.static import static
from django.utils.dateparse import parse_datetime
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.error_messages import code_message, stored_message
from accounts.models import User
from accounts.relative_time import exact_day, exact_time, relative_time
from accounts.selectors import person_name, roles_in_words
from chat.answering.fallback import without_introduction
from chat.error_messages import answer_html
from chat.models import Message
from chat.pages.figure_markup import figures_placed
from chat.pages.view_models import TurnView
from chat.rendering.figures import with_figures
from chat.rendering.source_notes import with_page_language
from chat.rendering.terms import mark_terms
from feedback.models import Vote
from knowledge.models import KnowledgeSet
from knowledge.selectors.options import option_label, value_label
from notifications.selectors import unread_count
from ragcore.text.markdown import plain_text

register = template.Library()
# the line below the head of a table, also one that was cut off or already has dots between its cells
_RULER = re.compile(r"(?<!\S):?-{3,}:?(?:\s*[·|]\s*:?-*:?)*(?!\S)")
SLIDES = frozenset((".pptx", ".odp", ".ppt", ".dps"))  # endings of files whose pages are slides
MODELS = {
    "model": gettext_lazy("Language model"),
    "embedder": gettext_lazy("Embedding model"),
    "reranker": gettext_lazy("Reranker"),
}


@register.simple_tag
def icon(name: str, extra: str = "") -> SafeString:
    """An icon of static/icons.svg; decoration only, the words stand beside it or in aria-label."""
    classes = f"icon icon-{name} {extra}".strip()
    return format_html(
        '<svg class="{}" aria-hidden="true"><use href="{}#{}"></use></svg>', classes, static("icons.svg"), name
    )


@register.simple_tag
def unread_notifications(user: User) -> int:
    """How many notifications the person has not read."""
    return unread_count(user_id=user.pk)


@register.simple_tag
def bar(share: float, extra: str = "") -> SafeString:
    """A strength from 0 to 1 as a bar; inline styles are forbidden, so the width is an attribute of SVG."""
    return format_html(
        '<svg class="{}" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">'
        '<rect width="{}" height="4"></rect></svg>',
        f"bar {extra}".strip(),
        round(100 * min(max(share, 0.0), 1.0), 1),
    )


@register.filter
def duration(seconds: float | None) -> str:
    """`0.04` → 40 ms, `1.23` → 1.2 s, `75` → 1 min 15 s."""
    if seconds is None:
        return ""
    if seconds < 0.1:
        return _("%(n)s ms") % {"n": max(1, round(seconds * 1000)) if seconds else 0}
    if seconds < 60:
        return _("%(n)s s") % {"n": number_format(round(seconds, 1), 1)}
    return _("%(minutes)d min %(seconds)d s") % {"minutes": seconds // 60, "seconds": seconds % 60}


@register.simple_tag
def ago(moment: datetime | None) -> SafeString | str:
    """`2 minutes ago`, the exact time on hover; a script keeps it true."""
    if moment is None:
        return ""
    return format_html(
        '<time datetime="{}" title="{}" data-ago>{}</time>',
        moment.isoformat(),
        exact_time(moment),
        relative_time(moment),
    )


@register.filter
def moment(text: str | None) -> datetime | None:
    """The time of a stored ISO text; None for anything else."""
    return parse_datetime(text) if text else None


@register.filter
def place_in(number: int, file: str) -> str:
    """The place `number` in a file of this name: its slide 3, else its page 3."""
    return (_("slide %(number)s") if _has_slides(file) else _("page %(number)s")) % {"number": number}


@register.filter
def places_in(number: int, file: str) -> str:
    """How many pages, or slides, a file of this name has."""
    if _has_slides(file):
        words = ngettext("%(number)s slide", "%(number)s slides", number)
    else:
        words = ngettext("%(number)s page", "%(number)s pages", number)
    return words % {"number": number}


def _has_slides(file: str) -> bool:
    return PurePath(file).suffix.lower() in SLIDES


@register.filter
def exact(moment: date | None) -> str:
    """A time as 2026-11-28 16:05, a day as 2026-11-28; "" for None."""
    if moment is None:
        return ""
    return exact_time(moment) if isinstance(moment, datetime) else exact_day(moment)


@register.filter
def day(moment: date | None) -> str:
    """The day of a time, or a day: 2026-11-28; "" for None."""
    return exact_day(moment) if moment is not None else ""


@register.filter
def machine_time(moment: date | None) -> str:
    """ISO 8601 with its zone, for attributes that scripts and browsers read; "" for None."""
    return moment.isoformat() if moment is not None else ""


@register.filter
def unix_seconds(moment: datetime | None) -> str:
    """Seconds since 1970 with microseconds, for scripts; "" for None."""
    return f"{moment.timestamp():.6f}" if moment is not None else ""


@register.filter
def thousands(number: int) -> str:
    """`12431` → 12,431."""
    return str(intcomma(number))


@register.filter
def person(user: User) -> str:
    """The name of a person, the family name first where it is Chinese; else the user name."""
    return person_name(user)


@register.filter
def roles(user: User) -> str:
    """What the person is here, such as "owner, reviewer"."""
    return ", ".join(roles_in_words(user))


@register.filter
def row_error(row: Any) -> str:
    """The error of a document or an ingestion item in the user's language."""
    return stored_message(row.error_code, row.error_message, row.error_data)


@register.filter
def stored_error(entry: Mapping[str, Any]) -> str:
    """The message of an entry in the report of a run, in the user's language."""
    return stored_message(entry.get("code", ""), entry["message"], entry.get("data"))


@register.filter
def error_of_code(code: str) -> str:
    """The message of an error of which only the code was stored, in the user's language."""
    return code_message(code)


@register.simple_tag
def setting(group: str, name: str) -> str:
    """An option, a prompt, a text of a set or a model as people read its name."""
    if group == "texts":
        return str(label_for_field(name, KnowledgeSet)).capitalize()
    if group == "prompt":
        return _("Prompt: %(name)s") % {"name": name}
    return str(MODELS[name]) if group == "model" and name in MODELS else option_label(group, name)


@register.simple_tag
def setting_value(group: str, name: str, value: Any) -> str:
    """A value of it as people read it; a text of a set as it stands."""
    if group == "texts":
        return str(value or "–")
    return value_label(group, name, "" if value is None else value)


@register.filter
def shortcoming(message: Message) -> str:
    """Why an answer is incomplete, in the user's language."""
    return stored_message("", message.metadata.get("error_message") or "")


@register.filter
def answer(turn: TurnView) -> SafeString:
    """The stored HTML of an answer, which was sanitised when it was made; its reasons in the user's language, terms of
    the lexicon marked, without what the notice above it says. Pictures of cited passages stand where these are cited.
    """
    html = answer_html(turn.message)
    if turn.notice == "search_results":
        html = without_introduction(html)
    marked = mark_terms(with_page_language(html), turn.terms)
    if turn.notice != "search_results":
        marked = with_figures(marked, figures_placed(turn.figures))
    return mark_safe(marked)  # noqa: S308


@register.filter
def without_marks(markdown: str) -> str:
    """A passage in one line, without marks of headings, lists, emphasis, pictures and rulers of tables."""
    lines = (plain_text(line.lstrip().lstrip("#")) for line in markdown.splitlines())
    return " ".join(_RULER.sub(" ", " ".join(filter(None, lines))).split())


@register.simple_tag
def vote_reasons() -> list[tuple[str, str]]:
    """Why an answer was not helpful: (value, words)."""
    return [(str(value), str(words)) for value, words in Vote.Reason.choices]


@register.simple_tag
def keep_attachments_days() -> int:
    """Days after which attached files are deleted; 0: only with their conversation."""
    return int(settings.KEEP_ATTACHMENTS_DAYS or 0)


@register.simple_tag
def ratings() -> list[tuple[int, str]]:
    """What an answer may be rated with, the best first: (1 to 5, words)."""
    return [
        (5, _("Very good")),
        (4, _("Good")),
        (3, _("Fair")),
        (2, _("Poor")),
        (1, _("Very poor")),
    ]


@register.simple_tag
def votes_of(user: User, turns: Iterable[TurnView]) -> dict[Any, Vote]:
    """The user's votes on these answers: message id → vote."""
    votes = Vote.objects.filter(user=user, message__in=[turn.message.pk for turn in turns])
    return {vote.message_id: vote for vote in votes}


@register.filter
def said(vote: Vote | None) -> str:
    """A stored vote (reasons, comment, rating) as JSON for its edit form."""
    if vote is None:
        return "{}"
    return json.dumps({"reasons": vote.reasons, "comment": vote.comment, "rating": vote.rating})


@register.filter
def lookup(values: dict[Any, Any] | None, key: Any) -> Any:
    """`values[key]`, or None."""
    return values.get(key) if values else None

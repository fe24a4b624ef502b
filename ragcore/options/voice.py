"""House style: how answers sound."""

from __future__ import annotations

from dataclasses import dataclass

from ragcore.labels import gettext_noop as _
from ragcore.options.declaration import Choice, option, option_group

_TONES = (
    Choice("", _("as the documents")),
    Choice("plain", _("plain and neutral")),
    Choice("friendly", _("friendly and personal")),
    Choice("formal", _("formal and polite")),
    Choice("technical", _("technical, for experts")),
)


@option_group("voice", _("House style"))
@dataclass(frozen=True, slots=True, kw_only=True)
class VoiceOptions:
    """How answers sound. It reaches the language model behind the rules of grounding, which it cannot lift."""

    assistant_name: str = option(
        "", _("Name of the assistant"), _("What the assistant calls itself when asked."), everyday=True
    )
    tone: str = option(
        "", _("Tone"), _("Needs a language model, as everything in this group."), choices=_TONES, everyday=True
    )
    audience: str = option(
        "",
        _("Audience"),
        _("Who reads the answers, for example: engineers on site, new employees."),
        longest=200,
        everyday=True,
    )
    avoid_words: str = option(
        "",
        _("Words to avoid"),
        _("Separated by commas. Names, quotations and values of the sources keep their words."),
        longest=500,
        everyday=True,
    )
    habits: str = option(
        "",
        _("Language habits"),
        _("For example: say “you”, write dates as 2026-11-23, explain abbreviations once."),
        longest=500,
        everyday=True,
    )

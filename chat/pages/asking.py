"""Choices of style and depth in the composer, with labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.scope import Scope
from chat.conversations.preferences import preferences_get
from ragcore.options import find_option


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingChoice:
    """One value with its words."""

    value: str
    name: Promise
    note: Promise


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingView:
    """The choices, and what the person has chosen last."""

    style: str
    depth: str
    hints_seen: bool

    @property
    def styles(self) -> Sequence[AskingChoice]:
        return STYLES

    @property
    def depths(self) -> Sequence[AskingChoice]:
        return DEPTHS

    @property
    def label(self) -> str:
        """What the button says: only what differs from "automatic"."""
        chosen = [*self._named(STYLES, self.style), *self._named(DEPTHS, self.depth)]
        return " · ".join(chosen) or str(STYLES[0].name)

    @staticmethod
    def _named(choices: Sequence[AskingChoice], value: str) -> list[str]:
        return [str(choice.name) for choice in choices if choice.value == value and value]


def _named(option: str, value: str) -> Promise:
    """What the settings call this value, too."""
    declared = find_option("answer", option)
    return _(declared.choice_name(value) if declared else value)


STYLES = (
    AskingChoice(value="", name=_("Automatic"), note=_("As the knowledge set is configured")),
    AskingChoice(value="simple", name=_named("style", "simple"), note=_("A few plain sentences")),
    AskingChoice(value="report", name=_named("style", "report"), note=_("Conclusion first, then the details")),
    AskingChoice(
        value="advanced",
        name=_named("style", "advanced"),
        note=_("Combines several sources, tells what they lack"),
    ),
    AskingChoice(value="precise", name=_named("style", "precise"), note=_("Every sentence cited, close to the source")),
)
DEPTHS = (
    AskingChoice(value="", name=_("Automatic"), note=_("As the knowledge set is configured")),
    AskingChoice(value="fast", name=_named("preset", "fast"), note=_("One search, answers soonest")),
    AskingChoice(value="cheap", name=_named("preset", "cheap"), note=_("One search by meaning, a short answer")),
    AskingChoice(value="thorough", name=_named("mode", "enhanced"), note=_("Also searches with other words")),
    AskingChoice(
        value="parts", name=_named("rewrite_method", "decompose"), note=_("Searches for each part of the question")
    ),
    AskingChoice(
        value="adaptive",
        name=_named("strategy", "adaptive"),
        note=_("Simple questions fast, difficult ones in steps"),
    ),
    AskingChoice(
        value="accurate", name=_named("preset", "accurate"), note=_("Checks passages and answer, and tries again")
    ),
    AskingChoice(
        value="research", name=_named("mode", "ultimate"), note=_("Searches again until enough is found; slowest")
    ),
)


_STYLE = {choice.value: choice for choice in STYLES}
_DEPTH = {choice.value: choice for choice in DEPTHS}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgainChoice:
    """A way to answer a question once more; "" for style or depth: as the composer says."""

    icon: str
    name: Promise
    note: Promise
    style: str = ""
    depth: str = ""


AGAIN = (
    AgainChoice(icon="retry", name=_("Answer again"), note=_("A fresh answer to the same question")),
    AgainChoice(icon="shorter", name=_("Shorter"), note=_STYLE["simple"].note, style="simple"),
    AgainChoice(icon="longer", name=_("More detailed"), note=_STYLE["report"].note, style="report", depth="thorough"),
    AgainChoice(icon="check", name=_("Closer to the sources"), note=_STYLE["precise"].note, style="precise"),
    AgainChoice(icon="search", name=_("Deep search"), note=_DEPTH["research"].note, depth="research"),
)


def asking_view(*, scope: Scope) -> AskingView:
    """For the page, with what the person has chosen last."""
    preferences = preferences_get(scope=scope)
    return AskingView(style=preferences.style, depth=preferences.depth, hints_seen=preferences.hints_seen)

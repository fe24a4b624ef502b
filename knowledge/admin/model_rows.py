"""How pages show language models: the line of a purpose, and states that stay up to date."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounts.admin.base import ago
from knowledge.services.exam_states import ExamState
from knowledge.services.model_states import ModelState

FILE_KINDS = ("loading", "not_loaded")  # of the model of LLM_FILE before it can be asked
HEALTH_KINDS = {
    "works": "live",
    **dict.fromkeys(("failed", "failing", "not_loaded"), "failed"),
    **dict.fromkeys(("untested", "testing", "loading", "off"), "empty"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PurposeRow:
    """A line of the table of purposes."""

    purpose: str
    label: str
    model: str
    is_locked: bool
    address: str  # of its page or ""
    servers: Sequence[str]
    fingerprint: str = ""  # of a model in use, whose profile can be seen
    state: ModelState | None = None  # None: there is no model
    exam: ExamState | None = None  # None: not one that is examined

    @property
    def can_be_tested(self) -> bool:
        """Whether the page offers a test: of a model of the environment, once it is loaded."""
        return self.is_locked and self.state is not None and self.state.kind not in FILE_KINDS


def state_shown(state: ModelState, *, place: str, exam: ExamState | None) -> SafeString:
    """How a model is, why and since when, and its exam; kept up to date on the page. `place`: identifies it there."""
    is_open = state.kind in ("testing", "loading") or (exam is not None and exam.is_open)
    return live_shown(
        place,
        format_html(
            '<span class="rs-health" data-kind="{}">{}</span> {} {}{}',
            HEALTH_KINDS[state.kind],
            state.words,
            state.reason,
            ago(state.time) if state.time is not None else "",
            format_html("<br>{}", exam.words) if exam is not None else "",
        ),
        is_open=is_open,
    )


def live_shown(place: str, content: SafeString | str, *, is_open: bool = False) -> SafeString:
    """A part of a page that stays up to date."""
    return format_html(
        '<span id="{}" data-live data-open="{}"><span data-part="{}">{}</span></span>',
        place,
        int(is_open),
        place,
        content,
    )

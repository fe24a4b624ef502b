"""What the feedback app does at night: each step by itself, so that one that fails keeps no other from its turn."""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.utils import timezone

from feedback.answer_checks import LOOKED_BACK_AT_NIGHT, answers_check
from feedback.signal_months import signal_months_make, signals_expire

logger = logging.getLogger(__name__)


def feedback_maintain() -> None:
    """Make months of signals ahead, remove old signals, look once more at the answers of the last days."""
    _step(signal_months_make)
    _step(signals_expire)
    _step(lambda: answers_check(since=timezone.now() - LOOKED_BACK_AT_NIGHT))


def _step(work: Callable[[], object]) -> None:
    try:
        work()
    except Exception:
        logger.exception("a step of the nightly maintenance of feedback failed")

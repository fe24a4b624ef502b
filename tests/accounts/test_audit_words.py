"""Everything that the audit log records has words."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from django.utils import translation

from accounts.audit.words import LABELS, VALUES, details_in_words, outcome_in_words, target_in_words

ROOT = Path(__file__).resolve().parents[2]
APPS = ("accounts", "chat", "knowledge", "evaluation", "feedback", "notifications", "ragsite", "work")
OF_THE_CALL = {"actor", "action", "target", "tenant_id", "data", None}


def recorded() -> Iterator[tuple[str, str]]:
    """(key, place) of each detail that is given by name."""
    for app in APPS:
        for path in (ROOT / app).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if not isinstance(node, ast.Call):
                    continue
                function = node.func
                name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
                if name in ("audit_record", "event_add"):
                    yield from ((str(one.arg), f"{path}:{node.lineno}") for one in node.keywords if one.arg)


def test_every_detail_has_a_label_in_both_languages():
    missing = sorted({(key, place) for key, place in recorded() if key not in LABELS and key not in OF_THE_CALL})
    assert missing == []
    with translation.override("zh-hans"):
        english = [key for key, words in LABELS.items() if str(words).isascii()]
    assert english == []


def test_codes_are_shown_in_words():
    assert details_in_words({"before": "in_work", "after": "closed"}) == [
        ("before", "In progress"),
        ("after", "Closed"),
    ]
    with translation.override("zh-hans"):
        shown = dict(details_in_words({"state": "open", "status": "refused"}))
        assert all(not str(value).isascii() for value in shown.values())
        assert all(not str(value).isascii() for value in VALUES.values())


def test_the_list_says_what_an_act_came_to():
    assert outcome_in_words("case.move", {"case": 1, "before": "open", "after": "closed"}) == "Open → Closed"
    assert outcome_in_words("model.test", {"codes": {"http://a": "ok", "http://b": "unreachable"}}) == "failed"
    assert outcome_in_words("model.test", {"codes": {"http://a": "ok"}}) == "passed"
    assert outcome_in_words("search_model.test", {"code": "timeout"}) == "failed"
    assert outcome_in_words("document.recut", {"before": {"size": 1}, "after": {"size": 2}}) == ""
    assert outcome_in_words("user.change", {"fields": ["name"]}) == ""


def test_an_id_that_nobody_can_read_is_cut_and_a_name_is_not():
    assert target_in_words("3f2a91c4-1b2c-4d5e-8f90-0123456789ab") == "#3f2a91c4…"
    assert target_in_words("3f2a91c4 of March") == "3f2a91c4 of March"

"""The interface says one thing in one way: words that were replaced do not come back (interface_words.tsv)."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from django.utils import translation

from chat.pages.asking import DEPTHS, STYLES
from ragcore.options import OPTION_GROUPS, option_fields
from tests.docs.test_translations import CATALOGS, entries

WORDS = Path(__file__).with_name("interface_words.tsv")


def rows() -> list[dict[str, str]]:
    with WORDS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def texts(language: str) -> list[tuple[str, str]]:
    """Message id and each text of it in this language."""
    start = "msgstr" if language == "zh" else "msgid"
    return [
        (entry["msgid"], text.replace("%%", "%"))
        for catalog in CATALOGS
        for entry in entries(catalog)
        for name, text in entry.items()
        if name.startswith(start)
    ]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_interface_does_not_use_words_that_were_replaced(language):
    replaced = [row for row in rows() if row["language"] == language]
    found = texts(language)

    faults = [
        f"{msgid!r}: {text!r} has {match[0]!r}; say: {row['say instead']}"
        for row in replaced
        for msgid, text in found
        if (match := re.search(row["expression"], text))
    ]

    assert len(replaced) > 10
    assert len(found) > 3000
    assert faults == []


def test_a_replaced_word_would_be_found():
    found = {row["say instead"]: row["expression"] for row in rows()}

    assert re.search(found["one per line"], "Names, one a line.")
    assert re.search(found["weak match"], "the best source hardly answers the question")
    assert re.search(found["查询向量，查询适配器"], "启用微调后的提问向量")


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_chat_and_the_settings_call_a_choice_by_the_same_name(language):
    options = option_fields(OPTION_GROUPS["answer"].options)
    with translation.override(language):
        labels = {
            (name, choice.value): (translation.gettext(choice.name), translation.gettext(choice.label))
            for name, field in options.items()
            for choice in field.option.choices
            if choice.name
        }
        chat = [str(choice.name) for choice in (*STYLES, *DEPTHS) if choice.value]

    assert all(label.startswith(name) for name, label in labels.values()), labels
    assert chat == [
        labels[key][0]
        for key in (
            ("style", "simple"),
            ("style", "report"),
            ("style", "advanced"),
            ("style", "precise"),
            ("preset", "fast"),
            ("preset", "cheap"),
            ("mode", "enhanced"),
            ("rewrite_method", "decompose"),
            ("strategy", "adaptive"),
            ("preset", "accurate"),
            ("mode", "ultimate"),
        )
    ]

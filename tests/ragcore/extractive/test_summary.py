"""The summary of a file from its own sentences (A4)."""

from __future__ import annotations

import pytest

from ragcore.extractive.formatting import WHOLE_ROWS, summary_blocks, wording_for
from ragcore.extractive.summary import summary_runs
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Passage, Source

HEAD = "| City | Limit per night |\n| --- | --- |\n"
CITIES = ("Hamburg", "Munich", "Stuttgart", "Dresden", "Rostock", "Bremen", "Kassel", "Essen", "Mainz", "Ulm")
PAIR = "Hotels are booked by the travel desk. Exceptions need the approval of the cost centre manager."


@pytest.fixture(scope="module")
def tokenizer():
    return JiebaTokenizer()


def summary(tokenizer, *texts):
    sources = [
        Source(
            number=at,
            passage=Passage(chunk=-at, document=-1, version=-1, text=text, title="Travel"),
            text=text,
            score=1.0,
        )
        for at, text in enumerate(texts, start=1)
    ]
    return "".join(summary_blocks(summary_runs(sources, tokenizer), wording_for("Summarise it", "en")))


def rows(cities):
    return "".join(f"| {city} | {100 + at} euros |\n" for at, city in enumerate(cities))


def test_a_small_table_is_kept_whole_with_its_head_once_also_over_two_passages(tokenizer):
    text = summary(tokenizer, f"# Travel\n\n{PAIR}\n\n{HEAD}{rows(CITIES[:2])}", f"{HEAD}{rows(CITIES[2:3])}")

    assert text.count("| City | Limit per night |") == 1
    assert [text.count(f"| {city} |") for city in CITIES[:3]] == [1, 1, 1]
    assert "euros [2] |" in text


def test_of_a_long_table_the_first_rows_are_shown_and_the_others_counted(tokenizer):
    cities = [f"{city} {side}" for city in CITIES for side in ("East", "West")]
    text = summary(tokenizer, f"{HEAD}{rows(cities)}")

    assert len(cities) > WHOLE_ROWS
    assert text.count("euros") == 5
    assert text.endswith("**15 more rows**")


def test_two_sentences_of_one_paragraph_stay_together(tokenizer):
    text = summary(tokenizer, f"# Travel\n\nThe handbook is for all employees of the company.\n\n{PAIR}")

    assert "travel desk. [1] Exceptions need the approval of the cost centre manager. [1]" in text

"""The summary of a file from its own sentences."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragcore.extractive.formatting import WHOLE_ROWS, summary_blocks, wording_for
from ragcore.extractive.summary import summarised_sources, summary_runs
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Passage, Source

HEAD = "| City | Limit per night |\n| --- | --- |\n"
CITIES = ("Hamburg", "Munich", "Stuttgart", "Dresden", "Rostock", "Bremen", "Kassel", "Essen", "Mainz", "Ulm")
PAIR = "Hotels are booked by the travel desk. Exceptions need the approval of the cost centre manager."


@pytest.fixture(scope="module")
def tokenizer():
    return JiebaTokenizer()


def source_of(text, at=1):
    passage = Passage(chunk=-at, document=-1, version=-1, text=text, title="Travel")
    return Source(number=at, passage=passage, text=text, score=1.0)


def summary(tokenizer, *texts):
    sources = [source_of(text, at) for at, text in enumerate(texts, start=1)]
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


def test_a_brief_summary_has_few_points_and_no_table(tokenizer):
    text = "# Travel\n\nTrips are approved by the manager.\n\nFlights are booked in economy class.\n\n"
    runs = summary_runs([source_of(f"{text}{HEAD}{rows(CITIES[:2])}")], tokenizer, most=2)

    assert [run[0].text for run in runs] == [
        "Trips are approved by the manager.",
        "Flights are booked in economy class.",
    ]


def test_the_section_that_the_wish_names_comes_first(tokenizer):
    text = (
        "# Review\n\n## Discussion\n\nThe antenna of the unit was compared with the antenna of the old unit.\n\n"
        "The unit has an antenna for the band of the old unit.\n\n## Costs\n\nThe budget was cut by a third.\n"
    )

    (wanted,) = summary_runs([source_of(text)], tokenizer, most=1, wish="sum up the costs in the review")
    (other,) = summary_runs([source_of(text)], tokenizer, most=1, wish="sum up the review")

    assert wanted[0].text == "The budget was cut by a third."
    assert other[0].heading == "Discussion"


def test_an_abstract_speaks_for_the_text_and_its_head_does_not(tokenizer):
    head = "Author: architect of links. Reviewers: the team of timers, speed and links."
    body = "Links are lost when timers are long and speed is high.\n\nA beam is lost when a train passes a mast."
    abstract = "Timers that depend on speed keep links and beams of a train."
    (plain,) = summary_runs([source_of(f"{head}\n\n{abstract}\n\n## Background\n\n{body}")], tokenizer, most=1)
    (run,) = summary_runs([source_of(f"{head}\n\nAbstract. {abstract}\n\n## Background\n\n{body}")], tokenizer, most=1)

    assert "Reviewers" not in plain[0].text
    assert abstract in [statement.text for statement in run]
    assert abstract not in [statement.text for statement in plain]


def test_what_two_passages_share_is_said_once_and_heads_of_messages_are_not(tokenizer):
    shared = "The cold store needs one more unit inside of its walls."
    first = f"The drop rate went down from 4.2 % to 0.6 % within two days.\n\n{shared}"
    second = f"{shared}\n\n-----Original Message-----\nFrom: Field service\n\nThe walk test had 212 calls and 9 drops."

    text = summary(tokenizer, first, second)

    assert text.count("cold store") == 1
    assert "Original" not in text
    assert "212 calls" in text


def message(number, document, title, text):
    passage = Passage(chunk=number, document=document, version=document, text=text, title=title)
    return Source(number=number, passage=passage, text=text, score=1.0)


def test_a_thread_is_summed_up_from_all_its_messages_and_a_document_from_itself_alone(tokenizer):
    sources = [
        message(1, 1, "RE: Offer for the mall", "We offer six months of service."),
        message(2, 2, "Travel rules", "Trips are approved by the manager."),
        message(3, 3, "Offer for the mall", "The mall asks for an offer."),
    ]

    thread = summarised_sources("sum up the mail thread on the offer for the mall", sources, tokenizer)
    rules = summarised_sources("sum up the travel rules", [replace(sources[1], number=1)], tokenizer)

    assert [source.number for source in thread] == [1, 3]
    assert [source.passage.title for source in rules] == ["Travel rules"]
    assert summarised_sources("sum up the travel rules", sources, tokenizer) == []

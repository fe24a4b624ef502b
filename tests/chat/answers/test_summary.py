"""What stands beside an answer."""

import pytest

from chat.answers.source_lines import SourceLine
from chat.answers.summary import summary_of
from chat.models import Message


def line(number, title, sets, *, cited=True, readable=True):
    return SourceLine(
        number=number,
        title=title,
        sets=sets,
        page=None,
        relevance=None,
        weak=False,
        cited=cited,
        readable=readable,
    )


def message(**reasoning):
    return Message(trace={"reasoning": reasoning})


def test_documents_and_topics_of_the_cited_sources_are_counted():
    sources = [
        line(1, "A", "Radio"),
        line(2, "A", "Radio"),
        line(3, "B", "Core · Radio"),
        line(4, "C", "Sites", cited=False),
    ]

    summary = summary_of(message(query_analysis={"cue": "process"}, unmentioned_words=["price"]), sources)

    assert summary.kind == "How something is done"
    assert summary.coverage == "2 documents on 2 topics"
    assert summary.unmentioned == ("price",)


def test_further_sources_are_of_sets_that_the_answer_does_not_cite():
    sources = [
        line(1, "A", "Radio"),
        line(2, "B", "Radio", cited=False),
        line(3, "C", "Sites", cited=False),
        line(4, "C", "Sites", cited=False),
        line(5, "", "", cited=False, readable=False),
    ]

    assert [one.number for one in summary_of(message(), sources).further] == [3]


@pytest.mark.parametrize(
    ("metadata", "reasoning", "plan"),
    [
        ({"chunks_found": 5}, {}, "One search"),
        ({"chunks_found": 5}, {"query_analysis": {"cue": "process"}}, "One search, for the steps"),
        ({"chunks_found": 5, "rewritten_queries": ["a", "b"]}, {}, "One search in 3 wordings"),
        (
            {"chunks_found": 5, "rewritten_queries": ["a"]},
            {"iterations": 2, "query_analysis": {"cue": "comparison"}},
            "Search in 2 rounds, for a description of each",
        ),
        ({"chunks_found": 5, "cache": "exact"}, {}, ""),  # another answer's search
        ({"chunks_found": 0}, {}, ""),
    ],
)
def test_the_plan_says_how_often_was_searched_and_for_what(metadata, reasoning, plan):
    asked = Message(metadata=metadata, trace={"reasoning": reasoning})

    assert summary_of(asked, []).plan == plan


def test_an_answer_without_sources_says_nothing_of_them():
    summary = summary_of(message(unmentioned_words=["price"]), [line(1, "A", "Radio", cited=False)])

    assert (summary.coverage, summary.unmentioned, summary.further) == ("", (), ())

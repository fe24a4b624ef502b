"""Which passages are listed where none answers."""

import pytest

from chat.answering.related import related_sources
from chat.answering.retrieval import SearchOutcome
from knowledge.search_profile import Retrieved
from knowledge.wiring import query_of
from ragcore.options import RetrievalOptions
from ragcore.options.layers import Resolved
from ragcore.types import Passage, Source, State

TEXTS = {
    1: "The small cell SC310 is on sale from May. Its price is not fixed.",
    2: "The canteen serves fish on Friday.",
    3: "小基站的价格在五月确定。",
    4: "食堂周五供应鱼。",
}
KNOWN = {
    "price": 2.0,
    "sc310": 2.5,
    "sc": 1.0,
    "310": 1.0,
    "cell": 1.0,
    "价格": 2.0,
    "基站": 1.5,
    "小基": 1.5,
    "站的": 1.0,
}


def related(question, cosines, *, min_cosine=0.3, origin="default", named=(), arms="dense"):
    query = query_of(question)
    weights = {term: KNOWN[term] for term in query.terms if term in KNOWN}
    query = type(query)(**{name: getattr(query, name) for name in query.__slots__} | {"weights": weights})
    scores = {chunk: cosine for chunk, cosine in cosines.items() if chunk > 0}
    state = State(query=query, arms={arms: scores} if arms else {}, named_documents=frozenset(named))
    options = Resolved(RetrievalOptions(min_cosine=min_cosine), {"min_cosine": origin})
    found = Retrieved(state=state, relevant=False, timings_ms={}, searched=4, options=options)
    sources = [
        Source(
            number=at, passage=Passage(chunk=chunk, document=abs(chunk), version=1, title="", text=TEXTS[abs(chunk)]),
            text=TEXTS[abs(chunk)], score=1 / at,
        )
        for at, chunk in enumerate(cosines, start=1)
    ]  # fmt: skip
    listed = related_sources(sources, SearchOutcome(retrieved=found, seconds=0.0))
    assert [source.number for source in listed] == list(range(1, len(listed) + 1))
    return [source.passage.chunk for source in listed]


@pytest.mark.parametrize(
    ("question", "cosines", "listed"),
    [
        ("price of the SC310", {1: 0.4, 2: 0.1}, [1]),
        ("price of the SC310", {2: 0.1, 1: 0.2}, [1]),
        ("what is the capital of Australia", {1: 0.1, 2: 0.1}, []),
        ("how do I bake bread", {2: 0.2, 1: 0.15}, []),
        ("how much money do you want for the little radio", {1: 0.4, 2: 0.2}, [1]),
        ("who painted the Mona Lisa", {1: 0.11, 3: 0.1}, []),
        ("小基站的价格是多少", {3: 0.3, 4: 0.2}, [3]),
        ("小基站的价格是多少", {4: 0.2, 3: 0.2}, [3]),
        ("如何种植番茄", {3: 0.16, 4: 0.14}, []),
        ("量子力学的测不准原理是什么", {4: 0.23, 3: 0.1}, []),
        ("火车票怎么退", {3: 0.1, 4: 0.21}, []),
        ("周五吃什么", {4: 0.45, 3: 0.1}, [4]),
        ("我昨天在现场和客户开会一直开到晚上十点半，请问小基站现在到底要多少钱", {3: 0.3, 4: 0.2}, [3]),
    ],
)
def test_only_what_shares_words_or_meaning_is_listed(question, cosines, listed):
    assert related(question, cosines) == listed


def test_a_named_document_and_an_attached_file_are_always_listed():
    assert related("what is the capital of Australia", {1: 0.1, 2: 0.1}, named={2}) == [2]
    assert related("what is the capital of Australia", {-1: 0.0, 2: 0.1}) == [-1]


def test_a_site_that_lets_everything_through_lists_everything():
    assert related("how do I bake bread", {2: 0.2, 1: 0.15}, min_cosine=0.0, origin="site") == [2, 1]


def test_a_stricter_line_for_answers_is_no_line_for_lists():
    assert related("price of the SC310", {1: 0.4, 2: 0.1}, min_cosine=1.0, origin="set") == [1]


def test_without_vectors_the_words_decide():
    assert related("price of the SC310", {1: 0.0, 2: 0.0}, arms="") == [1]

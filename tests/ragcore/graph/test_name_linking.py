import numpy as np
import pytest

from ragcore.graph.name_linking import (
    LinkedEntity,
    alike_in,
    corrected,
    entities_by_meaning,
    entities_near,
    misspelt_entities,
    surely_meant,
)
from ragcore.graph.paths import MemoryGraph, PathSearch
from tests.ragcore.graph.facts import FACTS, Hashes, triple

GRAPH = MemoryGraph([*FACTS, triple("Amsterdam Airport | owner | Royal Schiphol Group")])


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Who is the leader of Belgum?", "Who is the leader of belgium?"),
        ("Where was Charles Michell born?", "Where was charles michel born?"),
        ("Who owns Amsterdm Airport?", "Who owns amsterdam airport?"),
        ("Who owns AmsterdamAirport?", "Who owns amsterdam airport?"),
        ("Who is the leader of Belgium?", "Who is the leader of Belgium?"),
        ("Who is the leader of Bulgaria?", "Who is the leader of Bulgaria?"),
        ("What is TS 38.212?", "What is TS 38.212?"),
        ("随机接入属于什么层？", "随机接入属于什么层？"),
        ("", ""),
    ],
)
def test_a_misspelt_name_is_read_as_the_entity_and_another_name_is_left_alone(question, said):
    assert corrected(question, misspelt_entities(question, GRAPH)) == said


def test_a_misspelt_question_over_two_facts_is_answered():
    question = "Where was Belgum's leader born?"
    asked = corrected(question, misspelt_entities(question, GRAPH))

    assert PathSearch(source=GRAPH).answer(asked)[0].answer == "Namur"


def test_a_long_name_is_found_with_a_slip_in_it():
    graph = MemoryGraph([triple("Edward of Norwich 2nd Duke of York | parent | Isabella of Castile")])
    question = "Who is the parent of Edward of Nowrich 2nd Duke of York?"

    assert [one.key for one in misspelt_entities(question, graph)] == ["edward of norwich 2nd duke of york"]


def test_names_are_alike_word_by_word_and_never_with_other_numbers():
    assert alike_in("amsterdm airport", "amsterdam airport") > 0.9
    assert alike_in("amsterdamairport", "amsterdam airport") > 0.8
    assert alike_in("release 15", "release 16") == 0
    assert alike_in("airport amsterdam", "amsterdam airport") == 0
    assert alike_in("x", "y") == 0


def test_words_mean_the_name_that_is_near_them():
    found = entities_by_meaning("Who runs the airport of Amsterdam?", ["Amsterdam airports", "Brussels"], Hashes())

    assert [one.key for one in found] in ([], ["amsterdam airports"])
    assert entities_by_meaning("Who is it?", ["Brussels"], Hashes()) == []
    [exact] = entities_by_meaning("Tell me about Brussels", ["Brussels", "Namur"], Hashes())
    assert (exact.key, exact.score > 0.9) == ("brussels", True)


class Near:
    """Names that a run of words is near to, by the run."""

    def __init__(self, **keys):
        self.keys, self.runs = keys, []

    def embed_documents(self, texts):
        self.runs = list(texts)
        return np.zeros((len(texts), 768), np.float32)

    def near(self, vectors, *, limit):
        return [self.keys.get(run.replace(" ", "_"), {}) for run in self.runs]


@pytest.mark.parametrize(
    ("question", "keys", "meant"),
    [
        (
            "Who is the author of the handbook for employees?",
            {"handbook_for_employees": {"employee handbook": 0.93}, "handbook": {"employee handbook": 0.7}},
            [("employee handbook", "handbook for employees", 0.93)],
        ),
        ("员工手册的作者是谁？", {"员工手册": {"职工指南": 0.91}}, [("职工指南", "员工手册", 0.91)]),
        ("What is the weight of type 7?", {"type_7": {"type 8": 0.99}}, []),  # another number is another thing
        ("Who runs the mill?", {"mill": {"river": 0.5}}, []),
    ],
)
def test_words_between_those_that_ask_mean_the_name_nearest_to_them(question, keys, meant):
    store = Near(**keys)

    linked = entities_near(question, store, store)

    assert [(one.key, question[slice(*one.span)], one.score) for one in linked] == meant
    assert len(store.runs) <= 4


def test_an_answer_speaks_of_a_name_in_other_words_only_where_that_is_sure():
    sure, unsure = (LinkedEntity(key="a", span=(0, 1), how="meaning", score=score) for score in (0.91, 0.89))

    assert surely_meant([unsure]) is None
    assert surely_meant([sure, unsure]) == sure
    assert corrected("x of y", [LinkedEntity(key="name", span=(5, 6), how="meaning", score=0.95)]) == "x of name"

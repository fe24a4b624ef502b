"""The walk over a small graph that stands in a list of passages; the one in Postgres is tested with real documents."""

from collections import defaultdict

import numpy as np
import pytest

from ragcore.graph.linking import LEAST_MEANT, MOST_MEANT, are_apart, link_question
from ragcore.graph.mentions import MentionFinder
from ragcore.graph.walk import BEAM, CONSIDERED, HOPS, Walker
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Passage, Query
from ragcore.types.graph import Node, Place

FILM, PERSON, TOWN = 0, 1, 2
TEXTS = {
    FILM: ("Rain of Kolm", "Rain of Kolm is a film of 1961. It was directed by Bojan Hladek."),
    PERSON: ("Bojan Hladek", "Bojan Hladek was a film maker. Hladek died in Ljuba."),
    TOWN: ("Ljuba", "Ljuba lies on the river Sava."),
}


def told(chunk):
    title, text = TEXTS[chunk]
    return Passage(chunk=chunk, document=chunk, version=1, text=text, title=title)


QUESTION = "Where did the director of Rain of Kolm die?"


class Listed:
    """Implements `ragcore.graph_port.EntityGraph` over passages of a test."""

    def __init__(self, texts):
        self.by_key, self.found, self.asked, self.near_to = {}, defaultdict(list), [], []
        for chunk, (title, text) in texts.items():
            for one in MentionFinder().find(text, title=title):
                node = self.by_key.setdefault(one.key, Node(len(self.by_key) + 1, one.key, one.name))
                place = Place(node.id, chunk, chunk, one.start < 0, one.sentence_start, one.sentence_end)
                self.found[node.id].append(place)

    def named(self, keys):
        return {key: self.by_key[key] for key in keys if key in self.by_key}

    def alike(self, keys, *, least, limit):
        return {}

    def near(self, vector, *, least, limit):
        self.near_to.append((float(vector[0]), least, limit))
        return [(self.by_key["rain of kolm"], 0.4)]

    def other_names(self, nodes):
        return {}

    def places(self, entities, *, heads, each):
        self.asked.append(len(entities))
        return [
            place
            for entity in entities
            for wanted, limit in ((True, heads), (False, each))
            for place in [one for one in self.found[entity] if one.in_head is wanted][:limit]
        ]

    def inside(self, chunks):
        nodes = {node.id: node for node in self.by_key.values()}
        places = [place for each in self.found.values() for place in each if place.chunk in chunks]
        return places, nodes

    def degrees(self, entities, *, most):
        return {entity: min(len(self.found[entity]), most) for entity in entities}


def passages(texts):
    return {c: Passage(chunk=c, document=c, version=1, text=text, title=title) for c, (title, text) in texts.items()}


def walked(question=QUESTION, texts=TEXTS, found=()):
    graph = Listed(texts)
    walker = Walker(
        graph=graph,
        tokenizer=JiebaTokenizer(),
        load=lambda chunks: {c: p for c, p in passages(texts).items() if c in chunks},
        likeness=lambda chunks: dict.fromkeys(chunks, 0.2),
    )
    terms = JiebaTokenizer().terms(question)
    query = Query(text=question, terms=tuple(terms), weights=dict.fromkeys(terms, 1.0))
    return walker.walk(query, [(passages(texts)[c], 1.0) for c in found]), graph


def test_a_walk_goes_from_the_question_over_what_stands_between():
    walk, _ = walked()

    assert [walk.nodes[entity].key for entity in walk.linked] == ["rain of kolm"]
    assert set(walk.passages) == {FILM, PERSON, TOWN}
    assert walk.passages[FILM] > walk.passages[PERSON] > walk.passages[TOWN] > 0
    (hladek,) = (number for number, node in walk.nodes.items() if node.key == "bojan hladek")
    assert walk.steps[hladek].sentence == "It was directed by Bojan Hladek."
    assert [walk.nodes[one].key for one in walk.path(hladek)] == ["rain of kolm", "bojan hladek"]


def test_where_the_question_names_nothing_the_first_passages_begin():
    walk, _ = walked("Where did the director of that old picture die?", found=(FILM,))

    assert not walk.linked
    assert PERSON in walk.passages


def test_nothing_is_found_in_an_empty_graph():
    walk, _ = walked(texts={})
    assert (walk.linked, walk.passages) == ({}, {})


def test_each_step_follows_a_bounded_number_of_entities():
    names = [
        f"{first}{last}" for first in ("Ab", "Ce", "Di", "Fo", "Gu") for last in ("na", "rik", "ton", "lus", "mer")
    ]
    crowd = {3: ("Crowd", "Rain of Kolm was seen by " + ", ".join(names) + ".")}
    walk, graph = walked(texts=TEXTS | crowd)

    assert len(names) > BEAM
    assert max(graph.asked) <= CONSIDERED
    assert BEAM < len(walk.active) <= 1 + HOPS * BEAM


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("Who made Rain of Kolm and Ljuba?", ["ljuba", "rain of kolm"]),
        ("who was bojan hladek?", ["bojan hladek"]),
        ("What is Bojan Hladek's town?", ["bojan hladek"]),
        ("Is it late?", []),
    ],
)
def test_a_question_is_linked_by_the_longest_names(question, wanted):
    assert sorted(node.key for node in link_question(question, Listed(TEXTS))) == wanted


def test_a_question_that_writes_no_name_means_the_entities_near_to_it():
    graph, vector = Listed(TEXTS), np.full(768, 0.5, np.float32)

    linked = link_question("Where did the maker of that old picture die?", graph, vector)
    named = link_question("Where did Bojan Hladek die?", graph, vector)

    assert {node.key: weight for node, weight in linked.items()} == {"rain of kolm": pytest.approx(0.2)}
    assert [node.key for node in named] == ["bojan hladek"]
    assert graph.near_to == [(0.5, LEAST_MEANT, MOST_MEANT)]  # looked for once: the second one is named


@pytest.mark.parametrize(
    ("question", "found", "apart"),
    [
        ("Did Bojan Hladek see Ljuba?", [FILM, TOWN], True),
        ("Did Bojan Hladek see Ljuba?", [FILM, PERSON], False),  # one passage has both
        ("When did Bojan Hladek die?", [TOWN], False),  # one name
        ("Did Bojan Hladek see Ljuba?", [], True),
    ],
)
def test_names_stand_apart_where_no_passage_has_all_of_them(question, found, apart):
    assert are_apart(question, Listed(TEXTS), [told(chunk) for chunk in found]) is apart


def test_the_graph_is_not_asked_about_passages_that_have_the_names_as_they_are_written():
    graph = Listed(TEXTS)
    graph.inside = lambda chunks: pytest.fail("the words of the passage tell it")

    assert are_apart("Did Bojan Hladek see Ljuba?", graph, [told(FILM), told(PERSON)]) is False


def test_a_passage_with_another_name_of_an_entity_has_it():
    renamed = TEXTS | {TOWN: ("Ljuba", "Ljuba lies on the river Sava, which B. Hladek loved.")}
    graph = Listed(renamed)
    other = graph.by_key.setdefault("b. hladek", Node(99, "b. hladek", "B. Hladek"))
    graph.other_names = lambda nodes: {node.id: [other] for node in nodes if node.key == "bojan hladek"}
    inside = graph.inside
    graph.inside = lambda chunks: ([*inside(chunks)[0], Place(other.id, TOWN, TOWN, False, 0, 10)], {})

    assert are_apart("Did Bojan Hladek see Ljuba?", graph, [told(TOWN)]) is False


@pytest.mark.parametrize(("question", "asked"), [("When did Bojan Hladik die?", 0), ("Did Bojan Hladik see Ljuba?", 1)])
def test_a_name_that_nothing_is_called_is_looked_for_only_where_a_question_may_name_several(question, asked):
    graph, looks = Listed(TEXTS), []
    graph.alike = lambda keys, *, least, limit: looks.append(list(keys)) or {}

    assert are_apart(question, graph, [told(TOWN)]) is False
    assert len(looks) == asked

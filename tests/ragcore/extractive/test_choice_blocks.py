"""What stands behind the core of a quoted answer."""

from dataclasses import replace

from ragcore.extractive.choice import SentenceChoice
from ragcore.extractive.choice_blocks import further_points, supplement_blocks
from ragcore.extractive.formatting import wording_for
from ragcore.extractive.sentences import Statement
from tests.contracts.generator import source

WORDS = wording_for("What is it?", "en")


def statement(number, text, *categories):
    given = source(number, text)
    given = replace(given, passage=replace(given.passage, categories=categories))
    return Statement(given, 0, text, tuple(text.split()))


def choice(core, *points):
    return SentenceChoice(core, (core,), tuple((point,) for point in points))


def texts(chosen):
    return [point[0].text for point in further_points(chosen)]


def test_supplements_are_at_most_two_of_other_categories_the_likeliest_first():
    core = statement(1, "A fan cools.", "basics")
    others = [
        statement(2, "More basics.", "basics", "theory"),
        statement(3, "It is cleaned.", "operation"),
        statement(4, "No category."),
        statement(5, "It is sold.", "sales"),
        statement(6, "It is bought.", "sales"),
    ]

    chosen = choice(core, *others)

    assert texts(chosen) == ["It is cleaned.", "It is sold."]
    (block,) = supplement_blocks(chosen, WORDS)
    assert block.count("\n- ") == 2
    assert "[3]" in block
    assert "[5]" in block


def test_without_other_categories_all_points_stay():
    same = choice(statement(1, "A fan cools.", "basics"), statement(2, "More basics.", "basics"), statement(3, "None."))
    none = choice(statement(1, "A fan cools."), statement(2, "It is cleaned.", "operation"))

    assert texts(same) == ["More basics.", "None."]
    assert texts(none) == ["It is cleaned."]

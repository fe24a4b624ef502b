"""A place that a question names and nothing speaks of."""

import pytest

from ragcore.text.named_places import unknown_places
from ragcore.text.tokenise import JiebaTokenizer

TOKENIZER = JiebaTokenizer()
TEXTS = (
    "# Leave\n\nParental leave in the Lisbon office is 20 days. The trial at Northgate Office Park went well.",
    "里斯本办公室的育儿假为20天。滨江园区的试点结果良好。",
)


class Words:
    """A dictionary of two words."""

    def translations(self, word):
        return {"里斯本": 1.0} if word == "lisbon" else {}

    def meanings(self, word):
        return [frozenset({"lisbon"})] if word == "里斯本" else []


def unknown(question, *texts):
    return unknown_places(question, texts or TEXTS, {"leav", "trial", "试点", "育儿假"}, TOKENIZER)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("how long is parental leave for the porto office", "porto"),
        ("What did the trial at Riverside hospital show?", "Riverside"),
        ("who runs the jakarta clinic", "jakarta"),
        ("Is there a canteen at Hillcrest university?", "Hillcrest"),
        ("opening hours of the Marburg warehouse", "Marburg"),
        ("when was the aurora mall finished", "aurora"),
        ("波尔图办公室的育儿假有多少天", "波尔图"),
        ("仁济医院的试点结果如何", "仁济"),
        ("雅加达分公司由谁负责", "雅加达"),
        ("晨曦大厦几点开门", "晨曦"),
        ("马尔堡园区在哪里", "马尔堡"),
        ("金桥体育馆几点开门", "金桥"),
        ("松山机场的覆盖怎么样", "松山"),
    ],
)
def test_a_place_of_which_nothing_speaks_is_named(question, name):
    assert unknown(question) == [name]


@pytest.mark.parametrize(
    "question",
    [
        "how long is parental leave for the lisbon office",
        "what did the trial at northgate office park show",
        "where is the nearest office",
        "which office is open",
        "how do I get to the train station",
        "is a luxury hotel paid for",
        "who merges the feature branch",
        "how long is parental leave",
        "what is the northgaet office like",  # a slip
        "里斯本办公室的育儿假有多少天",
        "滨江园区的试点结果",
        "我们公司的实验室在哪里",
        "附近医院有哪些",
        "去医院请假怎么算",
    ],
)
def test_what_the_texts_speak_of_and_what_names_nothing_are_none(question):
    assert unknown(question) == []


def test_a_name_may_stand_there_in_the_other_language():
    tokenizer = JiebaTokenizer(glossary=Words())

    assert unknown_places("育儿假 里斯本办公室", TEXTS[:1], {"育儿假"}, tokenizer) == []
    assert unknown_places("leave of the lisbon office", TEXTS[1:], {"leav"}, tokenizer) == []
    assert unknown_places("leave of the porto office", TEXTS[1:], {"leav"}, tokenizer) == ["porto"]


def test_where_the_words_of_the_corpus_are_not_known_nothing_is():
    assert unknown_places("the porto office", TEXTS, (), TOKENIZER) == []

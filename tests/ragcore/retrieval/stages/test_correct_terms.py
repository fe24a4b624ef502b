"""Misspelt words and titles."""

from dataclasses import replace

from ragcore.retrieval.stages.search import CorrectTerms
from ragcore.text.scripts import cjk_share
from ragcore.text.spelling import likeness
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Hit, Query, State
from tests.ragcore.states import ports

TOKENIZER = JiebaTokenizer()


class Known:
    """A fuzzy index over a handful of texts and titles."""

    def __init__(self, *texts, titles=()):
        self.texts = texts
        self.terms = {term for text in texts for term in TOKENIZER.terms(text)}
        self.named = titles

    def unseen(self, words):
        return set(words) - self.terms

    def alike(self, words, *, limit):
        found = {word: {t: likeness(word, t) for t in self.terms if likeness(word, t) > 0} for word in words}
        return {w: dict(sorted(f.items(), key=lambda p: -p[1])[:limit]) for w, f in found.items() if f}

    def between(self, pairs, *, before, after, limit):
        found = {}
        for text in self.texts:
            for at, character in enumerate(text):
                if text[:at].endswith(before) and text[at + 1 :].startswith(after):
                    found[character] = found.get(character, 0) + 1
        return dict(sorted(found.items(), key=lambda p: -p[1])[:limit])

    def titles(self, text, *, least):
        return [hit for title, hit in self.named if title == text]


def corrected(text, index, **options):
    query = Query(
        text=text,
        terms=tuple(TOKENIZER.terms(text)),
        words=tuple(TOKENIZER.words(text)),
        cjk_share=cjk_share(text),
    )
    return CorrectTerms(**options)(State(query=query), ports(fuzzy=index, tokenizer=TOKENIZER))


def test_a_misspelt_word_gets_known_ones_and_stays_itself():
    state = corrected("What is a premable?", Known("The preamble is sent on PRACH."))

    assert state.query.corrections == {"premabl": {"preambl": 0.857}}
    assert "premabl" in state.query.terms
    assert state.pending_note["corrections"] == state.query.corrections


def test_known_words_and_numbers_are_left_alone():
    state = corrected("Does the preamble of release 17 differ?", Known("The preamble of release 18 differs."))

    assert state.query.corrections == {}
    assert "corrections" not in state.pending_note


def test_a_part_number_is_never_taken_for_another_one():
    assert corrected("What is the BTS3901?", Known("The BTS3900 and the BTS3902.")).query.corrections == {}


def test_one_wrong_character_between_right_ones_is_found_in_the_passages():
    state = corrected("随机接人响应是什么", Known("终端等待随机接入响应。"))

    assert state.query.corrections["接人"] == {"接入": 0.75}


def test_the_character_that_more_passages_have_counts_more():
    state = corrected("随机接人响应", Known("随机接入响应", "随机接入响应", "随机接收响应"))

    assert state.query.corrections["接人"] == {"接入": 0.75, "接收": 0.375}


def test_with_one_side_only_the_majority_of_the_passages_decides():
    sure = Known("终端开始随机接入过程", "随机接入之后", "失败原因")
    unsure = Known("随机接入过程", "随机接收信号", "失败原因")

    assert corrected("随机接人失败", sure).query.corrections["接人"] == {"接入": 0.5}
    assert corrected("随机接人失败", unsure).query.corrections == {}


def test_a_word_that_is_only_new_is_not_corrected():
    assert corrected("蜜蜂在随机飞行", Known("终端开始随机接入过程。")).query.corrections == {}


def test_a_long_question_is_left_alone_and_says_so():
    state = corrected(
        "premable " + " ".join(f"word{chr(97 + n)}{chr(97 + m)}" for n in range(8) for m in range(8)), Known("preamble")
    )

    assert state.query.corrections == {}
    assert state.pending_note["left_alone"] == "a long question"


def test_more_misspelt_words_than_are_looked_at_are_counted():
    state = corrected("premable handovre", Known("preamble handover"), most_words=1)

    assert len(state.query.corrections) == 1
    assert state.pending_note["not_looked_at"] == 1


def test_a_question_that_is_a_title_brings_its_document_with_a_bounded_boost():
    hit = Hit(chunk=7, document=3, score=0.9)

    state = corrected("Random Access Procedure", Known(titles=[("random access procedure", hit)]), title_boost=0.1)

    assert state.arms["title"] == {7: 0.9}
    assert state.boosts == {3: 1.09}
    assert state.reasons == {3: ("title",)}
    assert state.ids() == [7]


def test_without_an_index_or_without_words_nothing_is_done():
    state = State(query=Query(text="?!", terms=()))

    assert CorrectTerms()(state, ports(fuzzy=Known())) == state
    assert CorrectTerms()(replace(state, query=Query(text="a", terms=("a",))), ports()).query.corrections == {}

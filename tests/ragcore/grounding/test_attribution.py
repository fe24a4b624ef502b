"""Which sources say a sentence that came without marks, and the guard that lets such sentences through."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.grounding.attribution import Attribution, Attributor
from ragcore.grounding.sentence_guard import SentenceGuard, may_become_refusal, says_no_answer


@pytest.fixture
def attributor(sources, tokenizer):
    return Attributor(sources, tokenizer)


@pytest.mark.parametrize(
    ("sentence", "number"),
    [
        ("The random access procedure has four steps.", 1),
        ("The preamble is sent on PRACH with 64 sequences.", 1),
        ("载波聚合最多支持 32 个载波。", 2),
        ("Handover moves a terminal from one cell to another [1].", 3),  # its own mark does not count
    ],
)
def test_a_sentence_gets_the_source_that_says_it(attributor, sentence, number):
    attribution = attributor.attribute(sentence)

    assert (attribution.numbers[0], attribution.is_safe) == (number, True)


@pytest.mark.parametrize(
    "sentence",
    [
        "The random access procedure has 6 steps.",  # another figure
        "The preamble is sent on PRACH with 128 sequences.",
        "载波聚合最多支持 16 个载波。",
        "Handover does not move a terminal from one cell to another.",  # the opposite
        "RedCap phones are expensive.",  # nobody says so
        "",
    ],
)
def test_what_no_source_says_is_not_safe(attributor, sentence):
    assert not attributor.attribute(sentence).is_safe


def test_without_sources_nothing_is_said(tokenizer):
    assert Attributor([], tokenizer).attribute("Anything.") == Attribution()


# ── the guard ────────────────────────────────────────────────────────────────────────────────────

SAFE = Attribution(numbers=(2,), probability=0.9)


def guard(**verdicts):
    return SentenceGuard(lambda claim: verdicts.get(claim.split()[0], SAFE), "Which one?")


def test_a_sentence_is_shown_when_the_next_one_begins():
    watch = guard()

    assert watch.feed("The first says this. The sec") == "The first says this. [2]"
    assert watch.feed("ond one says that.") == ""
    assert watch.flush() == " The second one says that. [2]"


def test_sentences_that_are_not_safe_are_left_out_and_counted():
    watch = guard(Wrong=Attribution(), Figures=SAFE.__class__(numbers=(1,), missing=("7",)))

    text = watch.feed("Wrong things here. Figures are 7 now. Right things here.") + watch.flush()

    assert text == "Right things here. [2]"
    assert watch.counts == {"unsupported": 1, "facts": 1}


def test_marks_headings_and_introductions_of_the_model_are_left_out():
    watch = guard()

    text = watch.feed("Here is the answer:\n# Title\n1. It is so [9].\n2. It is also so 【3】.\n") + watch.flush()

    assert text == "1. It is so. [2]\n2. It is also so. [2]"


def test_a_model_that_goes_round_in_a_circle_is_stopped():
    watch = guard()

    text = watch.feed("It is so here. " * 5)

    assert text == "It is so here. [2]"
    assert watch.is_looping


def test_a_sentence_in_another_language_is_left_out():
    watch = SentenceGuard(lambda _claim: SAFE, "What is a network slice, and what is it for?")

    watch.feed(
        "网络切片是具有自身资源的逻辑网络，由运营商的租户订购，用于隔离不同的业务，并且可以按需要调整带宽、时延和可靠性等各项参数。"
    )
    watch.flush()

    assert watch.counts == {"language": 1}


@pytest.mark.parametrize(
    ("sentence", "is_refusal"),
    [
        ("The context does not mention the price.", True),
        ("根据提供的文本，没有提到价格。", True),
        ("It cannot be determined from the sources.", True),
        ("The timer is not specified as an integer but as a list of values that the network broadcasts to all.", False),
        ("该告警由网管清除。", False),
    ],
)
def test_a_refusal_in_own_words_is_known(sentence, is_refusal):
    assert says_no_answer(sentence) is is_refusal


@pytest.mark.parametrize(
    ("beginning", "may"),
    [
        ("", True),
        ("The con", True),
        ("The context does", True),
        ("根据", True),
        ("[1]", True),
        ("A handover", False),
        ("切换", False),
    ],
)
def test_only_what_may_become_a_refusal_is_waited_for(beginning, may):
    assert may_become_refusal(beginning) is may


TEXT = st.lists(
    st.sampled_from(
        ["It is one thing. ", "It is another thing! ", "三个步骤如下。", "- a point of it\n", "[1]", "# H\n", " "]
    )
).map("".join)


@given(TEXT, st.lists(st.integers(1, 7), max_size=20))
def test_however_the_text_is_cut_the_same_is_shown(text, sizes):
    whole = SentenceGuard(lambda _claim: SAFE)
    expected = whole.feed(text) + whole.flush()

    cut, at, shown = SentenceGuard(lambda _claim: SAFE), 0, ""
    for size in sizes:
        shown += cut.feed(text[at : at + size])
        at += size
    shown += cut.feed(text[at:]) + cut.flush()

    assert shown == expected

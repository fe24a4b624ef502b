"""One number says whether the sources answer, and a threshold where to refuse."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.answerability import in_conversation, is_about, score_answerability, threshold_for
from ragcore.answerability.model import Answerability, script_of
from ragcore.embedding.e5 import MultilingualEmbedder
from ragcore.embedding.minilm import EmbeddedEmbedder
from ragcore.text.tokenise import JiebaTokenizer
from tests.contracts.generator import source

TOKENIZER = JiebaTokenizer()
ENGLISH = (
    source(1, "The mast stands in Ulm. Weber built the mast in 1987. It is painted red.", title="The mast"),
    source(2, "The battery lasts four hours. The diesel engine starts by itself.", title="Power", score=0.3),
)
CHINESE = (
    source(1, "广茂铁路全长364.6公里，由广东三茂铁路公司管理。铁路于1991年通车。", title="广茂铁路"),
    source(2, "年假需要提前两周申请。病假需要医生证明。", title="假期", score=0.3),
)


def score(question, sources):
    return score_answerability(question, sources, tokenizer=TOKENIZER).score


@pytest.mark.parametrize(
    ("sources", "answered", "unanswered"),
    [
        (ENGLISH, "When did Weber build the mast?", "When did Schmidt paint the harbour crane?"),
        (ENGLISH, "How long does the battery last?", "How much does the elephant in Vienna weigh?"),
        (CHINESE, "广茂铁路全长多少公里？", "珠江大桥的设计师是谁？"),
        (CHINESE, "病假需要什么？", "火星探测器什么时候发射？"),
    ],
)
def test_sources_that_answer_score_higher_than_sources_that_do_not(sources, answered, unanswered):
    assert score(answered, sources) > score(unanswered, sources) + 0.2


def test_a_question_about_nothing_in_the_sources_falls_below_the_threshold():
    assert score("How much does the elephant in Vienna weigh?", ENGLISH) < threshold_for("en", 100)
    assert score("火星探测器什么时候发射？", CHINESE) < threshold_for("zh", 100)


def test_no_sources_answer_nothing():
    judged = score_answerability("Why?", (), tokenizer=TOKENIZER)

    assert judged.score == 0
    assert judged.features == {}


@pytest.mark.parametrize(("question", "script"), [("铁路全长多少？", "zh"), ("鐵路全長多少？", "zht"), ("Why?", "en")])
def test_simplified_and_traditional_chinese_have_weights_of_their_own(question, script):
    assert script_of(question) == script


def test_an_embedder_that_training_has_not_seen_is_not_asked():
    class Other:
        model, dimensions = "other", 2

        def embed_documents(self, texts):
            raise AssertionError("asked")

        embed_queries = embed_documents

        def trust(self, cjk_share):
            return 1.0

    judged = score_answerability("Who built the mast?", ENGLISH, tokenizer=TOKENIZER, embedder=Other())

    assert judged == score_answerability("Who built the mast?", ENGLISH, tokenizer=TOKENIZER)


def test_the_embedder_of_the_training_is_asked_for_questions_that_it_reads():
    class Like:
        model, dimensions = EmbeddedEmbedder.model, 2

        def embed_documents(self, texts):
            return np.array([[1.0, 0.0]] * len(texts), np.float32)

        embed_queries = embed_documents

        def trust(self, cjk_share):
            return 1.0

    english = score_answerability("Who built the mast?", ENGLISH, tokenizer=TOKENIZER, embedder=Like())
    chinese = score_answerability("铁路全长多少公里？", CHINESE, tokenizer=TOKENIZER, embedder=Like())

    assert english.features["similarity"] == pytest.approx(1)
    assert chinese.features["similarity"] == 0


def test_meaning_judges_sources_in_the_other_language():
    class Alike:
        """Every question means what sentences about trains say."""

        model, dimensions, sentence_space = MultilingualEmbedder.model, 384, "plain"

        def embed_documents(self, texts):
            raise AssertionError("sentences are compared as their passages say them")

        def embed_queries(self, texts):
            return np.eye(384, dtype=np.float32)[[0] * len(texts)]

        def embed_sentences(self, sentences):
            rows = np.zeros((len(sentences), 384), np.float32)
            near = ("train" in one.text.lower() or "列车" in one.text for one in sentences)
            rows[:, :2] = [[0.8, 0.6] if is_near else [0.0, 1.0] for is_near in near]
            return rows

        def trust(self, cjk_share):
            return 0.7

    trains = source(1, "Trains run from six to midnight. The ticket office opens at eight.", title="Timetable")
    cranes = source(1, "The harbour crane is painted red. It was built in Vienna.", title="Harbour")

    def across(embedder, *sources):
        return score_answerability("列车几点开始运行？", sources, tokenizer=TOKENIZER, embedder=embedder)

    answered, lost = across(Alike(), trains), across(Alike(), cranes)

    assert answered.score > threshold_for("zh", 500) > lost.score
    assert answered.features["best"] == pytest.approx(0.8)
    assert across(None, trains).score < threshold_for("zh", 500)
    own = source(2, "列车从六点运行到午夜。", title="时刻表")
    both = across(Alike(), cranes, own)
    assert (both.score > lost.score, both.is_across) == (True, False)
    beside = across(Alike(), trains, source(2, "桥下的鱼很多。", title="公园"))
    # what is far off in the question's own language takes nothing away
    assert (beside.score, beside.is_across) == (pytest.approx(answered.score, abs=0.01), True)


def test_more_false_refusals_mean_a_higher_threshold():
    for language in ("zh", "en", "other"):
        for passages in (1, 20, 500, 10**6):
            rising = [threshold_for(language, passages, rate) for rate in (0, 0.01, 0.02, 0.05, 0.1)]
            assert rising == sorted(rising)
            assert 0 == rising[0] < rising[-1] < 1


@pytest.mark.parametrize("rate", [-0.1, 0.001, 0.5])
def test_a_rate_that_was_not_measured_is_refused(rate):
    with pytest.raises(ValueError, match="false_refusals"):
        threshold_for("en", 100, rate)


@given(st.text(max_size=60), st.text(max_size=100))
def test_a_score_is_a_probability(question, text):
    assert 0 <= score(question, (source(1, text),)) <= 1


def test_a_small_set_answers_in_the_words_of_the_question_whatever_its_score():
    low = Answerability(score=0.01, features={"window": 0.8, "passage": 0.9})
    other = Answerability(score=0.01, features={"window": 0.3, "passage": 0.9})

    assert low.is_answerable(0.1, 40)
    assert not low.is_answerable(0.1, 4000)
    assert not other.is_answerable(0.1, 40)
    assert Answerability(score=0.2).is_answerable(0.1, 4000)


def test_a_question_in_its_conversation_scores_the_mean_of_both_verdicts_and_never_less_than_alone():
    low, middle, high = (Answerability(score=score) for score in (0.1, 0.5, 0.9))

    assert in_conversation(low, high).score == pytest.approx(0.5)
    assert in_conversation(middle, low) is middle
    assert in_conversation(middle, middle) is middle


@pytest.mark.parametrize(
    ("question", "sources", "expected"),
    [
        ("who built it", ENGLISH, True),
        ("may my dog come to work", ENGLISH, False),
        ("那要多久", CHINESE, True),  # asks, and says nothing itself
        ("病假找谁申请", CHINESE, True),
        ("食堂周末开门吗", CHINESE, False),
    ],
)
def test_a_question_is_about_sources_that_have_half_of_its_words(question, sources, expected):
    assert is_about(question, sources, tokenizer=TOKENIZER) is expected

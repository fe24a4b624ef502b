import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.llm.tiers import generation_complexity, reasoning_cues, technical_terms
from ragcore.text.tokenise import JiebaTokenizer

TOKENIZER = JiebaTokenizer()


class Words:
    """A tokenizer that counts what it is told."""

    def words(self, text):
        return text.split()


@pytest.mark.parametrize(
    ("question", "context_words", "expected"),
    [
        ("a b c", 0, 0.2 * 3 / 50),
        ("PRACH T300 n78 gNodeB ab_c x", 0, 0.2 * 6 / 50 + 0.3),
        ("why compare causes", 1000, 0.2 * 3 / 50 + 0.3 + 0.1),
        ("w " * 80, 5000, 0.4),
    ],
)
def test_the_formula(question, context_words, expected):
    assert generation_complexity(question, "w " * context_words, Words()) == pytest.approx(expected)


@given(st.text(max_size=200), st.text(max_size=200))
def test_complexity_is_between_0_and_1(question, context):
    assert 0 <= generation_complexity(question, context, Words()) <= 1


@pytest.mark.parametrize("question", ["Who wrote the manual?", "手册是谁写的？", "How many people work in Ulm?"])
def test_a_short_question_for_a_fact_is_simple(question):
    assert generation_complexity(question, "The manual. " * 50, TOKENIZER) < 0.3


@pytest.mark.parametrize(
    "question",
    [
        "Why does the throughput of the gNodeB drop after a handover, how does the RRC timer T300 interact with the "
        "PRACH configuration, and what is the impact of the bandwidth? Compare both causes and explain the trade-off.",
        "为什么切换后基站的吞吐量下降？请分析 T300 定时器与 PRACH 配置的关系，比较两种原因的影响，解释载波带宽的取舍。",
    ],
)
def test_a_question_full_of_terms_and_reasons_is_complex(question):
    assert generation_complexity(question, "word " * 1500, TOKENIZER) >= 0.6


def test_a_term_or_cue_counts_once():
    assert technical_terms("PRACH, prach-x and PRACH of TS 38.331") >= {"prach", "ts"}
    assert len(reasoning_cues("why oh why")) == 1
    assert technical_terms("The cat sat on a mat.") == frozenset()

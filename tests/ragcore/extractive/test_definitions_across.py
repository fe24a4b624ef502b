"""Which sentence of the other language says what a term is."""

from collections.abc import Mapping, Sequence

import pytest

from ragcore.extractive.definitions_across import definition_test_across
from ragcore.extractive.sentence_model import compute_sentence_features
from ragcore.extractive.sentences import read_statements
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Passage, Source


class Words:
    """A dictionary of four words."""

    pairs = {"random": "随机", "access": "接入", "network": "网络", "slicing": "切片"}

    def translations(self, word: str) -> Mapping[str, float]:
        return {self.pairs[word.lower()]: 1.0} if word.lower() in self.pairs else {}

    def meanings(self, word: str) -> Sequence[frozenset[str]]:
        english = {chinese: english for english, chinese in self.pairs.items()}.get(word)
        return [frozenset(JiebaTokenizer().words(english))] if english else []


TOKENIZER = JiebaTokenizer(glossary=Words())


@pytest.mark.parametrize(
    ("question", "sentence", "defines"),
    [
        ("What is random access?", "随机接入是终端与基站建立上行同步的过程。", True),
        ("What is random access?", "随机接入（RA）指终端接入网络的过程。", True),
        ("What is random access?", "两步随机接入是另一种流程。", False),
        ("What is random access?", "随机接入是否成功由计时器决定。", False),
        ("What is random access?", "接入是终端的动作。", False),
        ("What is network slicing?", "网络切片用于隔离不同的业务。", True),
        ("How long does random access take?", "随机接入是终端与基站建立上行同步的过程。", False),
        ("随机接入是什么", "Random access (RA) is the procedure that gives uplink timing.", True),
        ("随机接入是什么", "The random access is a procedure.", True),
        ("随机接入是什么", "The random access channel is a resource.", False),
        ("What is paging?", "寻呼是网络找到终端的过程。", False),
    ],
)
def test_the_term_before_is_means_the_subject_and_nothing_else(question, sentence, defines):
    assert definition_test_across(question, TOKENIZER)(sentence) == float(defines)


def test_without_a_dictionary_no_sentence_of_the_other_language_defines():
    assert definition_test_across("What is random access?", JiebaTokenizer())("随机接入是一个过程。") == 0.0


def test_the_feature_of_definitions_holds_in_both_languages():
    passage = Passage(chunk=1, document=1, version=1, title="随机接入", text="随机接入是一个过程。每个小区有一个信道。")
    statements = read_statements([Source(number=1, passage=passage, text=passage.text, score=1.0)], TOKENIZER)

    features = compute_sentence_features("What is random access?", statements, TOKENIZER)

    assert list(features.column("definition")) == [1.0, 0.0]

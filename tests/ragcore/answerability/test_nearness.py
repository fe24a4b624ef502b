"""What the nearest sentence of the first source says of an answer."""

import re

import numpy as np
import pytest

from ragcore.answerability import DOUBTFUL_BELOW, RelevanceJudge
from ragcore.answerability.model import Answerability, score_answerability
from ragcore.answerability.nearness import Nearness, across_nearness, compute_nearness
from ragcore.embedding.e5 import MultilingualEmbedder
from ragcore.text.tokenise import JiebaTokenizer
from tests.contracts.generator import source

TOKENIZER = JiebaTokenizer()


class Meanings:
    """Embeds every question alike, and each sentence at the cosine that it names: "The pump is at 0.31."."""

    dimensions, sentence_space = 384, "plain"

    def __init__(self, model=MultilingualEmbedder.model):
        self.model = model

    def embed_queries(self, texts):
        return np.eye(384, dtype=np.float32)[[0] * len(texts)]

    def embed_sentences(self, sentences):
        cosines = np.array([float(re.search(r"0\.\d+", one.text)[0]) for one in sentences], np.float32)
        vectors = np.zeros((len(sentences), 384), np.float32)
        vectors[:, 0], vectors[:, 1] = cosines, np.sqrt(1 - cosines**2)
        return vectors

    def embed_documents(self, texts):
        return self.embed_queries(texts)

    def trust(self, cjk_share):
        return 1.0


def nearness(question, *texts, model=MultilingualEmbedder.model):
    sources = [source(number, text) for number, text in enumerate(texts, start=1)]
    return compute_nearness(question, sources, tokenizer=TOKENIZER, embedder=Meanings(model))


@pytest.mark.parametrize(("cosine", "is_near"), [(0.2, False), (0.27, False), (0.29, True), (0.5, True)])
def test_the_first_source_must_have_a_sentence_that_is_near(cosine, is_near):
    far = "the other source may be as near as it likes 0.9."

    assert nearness("who won the cup", f"the blue pump is at {cosine}.", far).is_near is is_near


@pytest.mark.parametrize(
    ("best", "covered", "is_near"),
    [
        (0.3, 0.5, True),  # half of its words, and near
        (0.25, 0.2, False),
        (0.2, 0.3, False),
        (0.44, 0.0, False),  # none of its words
        (0.5, 0.0, True),  # so near that its words do not matter
    ],
)
def test_in_the_other_language_words_of_the_dictionary_count_beside_the_cosine(best, covered, is_near):
    assert across_nearness({"best": best, "covered": covered}, Meanings()).is_near is is_near


def test_with_a_model_without_limits_everything_in_the_other_language_is_near():
    assert across_nearness({"best": 0.0, "covered": 0.0}, Meanings("another")).is_near


def test_something_very_near_lowers_the_line():
    assert nearness("who won the cup", "the pump is blue 0.6.").lowered > 0
    judged = Answerability(score=0.25)

    assert not judged.is_answerable(0.3, 1000)
    assert Answerability(score=0.25, nearness=Nearness(lowered=0.5)).is_answerable(0.3, 1000)
    assert not Answerability(score=0.9, nearness=Nearness(is_near=False)).is_answerable(0.3, 10)


def test_a_single_term_is_never_far():
    assert nearness("RMA?", "an RMA is a permission to send things back 0.1.").is_near


def test_with_a_model_without_limits_everything_is_near():
    assert nearness("who won the cup", "the pump is blue 0.1.", model="of somebody else") == Nearness()


def test_a_question_within_a_story_is_as_near_as_the_question():
    story = "I came here last week and it rained all the time. Where does the blue pump stand?"
    told = score_answerability(
        story, [source(1, "the blue pump stands in hall 2 0.9.")], tokenizer=TOKENIZER, embedder=Meanings()
    )
    plain = score_answerability(
        "Where does the blue pump stand?",
        [source(1, "the blue pump stands in hall 2 0.9.")],
        tokenizer=TOKENIZER,
        embedder=Meanings(),
    )

    assert told.score >= plain.score - 1e-6


def test_a_quotation_in_the_other_language_is_judged_by_its_meaning():
    quoted = source(1, "the VPN client is called Tunnel and stands at 0.8.")
    question = "新员工怎么连内网"

    by_meaning = RelevanceJudge(question=question, tokenizer=TOKENIZER, embedder=Meanings()).of_source(quoted)

    assert by_meaning > DOUBTFUL_BELOW
    assert RelevanceJudge(question=question, tokenizer=TOKENIZER).of_source(quoted) < DOUBTFUL_BELOW


class Reads(Meanings):
    """Reads every sentence with the same result, and notes the questions."""

    pair_space = "reads"

    def __init__(self, result):
        super().__init__()
        self.result, self.questions = result, []

    def score_pairs(self, question, sentences):
        self.questions.append(question)
        return np.full(len(sentences), self.result, np.float32)


def judged(question, result, text="the blue pump stands in hall two 0.5."):
    embedder = Reads(result)
    return score_answerability(question, [source(1, text)], tokenizer=TOKENIZER, embedder=embedder), embedder


def test_what_reads_badly_answers_less_likely_and_what_reads_well_not_likelier():
    question = "where is the blue pump"
    doubtful, well, very_well = (judged(question, result)[0] for result in (-4.0, 1.0, 5.0))

    assert doubtful.score < 0.6 * doubtful.unread
    assert well.score == well.unread == very_well.score == doubtful.unread
    assert (doubtful.reads_well, well.reads_well) == (False, True)
    assert doubtful.without_reading().score == doubtful.unread


def test_what_reads_well_is_near():
    far, near = (
        judged("where is the blue pump", result, "the blue pump stands in hall two 0.1.")[0] for result in (-1, 2)
    )

    assert not far.nearness.is_near
    assert not far.is_answerable(0.001, 1000)
    assert near.is_answerable(0.001, 1000)


def test_a_story_is_read_by_itself_and_by_what_it_asks():
    story = "Hello, we moved into hall two last week and found a lot of dust. Where is the blue pump?"

    assert judged(story, 1.0)[1].questions == [story, "Where is the blue pump?"]


def test_without_a_model_that_reads_pairs_nothing_changes():
    plain = score_answerability(
        "where is the pump", [source(1, "the pump is here 0.5.")], tokenizer=TOKENIZER, embedder=Meanings()
    )

    assert plain.unread is None
    assert plain.without_reading() is plain

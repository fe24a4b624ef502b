"""Support states."""

import numpy as np

from ragcore.grounding.source_texts import SourceSimilarity, SourceTexts
from ragcore.grounding.support import support_states
from ragcore.grounding.support_model import SupportFeatures, SupportModel


class Oracle:
    """An embedder that finds every pair of texts alike, or none."""

    model, dimensions = "oracle", 768

    def __init__(self, *, alike: bool) -> None:
        self.alike, self.calls = alike, 0

    def embed_documents(self, texts):
        return np.tile(np.eye(768, dtype=np.float32)[0], (len(texts), 1))

    def embed_queries(self, texts):
        self.calls += 1
        return np.tile(np.eye(768, dtype=np.float32)[0 if self.alike else 1], (len(texts), 1))

    def trust(self, cjk_share):
        return 1.0


class Counting:
    """An embedder with a vector for each text, which counts the documents that it embeds."""

    model, dimensions = "counting", 768

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed_documents(self, texts):
        self.embedded += texts
        return self.embed_queries(texts)

    def embed_queries(self, texts):
        return np.stack([np.random.default_rng(len(text)).standard_normal(768) for text in texts]).astype(np.float32)

    def trust(self, cjk_share):
        return 1.0


def test_each_source_is_embedded_once_for_all_sentences(sources, tokenizer):
    sentences = ["Bananas grow in warm countries.", "Whales sing in cold seas.", "Clocks tick at night."]
    embedder = Counting()
    similarity = SourceSimilarity(sources, tokenizer, embedder)

    together = [similarity.of(sentence) for sentence in sentences]

    assert len(embedder.embedded) == len(set(embedder.embedded)) <= len(sources)
    assert together == [SourceSimilarity(sources, tokenizer, Counting()).of(sentence) for sentence in sentences]


def states(text, sources, tokenizer, **more):
    return [(s.support, s.citations) for s in support_states(text, sources, tokenizer=tokenizer, **more)]


def test_a_cited_sentence_in_the_words_of_its_source_is_supported(sources, tokenizer):
    assert states("The random access procedure has four steps [1].", sources, tokenizer) == [("supported", (1,))]
    assert states("载波聚合最多支持 32 个载波[2]。", sources, tokenizer) == [("supported", (2,))]


def test_an_uncited_sentence_that_no_source_says_is_unsupported_with_risk_and_reason(sources, tokenizer):
    (sentence,) = support_states("Bananas grow in warm countries.", sources, tokenizer=tokenizer)

    assert (sentence.support, sentence.risk) == ("unsupported", "high")
    assert sentence.reason


def test_an_uncited_sentence_that_a_source_says_is_weak(sources, tokenizer):
    assert states("Handover moves a terminal between cells.", sources, tokenizer) == [("weak", ())]


def test_a_figure_that_stands_in_no_source_makes_a_cited_sentence_weak(sources, tokenizer):
    (sentence,) = support_states("The preamble has 128 sequences on PRACH [1].", sources, tokenizer=tokenizer)

    assert sentence.support == "weak"
    assert "128" in sentence.reason


def test_a_citation_to_a_source_about_something_else_does_not_help(sources, tokenizer):
    assert states("Bananas grow in warm countries [3].", sources, tokenizer) == [("unsupported", (3,))]


def test_a_sentence_in_another_language_than_its_source_is_weak_because_words_cannot_be_compared(sources, tokenizer):
    (sentence,) = support_states("切换是把终端从一个小区移到另一个小区[3]。", sources, tokenizer=tokenizer)

    assert sentence.support == "weak"
    assert "language" in sentence.reason


def test_vectors_are_asked_only_where_words_do_not_decide(sources, tokenizer):
    embedder = Oracle(alike=True)

    states("Phones change over when they travel [3].", sources, tokenizer, embedder=embedder)
    assert embedder.calls == 1
    states("Handover moves a terminal from one cell to another [3].", sources, tokenizer, embedder=embedder)
    assert embedder.calls == 1


def test_a_source_that_means_the_same_makes_a_sentence_likelier(sources, tokenizer):
    model, sentence = SupportModel.shipped(), "Handover brings phones to other cells [3]."
    alike, strange = (
        model.probability(SupportFeatures(SourceTexts(sources, tokenizer), Oracle(alike=same)), sentence, (3,))
        for same in (True, False)
    )

    assert alike > strange


def test_headings_refusals_code_and_introductions_claim_nothing(sources, tokenizer):
    text = (
        "## Result\n\n**Also relevant**\n\n**What is RRC_IDLE?**\n\nThe steps are:\n\n```\nrun(9)\n```\n\n"
        "| a | b |\n|---|---|\n\nThis is not known."
    )

    found = support_states(text, sources, tokenizer=tokenizer, refusals=["This is not known"])

    assert [sentence.text for sentence in found] == []


def test_sentences_stand_in_the_text_as_they_are(sources, tokenizer):
    text = "- **Steps**: the procedure has four steps [1].\n- Handover moves a terminal [3]."

    found = support_states(text, sources, tokenizer=tokenizer)

    assert all(sentence.text in text for sentence in found)
    assert [sentence.citations for sentence in found] == [(1,), (3,)]


def test_a_quoted_sentence_is_proven_by_the_marker_at_the_end_of_its_line(sources, tokenizer):
    quoted = "The random access procedure has four steps."
    last = "The preamble is sent on PRACH with 64 sequences [1]."

    assert states(f"- {quoted} {last}", sources, tokenizer) == [("supported", (1,)), ("supported", (1,))]
    # in another line, from another source or in other words it is not
    assert states(f"{quoted}\n\n{last}", sources, tokenizer)[0] == ("weak", ())
    assert states(f"{quoted} Handover moves a terminal from one cell to another [3].", sources, tokenizer)[0] == (
        "weak",
        (),
    )
    assert states(f"The procedure has four random steps. {last}", sources, tokenizer)[0][1] == ()

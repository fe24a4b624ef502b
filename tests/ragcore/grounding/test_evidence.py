"""Evidence that sources support a sentence."""

import numpy as np
import pytest

from ragcore.grounding.evidence import FEATURES, MEANING, Evidence
from ragcore.grounding.source_texts import MAX_SENTENCES, SourceText, SourceTexts
from ragcore.types import Passage, Source


@pytest.fixture
def evidence(sources, tokenizer):
    return Evidence(SourceTexts(sources, tokenizer))


def found(evidence, sentence, cited=()):
    return dict(zip(FEATURES, evidence.features(sentence, cited), strict=True))


def test_a_sentence_in_the_words_of_a_source_is_covered_completely(evidence):
    row = found(evidence, "The random access procedure has four steps [1].", (1,))

    assert [row[name] for name in ("sentence", "window", "source", "pairs", "triples", "letters")] == [1.0] * 6
    assert row["missing_words"] == row["longest_gap"] == row["missing_names"] == 0


def test_words_that_no_source_has_lower_every_coverage(evidence):
    row = found(evidence, "The random access procedure needs purple bananas.")

    assert 0 < row["sentence"] == row["source"] == row["all_sources"] < 0.8
    assert row["longest_gap"] > 0.3


def test_only_the_cited_source_counts_and_the_others_show_in_one_feature(evidence):
    row = found(evidence, "Handover moves a terminal [1].", (1,))

    assert row["source"] == 0
    assert row["all_sources"] == 1


def test_a_sentence_of_two_sentences_of_the_source_is_covered_by_the_window(evidence):
    row = found(evidence, "The random access procedure sends its preamble on PRACH.", (1,))

    assert row["window"] > row["sentence"]


def test_figures_and_names_are_looked_for_near_the_rest(tokenizer):
    text = (
        "Ulm has 12 masts. "
        + "Nothing is said about this here. " * 5
        + "The relay with its many antennas stands in Linz."
    )
    source = Source(number=1, passage=Passage(chunk=1, document=1, version=1, text="", title=""), text=text, score=1.0)
    evidence = Evidence(SourceTexts([source], tokenizer))

    row = found(evidence, "The relay with its many antennas that stands in Ulm has 12, says Graz with 99.")

    assert (row["missing_figures"], row["distant_figures"]) == (1, 1)
    assert (row["missing_names"], row["distant_names"]) == (1, 1)


def test_a_denial_that_the_source_does_not_make_shows(evidence):
    assert found(evidence, "The preamble is not sent on PRACH.")["denied"] == 1
    assert found(evidence, "载波聚合不把多个载波合并使用。")["denied"] == 1
    assert found(evidence, "The preamble is sent on PRACH.")["denied"] == 0


def test_words_about_the_source_do_not_count_as_missing(evidence):
    plain = found(evidence, "Handover moves a terminal.")
    said = found(evidence, "The document states that handover moves a terminal.")

    assert said["source"] == plain["source"] == 1
    assert said["reporting"] > plain["reporting"] == 0


def test_title_and_headings_belong_to_every_sentence(tokenizer):
    passage = Passage(chunk=1, document=1, version=1, text="", title="Relay R7", heading_path=("Limits",))
    source = Source(number=1, passage=passage, text="At most 40 metres.", score=1.0)

    assert (
        found(Evidence(SourceTexts([source], tokenizer)), "Limits of the relay R7: at most 40 metres.")["sentence"] == 1
    )


def test_without_sources_or_words_there_is_no_evidence(evidence, tokenizer):
    assert not Evidence(SourceTexts([], tokenizer)).features("Handover moves.").any()
    assert not evidence.features("...").any()


def test_the_cosine_is_that_of_the_best_sentence_as_far_as_the_embedder_is_trusted(sources, tokenizer):
    class Half:
        model, dimensions = "half", 4

        def embed_documents(self, texts):
            return np.tile(np.eye(4, dtype=np.float32)[0], (len(texts), 1))

        embed_queries = embed_documents

        def trust(self, cjk_share):
            return 0.5

    row = Evidence(SourceTexts(sources, tokenizer), Half()).with_meaning("Handover moves a terminal [3].", (3,))

    assert len(row) == len(MEANING)
    assert row[MEANING.index("cosine")] == pytest.approx(0.5)


def test_a_very_long_source_is_compared_in_larger_pieces_and_nothing_is_lost(tokenizer):
    text = "".join(f"Sentence number {n} says so. " for n in range(2 * MAX_SENTENCES + 1))
    source = Source(number=1, passage=Passage(chunk=1, document=1, version=1, text="", title=""), text=text, score=1.0)

    pieces = SourceText(source, tokenizer).sentences

    assert len(pieces) <= MAX_SENTENCES
    assert "".join(pieces) == text

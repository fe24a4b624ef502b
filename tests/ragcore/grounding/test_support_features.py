"""Evidence that sources support a sentence."""

import numpy as np
import pytest

from ragcore.grounding.source_texts import MAX_SENTENCES, SourceText, SourceTexts
from ragcore.grounding.support_model import FEATURES, SupportFeatures
from ragcore.types import Passage, Source


@pytest.fixture
def evidence(sources, tokenizer):
    return SupportFeatures(SourceTexts(sources, tokenizer))


def source_of(text):
    return Source(number=1, passage=Passage(chunk=1, document=1, version=1, text="", title=""), text=text, score=1.0)


def found(evidence, sentence, cited=()):
    return dict(zip(FEATURES, evidence.features(sentence, cited), strict=True))


def test_a_sentence_in_the_words_of_a_source_is_covered_completely(evidence):
    row = found(evidence, "The random access procedure has four steps [1].", (1,))

    covered = ("sentence", "weakest_clause", "tokens", "order", "pairs", "plain_words")
    assert [row[name] for name in covered] == [1.0] * 6
    assert row["missing_words"] == row["missing_figures"] == row["missing_names"] == 0


def test_words_that_no_source_has_lower_every_coverage(evidence):
    row = found(evidence, "The random access procedure needs purple bananas.")

    assert 0 < row["sentence"] < 0.8
    assert 0 < row["pairs"] < row["sentence"]
    assert row["missing_words"] == pytest.approx(np.log(4))


def test_only_the_cited_source_counts(evidence):
    assert found(evidence, "Handover moves a terminal [1].", (1,))["sentence"] == 0
    assert found(evidence, "Handover moves a terminal [1].")["sentence"] == 1


def test_facts_of_two_sentences_put_together_show_in_the_pairs_and_not_in_the_words(evidence):
    merged = found(evidence, "The random access procedure is sent on PRACH with 64 sequences.", (1,))
    said = found(evidence, "The preamble is sent on PRACH with 64 sequences.", (1,))

    assert merged["missing_words"] == said["missing_words"] == 0
    assert merged["pairs"] < said["pairs"] == 1


def test_the_clause_that_the_source_lacks_shows_in_a_long_sentence_too(evidence):
    row = found(evidence, "The random access procedure has four steps, and purple bananas ripen.", (1,))

    assert row["weakest_clause"] == 0 < row["sentence"]


@pytest.mark.parametrize(
    ("plain", "caused"),
    [
        ("Handover moves a terminal.", "Handover moves a terminal because of its cells."),
        ("载波聚合把多个载波合并使用。", "由于多个载波，载波聚合合并使用。"),
    ],
)
def test_a_cause_that_the_source_does_not_give_shows(evidence, plain, caused):
    assert found(evidence, plain)["new_cause"] == 0
    assert found(evidence, caused)["new_cause"] == 1


@pytest.mark.parametrize(
    ("text", "certain", "hedged"),
    [
        ("The relay may fail in winter.", "The relay fails in winter.", "The relay possibly fails in winter."),
        ("继电器在冬天可能失效。", "继电器在冬天失效。", "继电器在冬天也许失效。"),
    ],
)
def test_a_reservation_that_the_sentence_drops_shows(tokenizer, text, certain, hedged):
    evidence = SupportFeatures(SourceTexts([source_of(text)], tokenizer))

    assert found(evidence, certain)["unhedged"] == 1
    assert found(evidence, hedged)["unhedged"] == 0


def test_figures_names_and_quotations_are_looked_for_in_the_sources(tokenizer):
    evidence = SupportFeatures(SourceTexts([source_of("Ulm has four masts. The relay stands in Linz.")], tokenizer))

    row = found(evidence, "The relay that stands in Linz has 4 masts, says Graz with 99 and \u201cno doubt\u201d.")

    assert (row["missing_figures"], row["missing_names"], row["missing_quotations"]) == (1, 1, 1)


def test_a_denial_that_the_source_does_not_make_shows(evidence):
    assert found(evidence, "The preamble is not sent on PRACH.")["denied"] == 1
    assert found(evidence, "载波聚合不把多个载波合并使用。")["denied"] == 1
    assert found(evidence, "The preamble is sent on PRACH.")["denied"] == 0


def test_words_about_the_source_do_not_count_as_missing(evidence):
    plain = found(evidence, "Handover moves a terminal.")
    said = found(evidence, "The document states that handover moves a terminal.")

    assert said["sentence"] == plain["sentence"] == 1
    assert said["reporting"] > plain["reporting"] == 0


def test_title_and_headings_belong_to_every_sentence(tokenizer):
    passage = Passage(chunk=1, document=1, version=1, text="", title="Relay R7", heading_path=("Limits",))
    source = Source(number=1, passage=passage, text="At most 40 metres.", score=1.0)

    assert (
        found(SupportFeatures(SourceTexts([source], tokenizer)), "Limits of the relay R7: at most 40 metres.")[
            "sentence"
        ]
        == 1
    )


def test_without_sources_or_words_there_is_no_evidence(evidence, tokenizer):
    assert not SupportFeatures(SourceTexts([], tokenizer)).features("Handover moves.").any()
    assert not evidence.features("...").any()


def test_the_cosine_is_that_of_the_best_sentence_as_far_as_the_embedder_is_trusted(sources, tokenizer):
    class Half:
        model, dimensions = "half", 4

        def embed_documents(self, texts):
            return np.tile(np.eye(4, dtype=np.float32)[0], (len(texts), 1))

        embed_queries = embed_documents

        def trust(self, cjk_share):
            return 0.5

    evidence = SupportFeatures(SourceTexts(sources, tokenizer), Half())

    assert evidence.cosine("Handover moves a terminal [3].", (3,)) == pytest.approx(0.5)
    assert SupportFeatures(SourceTexts(sources, tokenizer)).cosine("Handover moves a terminal [3].", (3,)) == 0


def test_a_very_long_source_is_compared_in_larger_pieces_and_nothing_is_lost(tokenizer):
    text = "".join(f"Sentence number {n} says so. " for n in range(2 * MAX_SENTENCES + 1))
    source = Source(number=1, passage=Passage(chunk=1, document=1, version=1, text="", title=""), text=text, score=1.0)

    pieces = SourceText(source, tokenizer).sentences

    assert len(pieces) <= MAX_SENTENCES
    assert "".join(pieces) == text

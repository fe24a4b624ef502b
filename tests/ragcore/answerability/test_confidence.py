"""How sure a quoted answer is."""

import pytest

from ragcore.answerability.confidence import Evidence, answer_confidence, quoted_confidence

E5 = "embedded-e5-ngrams-1"


def confidence(read, lead, model=E5):
    return quoted_confidence(Evidence(score=0.5, read=read, lead=lead), model)


def test_it_rises_with_how_well_the_best_sentence_reads_and_how_far_it_stands_out():
    values = [confidence(read, lead) for read, lead in ((-4, 0.2), (-2, 0.4), (0, 0.6), (1, 0.8), (2, 0.95))]

    assert values == sorted(values)
    assert values[0] < 0.5
    assert values[-1] > 0.95


def test_beyond_its_bounds_more_says_no_more():
    assert confidence(3.0, 0.99) == confidence(9.0, 0.9999)
    assert confidence(-9.0, 0.01) == confidence(-4.0, 0.001)


@pytest.mark.parametrize("lead", [0.0, 1.0])
def test_it_stays_a_probability(lead):
    assert 0 < confidence(0.0, lead) < 1


@pytest.mark.parametrize("model", ["a-model-without-weights", "embedded-minilm-ngrams-1", ""])
def test_without_a_model_that_reads_the_score_of_the_sources_decides(model):
    assert confidence(2.0, 0.9, model) == answer_confidence(0.5)
    assert quoted_confidence(Evidence(score=0.5), E5) == answer_confidence(0.5)

"""Citations of an answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.grounding.citations import answer_confidence, citation_confidence, cleaned, extract_citations
from ragcore.types import Passage, Source


def test_citations_carry_the_sentence_their_position_and_how_often(sources, tokenizer):
    text = "The procedure has four steps [Source 1]. Handover moves a terminal [3]. Steps again [1]."

    found = extract_citations(text, sources, tokenizer=tokenizer)

    first, second = found.citations
    assert (first.number, first.frequency, first.segment) == (1, 2, "The procedure has four steps [1].")
    assert found.text[first.position :].startswith("[1]")
    assert (second.number, second.frequency) == (3, 1)


def test_a_citation_that_does_not_fit_its_sentence_is_weak_and_not_removed(sources, tokenizer):
    found = extract_citations("Bananas grow in warm countries near oceans [3].", sources, tokenizer=tokenizer)

    assert [(c.number, c.weak) for c in found.citations] == [(3, True)]


def test_a_marker_on_its_own_line_belongs_to_the_sentence_before_it(sources, tokenizer):
    found = extract_citations("Handover moves a terminal.\n\n[3]", sources, tokenizer=tokenizer)

    assert found.citations[0].segment == "Handover moves a terminal."


def test_the_confidence_is_the_formula():
    assert citation_confidence(score=0.5, similarity=1.0, frequency=3) == pytest.approx(0.8)
    assert citation_confidence(score=9, similarity=-1, frequency=9) == pytest.approx(0.6)


def test_an_answer_without_citations_has_no_confidence():
    assert answer_confidence([], []) == 0


def test_links_are_taken_out_of_the_text_and_citations_still_point_at_their_markers(sources, tokenizer):
    text = "![x](http://evil.example) Handover moves [Source 3](http://evil.example) and [9](y) ends [3]."

    found = extract_citations(text, sources, tokenizer=tokenizer)

    assert found.text == "x Handover moves [3] and(y) ends [3]."
    assert [(c.number, c.frequency, found.text[c.position :][:3]) for c in found.citations] == [(3, 2, "[3]")]


@given(st.text(alphabet="[]()<>!1239x:`\n/ 【】", max_size=60))
def test_what_has_been_cleaned_stays_as_it_is(text):
    known = [Source(number=1, passage=Passage(chunk=1, document=1, version=1, text="", title=""), text="", score=1.0)]
    once, _ = cleaned(text, known)

    again, markers = cleaned(once, known)

    assert again == once
    assert all(once[m.position :].startswith(f"[{m.number}]") for m in markers)

"""Directions in 8 bits a number are nearly those that were given."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.extractive.sentence_cosines import headed_sentences, statement_cosines
from ragcore.extractive.sentences import read_statements
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Passage, Source
from ragcore.types.sentence_vectors import SentenceVectors


@given(st.integers(0, 2**32 - 1), st.integers(1, 20))
def test_cosines_stay_within_a_hundredth(seed, count):
    rows = np.random.default_rng(seed).normal(size=(count + 1, 384)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    question, rows = rows[0], rows[1:]
    texts = [f"sentence {at}" for at in range(count)]

    stored = SentenceVectors.unpacked(*SentenceVectors.of(texts, rows * 0.2).packed())

    np.testing.assert_allclose(stored.cosines(question), rows @ question, atol=0.01)
    assert stored.keys.tolist() == SentenceVectors.of(texts, rows).keys.tolist()


def test_damaged_bytes_are_refused():
    keys, numbers = SentenceVectors.of(["a", "b"], np.ones((2, 384), np.float32)).packed()
    for damaged in ((keys[:8], numbers), (keys, numbers[:-1]), (keys[:-1], numbers)):
        with pytest.raises(ValueError, match="as many keys|must be a multiple|cannot reshape"):
            SentenceVectors.unpacked(*damaged)


def test_a_sentence_is_found_by_its_text_wherever_it_stands():
    tokenizer = JiebaTokenizer()
    text = "# Storage\n\nKeep it dry. Keep it cool.\n\n| Part | Limit |\n|---|---|\n| Cell | 40 °C |\n\nKeep it dry."
    passage = Passage(chunk=1, document=1, version=1, text=text, title="Handbook", heading_path=("Handbook", "Storage"))
    sentences = headed_sentences(passage, tokenizer)
    assert [one.text for one in sentences][:2] == ["Keep it dry.", "Keep it cool."]
    assert {one.head for one in sentences} == {"Handbook > Storage"}
    assert len({one.text for one in sentences}) == len(sentences) == 3

    rows = np.eye(384, dtype=np.float32)[: len(sentences)]
    known = SentenceVectors.of([one.text for one in sentences], rows)
    passages = [Passage(chunk=1, document=1, version=1, text=text, title="Handbook", sentences=known), passage]
    sources = [Source(number=n, passage=p, text=f"{p.text}\n\nMore.", score=1.0) for n, p in enumerate(passages, 1)]
    found = read_statements(sources, tokenizer)

    cosines = statement_cosines(found, np.eye(384, dtype=np.float32)[1])

    told = {(one.source.number, one.text): cosine for one, cosine in zip(found, cosines.tolist(), strict=True)}
    assert told[1, "Keep it cool."] == pytest.approx(1.0)
    assert told[1, "Keep it dry."] == pytest.approx(0.0)
    assert np.isnan([told[1, "More."], told[2, "Keep it cool."]]).all()

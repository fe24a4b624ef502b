import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ragcore.embedding.hashed_ngrams import hashed_ngrams


def vectors(*texts):
    return hashed_ngrams(texts, dimensions=384, rarity=lambda word: 0.5)


@given(st.text())
def test_rows_have_length_1_or_0(text):
    length = np.linalg.norm(vectors(text))

    assert np.isclose(length, 1, atol=1e-4) or length == 0


def test_full_width_and_case_do_not_matter():
    first, second = vectors("ＡＢＣ Router 网络", "abc router 网络")

    np.testing.assert_allclose(first, second, atol=1e-6)


def test_shared_characters_bring_texts_together():
    question, near, far = vectors("电源模块故障", "检查电源模块", "年假申请流程")

    assert question @ near > 0.4 > question @ far


def test_rare_words_count_more_than_common_ones():
    rare = lambda word: 1.0 if word == "gnodeb" else 0.1  # noqa: E731
    question, names, talks = hashed_ngrams(
        ["gnodeb report", "gnodeb antenna", "report antenna"], dimensions=384, rarity=rare
    )

    assert question @ names > question @ talks


def test_text_without_words_is_a_zero_row():
    assert not vectors("。，!").any()

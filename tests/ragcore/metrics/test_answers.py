import pytest

from ragcore.metrics.answers import contains_gold, grounded_share, word_f1
from ragcore.text.tokenise import JiebaTokenizer

TOKENIZER = JiebaTokenizer()


@pytest.mark.parametrize(
    ("answer", "golds", "found"),
    [
        ("全长３６４.６ 公里。[1]", ["364.6公里"], True),
        ("The Iranian coast", ["iran"], True),
        ("It is big data.", ["Big-Data"], True),
        ("It lasts four hours.", ["five hours", "six"], False),
        ("anything", [""], False),
        ("anything", [], False),
    ],
)
def test_gold_is_found_regardless_of_form(answer, golds, found):
    assert contains_gold(answer, golds) is found


def test_word_f1_by_hand():
    assert word_f1("mast in Ulm", "the mast in Ulm", TOKENIZER) == pytest.approx(2 * 3 / 7)
    assert word_f1("mast", "battery", TOKENIZER) == 0.0
    assert word_f1("", "", TOKENIZER) == 0.0


def test_grounded_share_by_hand():
    assert grounded_share("The red mast", ["A mast.", "It is blue."], TOKENIZER) == 0.5

import pytest

from ragcore.text.difficulty import difficulty_rank


@pytest.mark.parametrize(
    ("easier", "harder"),
    [("入门", "高级"), ("Beginner", ""), ("", "expert"), ("1", "2"), ("2", "10"), ("basic", "中级"), ("中级", "困难")],
)
def test_easier_documents_come_first(easier, harder):
    assert difficulty_rank(easier) < difficulty_rank(harder)


@pytest.mark.parametrize("text", ["", "blue", "中级", "nan"])
def test_what_says_nothing_is_in_the_middle(text):
    assert difficulty_rank(text) == 2.0

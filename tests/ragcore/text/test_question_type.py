import pytest

from ragcore.text.question_type import question_type, wanted


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("什么是网络切片？", "definition"),
        ("網路切片是什麼？", "definition"),
        ("What does AMF stand for?", "definition"),
        ("What is OCS?", "definition"),
        ("What is the purpose of the fibre?", "application"),
        ("如何重启基站？", "process"),
        ("How do I restart the cell?", "process"),
        ("4G和5G有什么区别？", "comparison"),
        ("What is the difference between LTE and NR?", "comparison"),
        ("光纤有哪些用途？", "application"),
        ("Name the applications of fibre.", "application"),
        ("The showcase of 2020", "general"),
        ("", "general"),
    ],
)
def test_cues_tell_the_type(question, kind):
    assert question_type(question) == kind


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("线路全长多少公里？", "number"),
        ("How many cells are there?", "number"),
        ("何時建成？", "time"),
        ("When was it built?", "time"),
        ("谁设计的？", "person"),
        ("Who built it?", "person"),
        ("Where is it?", "place"),
        ("哪种方式更好？", "name"),
        ("Explain it.", "any"),
    ],
)
def test_the_question_word_tells_what_is_wanted(question, kind):
    assert wanted(question) == kind

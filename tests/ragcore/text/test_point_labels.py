import pytest

from ragcore.text.point_labels import point_label, point_labels


@pytest.mark.parametrize(
    ("question", "labels"),
    [
        ("第三条规定了什么？", {"第3条"}),
        ("第十二章和第 20 章讲什么", {"第12章", "第20章"}),
        ("2.1.2 的内容是什么？", {"2.1.2"}),
        ("附件B是什么", {"附件B"}),
        ("停止作业情形③是什么？", {"③"}),
        ("步骤02是什么？", {"步骤2"}),
        ("Which bolt is 2.5 mm wide in V1.2?", set()),
    ],
)
def test_the_labels_that_a_question_names(question, labels):
    assert point_labels(question) == labels


@pytest.mark.parametrize(
    ("text", "label"),
    [("第3条 钥匙", "第3条"), ("2.1.2 内部检验", "2.1.2"), ("③ 消防泵", "③"), ("附件Beta", ""), ("见第三条", "")],
)
def test_a_point_begins_with_its_label(text, label):
    assert point_label(text) == label

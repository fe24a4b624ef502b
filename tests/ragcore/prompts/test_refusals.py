import pytest

from ragcore.prompts.refusals import is_refusal, refusal

STYLES = ["report", "simple", "advanced", "precise"]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("language", ["zh", "en", "other"])
def test_every_refusal_sentence_is_recognised(style, language):
    sentence = refusal(style, language)

    assert is_refusal(sentence)
    assert is_refusal(f" {sentence.upper()}。[1]\n")


def test_precise_refuses_in_its_own_words():
    assert refusal("precise", "zh") == "参考资料中未找到相关信息"
    assert refusal("report", "zh") == "根据当前已知知识库，暂时无法回答该问题"
    assert refusal("simple", "other") == "The knowledge base does not contain an answer to this question"
    assert refusal("precise", "en") == "The reference material does not contain this information"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "基站位于乌尔姆。[1]",
        "The mast was built in 1987 [1]. The reference material does not contain this information on its height.",
        f"{refusal('report', 'zh')}，但手册说明了重启步骤：先断开电源，等待三十秒，再接通电源，检查指示灯。",
    ],
)
def test_an_answer_is_no_refusal(text):
    assert not is_refusal(text)

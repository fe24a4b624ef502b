import pytest

from ragcore.text.scripts import is_other_language

ENGLISH = "The random access procedure has four steps, and the terminal begins with a preamble [1]."
CHINESE = "随机接入过程共有四个步骤，终端首先发送前导码，然后网络给出应答，接着终端发送请求消息，最后完成竞争解决过程。"


@pytest.mark.parametrize(
    ("question", "answer", "is_other"),
    [
        ("随机接入有几步？", ENGLISH, True),
        ("How many steps are there?", CHINESE, True),
        ("随机接入有几步？", CHINESE, False),
        ("How many steps are there?", ENGLISH, False),
        ("随机接入有几步？", "PRACH [1]", False),  # too short to say
        ("随机接入有几步？", f"四步：{ENGLISH}", False),
        ("How many steps?", f"Four: “{CHINESE}” [1]", False),  # a quotation
        ("命令是什么？", "```\ninstall the package with all of its dependencies now please\n```", False),
        ("How?", f"> {CHINESE}\n\nIn four steps [1].", False),
        ("请用英文回答：随机接入有几步？", ENGLISH, False),
        ("Answer in Chinese: how many steps?", CHINESE, False),
        ("ランダムアクセスとは何ですか", ENGLISH, False),  # neither of the two
    ],
)
def test_only_an_answer_in_the_wrong_script_is_noted(question, answer, is_other):
    assert is_other_language(question, answer) is is_other

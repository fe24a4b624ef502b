"""Values of a kind that a question asks for and a text must hold."""

import pytest

from ragcore.text.value_kinds import asked_kinds


def lacks_value(question, texts):
    """Whether no text tells a value of some kind that the question asks for."""
    return any(not any(map(kind.is_told, texts)) for kind in asked_kinds(question))


@pytest.mark.parametrize(
    ("question", "with_value", "without"),
    [
        ("许可的费用是多少", "许可每年收费 300 元。", "许可到期前 30 天可以延期。"),
        ("这个泵多少钱", "| 型号 | 单价 |\n| P10 | 44 |", "泵在二楼。"),
        ("price of the seal", "The seal is 44 EUR.", "The seal is black."),
        ("how much does the seal cost", "Price list: seal 44", "The seal has 3 layers."),
        ("天线有多重", "天线重 18 公斤。", "天线在塔上，高 30 米。"),
        ("how heavy is the mast", "The mast is 300 kg.", "The mast is 30 m high."),
        ("how loud is the fan", "58 dB(A) at full speed", "The fan is green, 3 of 4."),
        ("风扇噪声多大", "满速时 58 分贝", "风扇是绿色的。"),
        ("What is the price of a pump?", "The small pump costs 40.", "A smaller motor saves cost in many pumps."),
        (
            "What is the price of a pump?",
            "The pump costs about 3,000.",
            "A second valve costs 30 dB, and 2 hours.",
        ),
        ("the cost of a seal", "| Part | Cost |", "It was built in 1998. A cheap design saves cost."),
        ("maximum transmit power of a sensor", "It sends at 23 dBm.", "It saves power: it sleeps for 3 hours."),
        ("传感器的发射功率是多少", "额定功率 20 瓦", "传感器每天睡眠 3 小时。"),
        ("what temperature may the room have", "5 to 40 °C", "The room has 4 doors."),
    ],
)
def test_a_text_without_a_value_of_the_kind_lacks_it(question, with_value, without):
    assert not lacks_value(question, [without, with_value])
    assert lacks_value(question, [without])


@pytest.mark.parametrize("question", ["who paints the mast", "how many masts are there", "天线在哪里", ""])
def test_other_questions_lack_nothing(question):
    assert not lacks_value(question, ["The mast is 30 m high."])

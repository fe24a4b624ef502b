import pytest

from ragcore.text.fact_question import kind_of_question

QUESTIONS = {
    "subject": [
        "Who is the leader of Belgium?",
        "Who discovered penicillin?",
        "What is the capital of France?",
        "Which company makes the AGR 21 radio?",
        "Which airport serves Aarhus?",
        "What was designed by Zaha Hadid?",
        "Whose headquarters are in Shenzhen?",
        "谁是比利时的领导人？",
        "谁发现了青霉素？",
        "法国的首都是哪里？",
        "哪家公司生产 AGR 21？",
        "哪个协议由 3GPP 制定？",
        "什么模块依赖随机接入？",
    ],
    "object": [
        "Where is Amsterdam Airport located?",
        "When was the plant founded?",
        "How long is the runway of Aarhus Airport?",
        "What does the gNB send in step 2?",
        "Which city does Aarhus Airport serve?",
        "In which country is Haarlemmermeer?",
        "What is the casing made of?",
        "By whom was the bridge designed?",
        "Which team is Jeff Fisher coach of?",
        "阿姆斯特丹机场位于哪里？",
        "该公司成立于什么时候？",
        "奥胡斯机场的跑道有多长？",
        "亚历山大·弗莱明发现了什么？",
        "这座桥由谁设计？",
        "随机接入属于什么层？",
    ],
    "relationship": [
        "What is the relationship between Amsterdam Airport and Haarlemmermeer?",
        "How is TS 38.321 related to TS 38.331?",
        "What connects the AMF and the SMF?",
        "What does the N2 interface have to do with the AMF?",
        "阿姆斯特丹机场和哈勒默梅尔之间是什么关系？",
        "AMF 与 SMF 有什么联系？",
        "TS 38.321 和 TS 38.331 如何关联？",
    ],
    "type": [
        "What type of entity is Amsterdam Airport?",
        "What kind of thing is a RedCap device?",
        "What is the type of TS 38.321?",
        "阿姆斯特丹机场是什么类型的实体？",
        "RedCap 属于哪种类型？",
        "RedCap 属于什么？",
        "AMF 是什么？",
    ],
}


@pytest.mark.parametrize(("question", "kind"), [(q, kind) for kind, questions in QUESTIONS.items() for q in questions])
def test_the_place_of_the_question_word_says_what_is_asked_for(question, kind):
    said = kind_of_question(question)

    assert said.kind == kind
    assert 0 < said.confidence < 1


def test_a_given_kind_decides_and_an_unknown_one_is_ignored():
    assert kind_of_question("Who leads Belgium?", "type") == kind_of_question("Where is it?", "type")
    assert kind_of_question("Who leads Belgium?", "type").confidence == 1
    assert kind_of_question("Who leads Belgium?", "verb").kind == "subject"


def test_without_a_question_word_a_subject_is_asked_for_and_nobody_is_sure():
    said = kind_of_question("Belgium")

    assert (said.kind, said.confidence < 0.5) == ("subject", True)
    assert kind_of_question("").kind == "subject"

from ragcore.representations.questions import key_phrases, rule_questions, select_questions
from ragcore.text.tokenise import JiebaTokenizer

TOKENIZER = JiebaTokenizer()


def kept(*questions: str, text: str) -> tuple[str, ...]:
    return select_questions(questions, text, TOKENIZER)


def rules(text: str, *path: str) -> tuple[str, ...]:
    return rule_questions(text, path, TOKENIZER)


def test_a_question_is_kept_if_half_of_its_keywords_occur():
    text = "The mast stands in Ulm."

    assert kept("Where does the mast stand?", text=text) == ("Where does the mast stand?",)
    assert kept("mast price", text=text) == ("mast price",)
    assert kept("What is the price of the tall mast?", text=text) == ()
    assert kept("What is it?", "", text=text) == ()


def test_the_same_question_is_kept_once_and_three_at_most():
    text = "mast Ulm steel height antenna"

    assert kept("Where is the mast?", "where is  the MAST", text=text) == ("Where is the mast?",)
    assert len(kept("the mast?", "the steel?", "the height?", "the antenna?", text=text)) == 3


def test_definitions_are_asked_for():
    assert "What is A network slice?" not in rules("A network slice is a logical network. It is shared.")
    assert rules("A network slice is a logical network. It is shared.")[0] == "What is network slice?"
    assert rules("网络切片是指一个逻辑网络。它可以共享。")[0] == "网络切片是什么？"


def test_words_that_point_elsewhere_are_not_defined():
    assert rules("This is a logical network. It is a mast. There are the others.") == ()
    assert rules("这是一个逻辑网络。它是铁塔。") == ()


def test_headings_become_questions_without_their_numbers():
    text = "The device sends a preamble, and the network answers; the random access procedure ends."

    assert rules(text, "5.1 Random access procedure") == ("How does Random access procedure work?",)
    assert rules("终端发送前导码，网络响应。", "第三章 随机接入流程") == ("随机接入流程是怎样的？",)
    assert rules("终端发送前导码，网络响应。", "3GPP 标准") == ("如何理解3GPP 标准？",)
    assert rules("终端发送前导码，网络响应。", "如何接入网络") == ("如何接入网络？",)
    assert rules(text, "Who answers the preamble?") == ("Who answers the preamble?",)


def test_a_date_is_asked_for_where_nothing_is_defined():
    assert rules("In August 2021 the mast fell.") == ("What happened in August 2021?",)
    assert rules("铁塔于2021年8月倒塌。", "乌尔姆") == ("乌尔姆在2021年8月发生了什么？", "如何理解乌尔姆？")


def test_two_kinds_of_one_thing_are_compared():
    text = "The uplink channel carries data. The downlink channel carries more. Uplink channel, downlink channel."

    assert "What is the difference between uplink channel and downlink channel?" in rules(text)


def test_two_defined_terms_are_compared():
    text = "T300 is a timer of the device. N310 is a counter of the network."

    assert "What is the difference between T300 and N310?" in rules(text)


def test_other_languages_have_no_rules():
    assert rules("これは日本語のテキストです。ネットワークスライスについて。") == ()


def test_key_phrases_are_repeated_words_in_a_row():
    text = "Random access begins. After random access the cell answers. Random access needs a preamble. RRC or RRC."

    assert key_phrases(text, TOKENIZER) == ["Random access", "RRC"]
    assert key_phrases("环境管理系统很好。公司建立环境管理系统。", TOKENIZER)[0].startswith("环境管理")


def test_a_phrase_inside_a_longer_one_is_left_out():
    text = "network slice selection and network slice selection"

    assert key_phrases(text, TOKENIZER) == ["network slice selection"]

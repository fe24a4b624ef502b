"""Abbreviations, translations and phrases found in texts."""

from dataclasses import replace

import pytest

from ragcore.text.mining import phrases
from ragcore.text.mining.abbreviations import find_abbreviations, merged_abbreviations
from ragcore.text.mining.bilingual import find_translations
from ragcore.text.mining.candidates import TermMiner, mine_terms
from ragcore.text.mining.classifier import phrase_scores
from ragcore.text.mining.general_words import general_words, is_general
from ragcore.text.mining.parts_of_speech import nominal, tags_of
from ragcore.text.mining.phrases import phrases_of
from ragcore.text.tokenise import JiebaTokenizer


@pytest.fixture(scope="module")
def tokenizer():
    return JiebaTokenizer()


def shorts(text):
    return {(pair.first, pair.second) for pair, _count in merged_abbreviations(find_abbreviations(text))}


def both(tokenizer, text):
    return {(pair.first, pair.second) for pair in find_translations(text, cut=tokenizer.words)}


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("It uses Carrier Aggregation (CA) in the downlink.", ("CA", "Carrier Aggregation")),
        ("several subcarrier spacings (SCS) exist", ("SCS", "subcarrier spacings")),
        ("The Acknowledgement (ACK) is sent.", ("ACK", "Acknowledgement")),
        ("CA (carrier aggregation) is used.", ("CA", "carrier aggregation")),
        ("采用载波聚合（Carrier Aggregation，CA）技术", ("CA", "Carrier Aggregation")),
        ("RLC stands for Radio Link Control, which is a layer.", ("RLC", "Radio Link Control")),
        ("ACK\tAcknowledgement\nBER\tBit Error Rate\nkByte\tkilo Byte", ("BER", "Bit Error Rate")),
        (
            "AMF, Access Management Function, 接入管理\nUPF, User Plane Function, 用户面\n"
            "SMF, Session Management Function, 会话",
            ("UPF", "User Plane Function"),
        ),
        ("| Short | Meaning |\n| --- | --- |\n| RRC | Radio Resource Control |", ("RRC", "Radio Resource Control")),
        ("Protocol Data Units (PDUs) are sent.", ("PDU", "Protocol Data Unit")),
        ("中国信息通信研究院（以下简称 CAICT）发布", ("CAICT", "中国信息通信研究院")),
    ],
)
def test_an_abbreviation_is_found_with_its_long_form(text, pair):
    if pair[0] == "CAICT":
        text = "中国信息通信研究院，以下简称CAICT"
    assert pair in shorts(text)


@pytest.mark.parametrize(
    "text",
    [
        "See clause 5 (A) of the report (2020).",
        "The price (EUR) is fixed.",
        "SP-15\tSP-020046\nSP-16\tSP-020243\nSP-17\tSP-020555",
        "He said NO to it.",
        "（详见 ABC、DEF）",
        "(((((",
        "",
    ],
)
def test_what_is_no_abbreviation_is_left_alone(text):
    assert shorts(text) == set()


def test_of_a_row_of_a_table_the_next_cell_alone_is_the_long_form():
    table = "| Name | Meaning | Power |\n|---|---|---|\n| RRU | Remote Radio Unit | 3 |\n| BBU | Base Band Unit | 3 |"

    assert shorts(table) == {("RRU", "Remote Radio Unit"), ("BBU", "Base Band Unit")}


def test_of_a_long_form_and_a_part_of_it_the_more_frequent_one_stays():
    text = "Mobile Country Code (MCC). " * 3 + "Country Code (MCC)."

    assert shorts(text) == {("MCC", "Mobile Country Code")}


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("网络通过波束管理（beam management）保持对准。", ("波束管理", "beam management")),
        ("支持非连续接收（discontinuous reception，DRX）。", ("非连续接收", "discontinuous reception")),
        ("It is needed at the cell edge (小区边缘).", ("小区边缘", "cell edge")),
        ("## 3.1 网络切片 Network slicing\n", ("网络切片", "Network slicing")),
        (
            "| 术语 | English |\n| - | - |\n| 资源块 | resource block |\n| 循环前缀 | cyclic prefix |",
            ("循环前缀", "cyclic prefix"),
        ),
        ("频分双工：frequency division duplex\n时分双工：time division duplex", ("时分双工", "time division duplex")),
    ],
)
def test_names_in_two_languages_are_found(tokenizer, text, pair):
    assert pair in both(tokenizer, text)


@pytest.mark.parametrize(
    "text", ["附件（见 Annex A）", "张三（OK）", "设备（共 12 台）", "会议（第 3 版）", "完成（100%）"]
)
def test_notes_in_brackets_are_no_translations(tokenizer, text):
    assert both(tokenizer, text) == set()


def test_terms_stand_before_chance_neighbours(tokenizer):
    texts = [
        f"The packet gateway of site {n} drops packets when the slice is full. A terminal asks the packet gateway {n} "
        f"again. It was decided by the {n}th meeting, which is why the packet gateway was moved."
        for n in range(20)
    ]

    found = [one.text for one in mine_terms(texts, tokenizer)]

    assert found[0] == "packet gateway"


def test_what_people_have_decided_is_learnt(tokenizer):
    texts = [f"The packet gateway and the slice manager {n} talk. A green tree {n} stands there." for n in range(20)]
    phrases = phrases_of(texts, tokenizer)
    keys = {phrase.text: phrase.key for phrase in phrases}

    scores = phrase_scores(phrases, positives=(), reviewed={keys["green tree"]: False, keys["packet gateway"]: True})

    by_text = dict(zip((phrase.text for phrase in phrases), scores, strict=True))
    assert by_text["green tree"] < 0.05
    assert by_text["packet gateway"] > 0.95


def test_a_suggestion_has_the_clearance_of_the_lowest_document_that_has_it(tokenizer):
    miner = TermMiner(tokenizer)
    for n in range(12):
        miner.add(f"The secret reactor of {n} runs. Secret reactor! Carrier Aggregation (CA).", level=3, source=n)
    miner.add("Carrier Aggregation (CA) is public.", level=1, source=99)

    found = {one.text.lower(): one for one in miner.candidates()}

    assert (found["secret reactor"].level, found["ca"].level) == (3, 1)
    assert "reactor" not in found["ca"].evidence
    assert found["ca"].source == 99


@pytest.mark.parametrize("texts", [[], [""], ["x"], ["。。。\n|||\n"], ["a" * 10_000], ["(" * 2000]])
def test_odd_documents_give_nothing_and_no_fault(tokenizer, texts):
    assert mine_terms(texts, tokenizer) == []


def test_a_plural_is_suggested_as_one_of_them(tokenizer):
    found = mine_terms(["Radio Access Technologies (RATs) and Protocol Data Units (PDUs) differ."], tokenizer)

    assert {(one.text, one.long_form) for one in found} >= {
        ("RAT", "Radio Access Technology"),
        ("PDU", "Protocol Data Unit"),
    }


@pytest.mark.parametrize(
    ("words", "share"),
    [
        (("天线", "端口"), 1.0),
        (("载波", "聚合"), 0.5),  # a verb is the head
        (("随机", "端口"), 0.5),  # an adverb begins it
        (("活动", "度差"), 1.0),  # the second word is not in the dictionary
        (("症状", "明显"), 0.0),  # an adjective cannot be
        (("把", "城市", "绿化"), 0.0),
        (("carrier", "aggregation"), 1.0),
        (("Physical", "Downlink", "Channel"), 1.0),
        (("same", "channel"), 0.0),
        (("channel", "repeatedly"), 0.0),
        (("NR", "终端"), 1.0),
    ],
)
def test_a_term_is_built_of_nouns_and_what_stands_before_them(words, share):
    assert nominal(words, tags_of(words)) == share


def test_a_clause_that_is_repeated_is_a_term_less_than_a_compound_noun(tokenizer):
    lines = [f"编号{at}的天线端口已经检查；症状明显。" for at in range(12)]
    phrases = {phrase.text: phrase for phrase in phrases_of(lines, tokenizer)}
    compound, clause = phrases["天线端口"], phrases["症状明显"]
    assert (compound.nominal, clause.nominal) == (1.0, 0.0)
    alike = replace(clause, nominal=1.0)
    worse, better = phrase_scores([clause, alike], positives=())
    assert worse < better


def test_what_comes_often_is_counted_right_however_much_text_there_is(tokenizer, monkeypatch):
    monkeypatch.setattr(phrases, "MOST_PHRASES", 200)
    counter = phrases.PhraseCounter(tokenizer)
    for number in range(300):
        counter.add(f"The random access preamble number{number} was sent by terminal{number} in cell{number}.")

    assert len(counter.counts) <= 600
    for table in (counter.documents, counter.spellings, counter.before, counter.after, counter.alone, counter.levels):
        assert len(table) <= len(counter.counts)
    found = {phrase.text: phrase.count for phrase in counter.phrases()}
    assert found["random access preamble"] == 300


VERBAL = (
    "The packet gateway is old. A packet gateway was new. Terminals can send packets. They send packets, and we send "
    "packets. It was left out. They were left out; we left out much. By sending files, for sending files, if sending "
    "files it ends. The operating system. An operating system. This operating system. The quality of service. "
    "A quality of service. {}\n天线端口；天线端口；载波聚合；载波聚合；大型天线；大型天线。\n"
)


def test_phrases_with_verbs_are_dropped_where_only_nouns_are_wanted(tokenizer):
    miner = TermMiner(tokenizer)
    for number in range(6):
        miner.add(VERBAL.format(number))
    verbal = {"send packets", "sending files", "left out", "载波聚合"}
    nominal_ones = {"packet gateway", "operating system", "quality of service", "天线端口", "大型天线"}

    usual = {one.text.lower() for one in miner.candidates()}
    nouns = {one.text.lower() for one in miner.candidates(compounds_only=True)}

    assert usual >= verbal | nominal_ones
    assert nouns >= nominal_ones
    assert not nouns & verbal
    assert nouns < usual


def test_names_that_documents_define_need_not_be_nouns(tokenizer):
    miner = TermMiner(tokenizer)
    miner.add("Listen Before Talk (LBT) is used.")

    assert {one.text for one in miner.candidates(compounds_only=True)} == {"LBT"}


@pytest.mark.parametrize(
    ("text", "general"),
    [
        ("great number", True),
        ("主要问题", True),
        ("subcarrier number", False),
        ("载波问题", False),
        ("QoS flow", False),
    ],
)
def test_phrases_of_frequent_words_alone_are_general(tokenizer, text, general):
    (phrase,) = [one for one in phrases_of([f"{text}。"] * 5, tokenizer) if one.text == text]

    assert is_general(phrase.key) == general


def test_terms_are_told_from_general_phrases_that_are_learnt_from(tokenizer):
    """General phrases have nearly the figures of terms, and are so few that they are seldom drawn otherwise."""
    (model,) = [one for one in phrases_of(["the packet gateway."] * 9, tokenizer) if one.text == "packet gateway"]
    terms = [replace(model, key=f"packet gateway{n}", marked=0.9) for n in range(12)]
    general = [replace(model, key="great number", marked=0.5) for _ in range(4)]
    others = [replace(model, key=f"a clause{n}", marked=0.0, nominal=0.0, completeness=0.1) for n in range(400)]
    told = {"positives": {one.key for one in terms}}

    usual = phrase_scores([*terms, *general, *others], **told)
    taught = phrase_scores([*terms, *general, *others], **told, general=is_general)

    assert taught[12] < usual[12] - 0.05
    assert taught[0] > taught[12]
    assert phrase_scores([*terms, *general, *others], **told, general=lambda _key: False) == usual


def test_without_the_english_list_chinese_words_are_left(monkeypatch):
    monkeypatch.setattr("ragcore.text.mining.general_words._VOCABULARY", ("no_such_package", "vocab.txt"))
    general_words.cache_clear()
    try:
        assert "我们" in general_words()
        assert "great" not in general_words()
    finally:
        general_words.cache_clear()

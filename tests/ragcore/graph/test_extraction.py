import pytest

from ragcore.graph.extraction import MOST_FACTS, extract_facts


def facts(text, **where):
    return [(f.triple.subject, f.triple.relation, f.triple.object) for f in extract_facts(text, **where)]


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("The Control Unit is part of the base station.", ("Control Unit", "is part of", "base station")),
        ("RedCap is a reduced capability device class.", ("RedCap", "is a", "reduced capability device class")),
        ("UE answers within the Random Access Response (RAR) window.", ("RAR", "stands for", "Random Access Response")),
        ("Overheating causes packet loss, which users notice.", ("Overheating", "causes", "packet loss")),
        ("The N2 interface is defined in TS 38.413.", ("N2 interface", "defined in", "TS 38.413")),
        ("The Lyra scheduler improves cell throughput.", ("Lyra scheduler", "improves", "cell throughput")),
        ("Adam is compared with SGD in the report.", ("Adam", "compared with", "SGD in the report")),
        ("The BEIR suite evaluates retrieval models.", ("BEIR suite", "evaluates", "retrieval models")),
        ("The Orion gateway implements the N3 interface.", ("Orion gateway", "implements", "N3 interface")),
        ("RedCap extends NR.", ("RedCap", "extends", "NR")),
        ("The Orion gateway was developed by Lyra Labs.", ("Orion gateway", "developed by", "Lyra Labs")),
        ("BM25 is used in search engines.", ("BM25", "used in", "search engines")),
        ("RoBERTa is based on BERT.", ("RoBERTa", "based on", "BERT")),
        ("天琴调度器改进了小区吞吐量。", ("天琴调度器", "改进", "小区吞吐量")),
        ("五号算法相比于四号算法。", ("五号算法", "相比", "四号算法")),
        ("联合实验室评估了检索模型。", ("联合实验室", "评估", "检索模型")),
        ("猎户网关实现了N3接口。", ("猎户网关", "实现", "N3接口")),
        ("轻量终端扩展了新空口。", ("轻量终端", "扩展", "新空口")),
        ("随机接入属于MAC层。", ("随机接入", "属于", "MAC层")),
        ("波束管理是一种多天线技术，用于高频段。", ("波束管理", "是", "多天线技术")),
        ("机柜过热会导致丢包。", None),
        ("驻波比过高导致功放损坏。", ("驻波比过高", "导致", "功放损坏")),
    ],
)
def test_plain_statements_are_read_in_both_languages(text, fact):
    assert facts(text) == ([fact] if fact else [])


def test_tables_and_lines_are_read_with_what_they_are_about():
    text = "| Alarm | Cause | Level |\n|---|---|---|\n| VSWR | loose connector | major |\n| Fan | dust | – |\n"
    assert facts(text) == [
        ("VSWR", "Cause", "loose connector"),
        ("VSWR", "Level", "major"),
        ("Fan", "Cause", "dust"),
    ]
    assert facts("Owner: RAN team\n负责人：王工\n", heading_path=["Board A"]) == [
        ("Board A", "Owner", "RAN team"),
        ("Board A", "负责人", "王工"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It is part of the base station.",
        "Is the control unit part of the base station?",
        "刚果现时没有使用硬币。",
        "其属于上级单位。",
        "Fraud is common.",
        "```\nA: b\n```",
        "| a | b |\n| c | d |",
        "Note that this is a problem.",
        "x" * 100_000,
        "| " * 5000,
        "(" * 5000,
    ],
)
def test_what_is_not_plain_is_left_out(text):
    assert facts(text) == []


def test_a_fact_keeps_its_sentence_and_a_passage_has_a_limit():
    [one] = extract_facts("Intro text here. The Control Unit is part of the base station. More.")
    many = "\n".join(f"Module M{n} is part of System S{n}." for n in range(200))

    assert one.sentence == "The Control Unit is part of the base station."
    assert 0 < one.confidence < 1
    assert len(extract_facts(many)) == MOST_FACTS

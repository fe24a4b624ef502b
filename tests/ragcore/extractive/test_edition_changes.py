"""What differs between two editions of a document."""

import pytest

from ragcore.extractive.edition_changes import asks_changes, compared_editions
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.ports import GenerationRequest
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Passage, Source


def source(number, text, title):
    passage = Passage(chunk=number, document=number, version=number, text=text, title=title)
    return Source(number=number, passage=passage, text=text, score=1 - number / 100)


OLD = source(
    1,
    """# 宿舍管理办法（2023版）

| 编号 | DORM-1 |
| --- | --- |
| 日期 | 2023-02-01 |

# 1 目的

本办法说明押金、访客和水电费怎么管理。

# 2 押金

入住时交押金 500 元，退宿后 15 天内退还。钥匙丢失的赔 50 元。

# 3 访客

访客须在 21:00 前离开。访客在门卫处登记。

# 4 水电费

| 房型 | 每月电量 | 单价 |
| --- | --- | --- |
| 单人间 | 60 度 | 0.8 元 |
| 双人间 | 90 度 | 0.8 元 |

# 5 附则

本办法自 2023 年 3 月 1 日起施行。
""",
    "宿舍管理办法（2023版）",
)
NEW = source(
    2,
    OLD.text.replace("2023", "2025")
    .replace("500 元", "800 元")
    .replace("15 天", "7 天")
    .replace("21:00", "22:00")
    .replace("60 度", "80 度")
    .replace("押金、访客和水电费", "押金、访客、宠物和水电费")
    .replace("# 5 附则", "# 5 宠物\n\n宿舍不得养宠物。\n\n# 6 附则"),
    "宿舍管理办法（2025版）",
)
OLD_EN = source(
    1,
    """# Loan rules (2022 edition)

## Fees

The fee is 10 EUR a week. Students pay no fee.

## Duration

A camera is lent for 5 days. A tripod is lent for 2 weeks.
""",
    "Loan rules (2022 edition)",
)
NEW_EN = source(
    2,
    """# Loan rules (2024 edition)

## Fees

The fee is 12 EUR a week. Students pay no fee.

## Duration

A camera is lent for 3 days. A tripod is lent for 2 weeks.

## Damage

Damage is reported within 24 hours.
""",
    "Loan rules (2024 edition)",
)
BOTH = frozenset({1, 2})


def answer(question, *sources, whole=BOTH):
    request = GenerationRequest(question=question, sources=sources, whole_versions=whole)
    return "".join(ExtractiveGenerator(JiebaTokenizer()).blocks(request))


def test_all_that_differs_stands_side_by_side_the_current_edition_first():
    assert answer("2023版和2025版宿舍管理办法有什么不同", OLD, NEW) == (
        "| 方面 | 2025版 | 2023版 |\n| --- | --- | --- |\n"
        "| 目的 | 本办法说明押金、访客、宠物和水电费怎么管理。[2] | 本办法说明押金、访客和水电费怎么管理。[1] |\n"
        "| 押金 | 入住时交押金 800 元，退宿后 7 天内退还。[2] | 入住时交押金 500 元，退宿后 15 天内退还。[1] |\n"
        "| 访客 | 访客须在 22:00 前离开。[2] | 访客须在 21:00 前离开。[1] |\n"
        "| 水电费 | 单人间 · 每月电量：80 度[2] | 单人间 · 每月电量：60 度[1] |\n"
        "| 宠物 | 宿舍不得养宠物。[2] | — |"
    )


@pytest.mark.parametrize(
    "question",
    [
        "宿舍押金以前是多少现在是多少",
        "2025版宿舍管理办法的押金改了多少",
        "宿舍押金新版比旧版涨了多少",
        "2023版和2025版的押金对比",
    ],
)
def test_what_differs_on_a_topic(question):
    text = answer(question, OLD, NEW)

    assert text.splitlines()[2:] == [
        "| 押金 | 入住时交押金 800 元，退宿后 7 天内退还。[2] | 入住时交押金 500 元，退宿后 15 天内退还。[1] |"
    ]


@pytest.mark.parametrize(
    "question",
    [
        "what changed in the 2024 edition of the loan rules",
        "what is the difference between the 2022 and the 2024 edition of the loan rules",
        "what's new in the loan rules, 2024 edition?",
    ],
)
def test_what_changed_in_an_edition(question):
    assert answer(question, OLD_EN, NEW_EN) == (
        "| Aspect | 2024 edition | 2022 edition |\n| --- | --- | --- |\n"
        "| Fees | The fee is 12 EUR a week. [2] | The fee is 10 EUR a week. [1] |\n"
        "| Duration | A camera is lent for 3 days. [2] | A camera is lent for 5 days. [1] |\n"
        "| Damage | Damage is reported within 24 hours. [2] | — |"
    )


def test_how_it_was_and_is():
    text = answer("how long was a camera lent before and how long is it now", OLD_EN, NEW_EN)

    assert text.splitlines()[2:] == [
        "| Duration | A camera is lent for 3 days. [2] | A camera is lent for 5 days. [1] |"
    ]


def test_what_one_edition_lacks_is_told_only_where_all_of_it_is_there():
    assert "宠物 |" not in answer("2023版和2025版宿舍管理办法有什么不同", OLD, NEW, whole=frozenset())


def test_differences_that_do_not_fit_are_counted():
    parts = [
        f"# {n} 第{n}项\n\n第{n}项费用为每次 {{}} 元，由申请人在办理之前到财务部交清，凭收据办理。\n"
        for n in range(1, 21)
    ]
    sources = [
        source(number, "\n".join(part.format(amount) for part in parts), f"收费办法（{year}版）")
        for number, amount, year in ((1, 10, 2021), (2, 20, 2022))
    ]

    text = answer("2021版和2022版收费办法有哪些变化", *sources)

    shown = text.count("每次 20 元")
    assert 5 < shown < 20
    assert text.endswith(f"**另有 {20 - shown} 处不同**")
    assert len(text) < 1000


def test_each_sentence_stands_beside_the_one_that_is_most_like_it():
    sources = [
        source(1, "停车费境内车每天 10 元，包月的不收。停车费境外车每天 6 美元。", "停车办法（2021版）"),
        source(2, "停车费境内车每天 12 元。停车费境外车每天 8 美元，其中货车 9 美元。", "停车办法（2022版）"),
    ]

    lines = answer("停车办法2021版和2022版有什么不同", *sources).splitlines()

    assert lines[2] == (
        "|  | 停车费境内车每天 12 元。[2]停车费境外车每天 8 美元，其中货车 9 美元。[2] |"
        " 停车费境内车每天 10 元，包月的不收。[1]停车费境外车每天 6 美元。[1] |"
    )


def test_editions_are_told_by_how_their_documents_begin():
    sources = [
        source(1, "停车办法（2021版）\n\n每天 10 元。", "停车办法"),
        source(2, "停车办法（2022版）\n\n每天 12 元。", "停车办法"),
    ]

    assert answer("停车费新版比旧版涨了多少", *sources).startswith("| 方面 | 2022 | 2021 |")


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("2024版和2026版的外场补助有什么不同", True),
        ("新旧版有何区别", True),
        ("保修期有什么变化", True),
        ("what changed in version 1.4", True),
        ("V3.2和V3.3升级各要多久，对比一下", True),
        ("押金多少钱", False),
        ("what is the fee", False),
        ("difference between a camera and a tripod", False),
    ],
)
def test_a_question_asks_for_what_changed(question, asks):
    assert asks_changes(question) is asks


def test_the_named_editions_are_compared():
    passages = [source(n, "Text.", f"Rules ({year} edition)").passage for n, year in enumerate((2026, 2020, 2023), 1)]

    def orders(question):
        return [one.order[0] for one in compared_editions(question, passages)]

    assert orders("what changed in the rules") == [2026, 2023]
    assert orders("what changed since the 2020 edition of the rules") == [2026, 2020]
    assert orders("compare the 2020 and the 2023 edition of the rules") == [2023, 2020]
    assert compared_editions("what do the rules say", passages) is None
    assert compared_editions("what changed", [source(9, "Text.", "Menu").passage, *passages]) is None

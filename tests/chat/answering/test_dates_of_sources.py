"""A question about a day, month or year that no source is of is refused where the best document is of others."""

from datetime import date

import pytest

from ragcore.answerability.lacking import lacks_date
from ragcore.types import Passage, Source

TODAY = date(2026, 11, 28)
MINUTES = ("会议纪要 20260211 噪声专题会", "去年 12 月以来，有 5 家客户反映噪声偏大。")
PRICES = (
    "Spare parts price list 2026-03",
    "| Part | Price 2025 | Price 2026 |\n| --- | --- | --- |\n| Motor | 410 | 445 |",
)
CANTEEN = ("Canteen", "Last changed on 3 March 2026. The canteen opens at 11:30.")
OUTAGE = ("Outage of cluster 2", "Began on 22 April 2025, ended on 23 April 2025.")


def lacks(question, *texts, today=TODAY):
    sources = [
        Source(
            number=number,
            passage=Passage(chunk=number, document=number, version=number, text=text, title=title),
            text=text,
            score=1 / number,
        )
        for number, (title, text) in enumerate(texts, start=1)
    ]
    return lacks_date(question, sources, today=today)


@pytest.mark.parametrize(
    ("question", "best"),
    [
        ("5月份的噪声专题会定了什么", MINUTES),
        ("minutes of the noise meeting in May", MINUTES),
        ("price list 2024 drive motor", PRICES),
        ("2024年的电机价格", PRICES),
        ("what failed on 21 April", OUTAGE),
        ("4月21号的故障", OUTAGE),
    ],
)
def test_a_date_beside_those_of_the_best_document_is_lacking(question, best):
    assert lacks(question, best, CANTEEN)


@pytest.mark.parametrize(
    ("question", "best"),
    [
        ("2月份的噪声专题会定了什么", MINUTES),
        ("2月11号的专题会", MINUTES),
        ("price list 2025 drive motor", PRICES),
        ("4月22号的故障", OUTAGE),
        ("我5月20号要去开噪声专题会", MINUTES),  # of the asker
        ("what will I pay for a motor when I leave in 2024", PRICES),
        ("prices since 2024", PRICES),
        ("what has to be fixed before 30 April", OUTAGE),
        ("is the canteen open in August", CANTEEN),  # the only date tells when it was written
        ("噪声专题会定了什么", MINUTES),
        ("compare the prices of 2024 and 2025", PRICES),
        ("2024年和2025年的电机价格分别是多少", PRICES),
    ],
)
def test_other_questions_lack_no_date(question, best):
    assert not lacks(question, best)


def test_any_source_may_be_of_the_date():
    assert not lacks("5月份的噪声专题会定了什么", MINUTES, ("Minutes of 12 May 2026", "Noise was discussed."))


def test_what_holds_now_holds_in_this_year():
    assert lacks("price list 2027 drive motor", PRICES)
    assert not lacks("price list 2027 drive motor", PRICES, today=date(2027, 1, 2))


WEEKLY = (
    "Pump project weekly",
    "# Pump project weekly\n\nDate: 12 May 2026, 14:00\n\n| Task | Due |\n| --- | --- |\n| Seal | 19 May |\n\n"
    "Next meeting: 19 May, same room.",
)
周会 = (
    "水泵项目周会记录",
    "# 水泵项目周会记录\n\n时间：2026 年 5 月 12 日\n\n- 决议 2：密封圈 5 月 19 日前换掉。\n\n"
    "下次会议：5 月 19 日 14:00。",
)


@pytest.mark.parametrize(
    ("question", "minutes", "is_lacking"),
    [
        ("what was decided in the meeting of 19 May", WEEKLY, True),
        ("minutes of 19 May pump weekly meeting", WEEKLY, True),
        ("what was decided in the meeting of 12 May", WEEKLY, False),
        ("when is the next meeting, 19 May?", WEEKLY, False),
        ("5月19号那次周会定了些什么", 周会, True),
        ("5月26日周会的纪要", 周会, True),
        ("5月12号周会定了什么", 周会, False),
        ("5月的周会定了什么", 周会, False),
        ("5月19日的会几点开", 周会, False),
    ],
)
def test_minutes_are_of_the_day_on_which_people_met(question, minutes, is_lacking):
    assert lacks(question, minutes) is is_lacking

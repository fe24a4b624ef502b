"""Dates that questions name, and whether texts may be of them."""

from __future__ import annotations

from calendar import month_abbr, month_name
from datetime import date
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.text.named_dates import NamedDate, date_mentions, dates_not_in, dates_told, definite_dates

FORMS = (
    "{y}-{m:02}-{d:02}",
    "{y}年{m}月{d}日",
    "{y} 年 {m} 月 {d} 日",
    "{m}月{d}号",
    "{m}/{d}/{y}",
    "{d}/{m}/{y}",
    "{d:02}.{m:02}.{y}",
    "{y}{m:02}{d:02}",
    "{d} {name} {y}",
    "{name} {d}, {y}",
    "{d}th of {name}",
    "{d} {abbr}",
    "{abbr}. {d} {y}",
)


def told(text, read=date_mentions):
    return [(one.date.year, one.date.month, one.date.day) for one in read(text)]


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("5月份的噪声专题会定了什么", [(None, 5, None)]),
        ("price list 2024 drive motor", [(2024, None, None)]),
        ("how long was it down on 22 april", [(None, 4, 22)]),
        ("4月22号OMC那次故障", [(None, 4, 22)]),
        ("2025-05 and 05/2025", [(2025, 5, None), (2025, 5, None)]),
        ("the May report", [(None, 5, None)]),
        ("what may I do in may", [(None, 5, None)]),
        ("we march on, in march", [(None, 3, None)]),
        ("June 12th, 2025", [(2025, 6, 12)]),
        ("十月二十五号、十二月", [(None, 10, 25), (None, 12, None)]),
        ("二〇二四年十二月三十一日", [(2024, 12, 31)]),
        ("２０２６年６月１２日", [(2026, 6, 12)]),
        ("会议纪要 20260211 专题会", [(2026, 2, 11)]),
        ("2024版和2026版对比", [(2024, None, None), (2026, None, None)]),
        ("demo loan over 2000 eur, 2024 MHz, 2030%, 2025 units", []),
        ("CG-2024-02, INC-2025-047, FY2024 and the 2001-02 season", []),
        ("3个月、6月龄、2号线、一月一次、5月1号楼", []),
        ("12:05, 5.2 dB, 1890", []),
    ],
)
def test_dates_are_read_in_both_languages_and_other_figures_are_none(text, dates):
    assert told(text) == dates


@pytest.mark.parametrize(
    "question",
    [
        "what must be done before 2030",
        "changes since March 2024",
        "who has to answer by 12 June",
        "meetings from May to July",
        "between May 2024 and June 2024",
        "what holds from 2024 onwards",
        "failures after 5 May",
        "2024年以前的标准",
        "5月以后入职的人",
        "6月12日之前交什么",
        "从3月开始收费吗",
        "截至2025年有多少台",
        "5月到7月的会议",
        "the 2023-2025 plan",
    ],
)
def test_a_limit_is_no_date_at_which_something_is_asked_for(question):
    assert definite_dates(question) == []


@pytest.mark.parametrize(
    ("question", "text", "is_there"),
    [
        ("4月22号", "The cluster failed on 22 April 2025.", True),
        ("12 June", "会议时间：2025-06-12 14:00", True),
        ("12 June", "会议时间：2025-06-13 14:00", False),
        ("12 June", "6 月的会议", True),
        ("5月", "会议纪要 20260211，去年 12 月", False),
        ("5月", "| May | 12 |", True),
        ("5月", "you may ask. May I? May we ask", False),
        ("5月", "备件价格表_202505", True),
        ("14 October", "The course is held on 13–15 Oct 2025.", True),
        ("16 October", "The course is held on 13–15 Oct 2025.", False),
        ("6月13日", "6月12日-14日", True),
        ("1 June", "from 28 May to 3 June", True),
        ("5 June", "from 28 May to 3 June", False),
        ("4 月", "3月至5月", True),
        ("2024年", "2023–2025", True),
        ("2024年", "差旅费报销管理办法（2023版），2025 年修订", False),
        ("2024年", "FY2024", True),
        ("May 2025", "2025 Q2, in May", True),
        ("May 2025", "2026-05-02", False),
        ("5月20日", "20/5", True),
        ("2025年6月", "25年6月", True),
        ("5月", "46 元零件加 0.5 工时，1.5 mm，5/40，5/0", False),
    ],
)
def test_a_text_is_of_a_date_in_whatever_form_and_language_it_names_it(question, text, is_there):
    (asked,) = [one.date for one in definite_dates(question)]

    assert dates_not_in([asked], ["no date at all", text]) == ([] if is_there else [asked])


def test_another_date_is_as_exact_and_differs():
    may, june, twelfth = NamedDate(month=5), NamedDate(month=6), NamedDate(month=6, day=12)

    assert may.is_beside(june)
    assert may.is_beside(twelfth)
    assert not twelfth.is_beside(may)
    assert not june.is_beside(twelfth)
    assert not may.is_beside(NamedDate(year=2025))
    assert NamedDate(year=2024).is_beside(NamedDate(year=2025, month=3))


@given(st.dates(date(1990, 1, 1), date(2099, 12, 31)), st.sampled_from(FORMS), st.sampled_from(FORMS))
def test_a_day_is_found_in_every_form_of_itself(day, one, other):
    parts = {"y": day.year, "m": day.month, "d": day.day}
    parts |= {"name": month_name[day.month], "abbr": month_abbr[day.month]}
    mentioned = [mention.date for mention in date_mentions(one.format(**parts))]

    assert dates_not_in(mentioned, [f"Held: {other.format(**parts)}"]) == []


@given(st.text(alphabet="0123456789 年月日号-/.–to至 五十 May 12 june", max_size=60))
def test_a_text_may_be_of_every_date_that_it_names(text):
    mentions = date_mentions(text)

    assert dates_not_in([one.date for one in mentions], [text]) == []
    assert {one.date for one in mentions} <= dates_told(text)
    assert all(one.start < one.end for one in mentions)
    assert all(one.end <= two.start for one, two in pairwise(mentions))

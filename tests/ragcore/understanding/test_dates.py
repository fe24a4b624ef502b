from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.understanding.dates import add_months, back, month, quarter, resolve_dates, week, year

TODAY = date(2026, 11, 22)  # a Sunday
DAYS = st.dates(min_value=date(1990, 1, 1), max_value=date(2090, 12, 31))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("昨天的告警", "2026年11月21日的告警"),
        ("后天的会议", "2026年11月24日的会议"),
        ("上周的会议", "2026年11月9日至2026年11月15日的会议"),
        ("上周五发布了什么", "2026年11月13日发布了什么"),
        ("上个月的报表", "2026年10月的报表"),
        ("本季度的目标", "2026年第四季度的目标"),
        ("去年的标准", "2025年的标准"),
        ("去年3月的会议", "2025年3月的会议"),
        ("今年第三季度的营收", "2026年第三季度的营收"),
        ("去年下半年的计划", "2025年下半年的计划"),
        ("最近三个月的故障", "2026年8月22日至2026年11月22日的故障"),
        ("3天前的日志", "2026年11月19日的日志"),
        ("两个月前的版本", "2026年9月的版本"),
        ("十二年前的规范", "2014年的规范"),
        ("What happened yesterday?", "What happened on November 21, 2026?"),
        ("Show last month's report", "Show October 2026's report"),
        ("What was released last year?", "What was released in 2025?"),
        ("the goals of this quarter", "the goals of Q4 2026"),
        ("alarms in the last two weeks", "alarms from November 8, 2026 to November 22, 2026"),
        ("Who joined last Friday?", "Who joined on November 20, 2026?"),
        ("What changed 3 years ago?", "What changed in 2023?"),
    ],
)
def test_expressions_become_dates(text, expected):
    found = resolve_dates(text, TODAY)

    assert found.text == expected
    assert len(found.signs) == 1


@pytest.mark.parametrize(
    "text", ["最近有什么变化", "月球的周长", "上下文窗口", "the latest report", "weekly meetings", "本周刊的作者"]
)
def test_what_names_no_day_stays(text):
    assert resolve_dates(text, TODAY).text == text


def test_without_a_day_the_expression_is_only_named():
    found = resolve_dates("昨天的告警", None)

    assert (found.text, found.signs) == ("昨天的告警", ("昨天",))


@given(day=DAYS, step=st.integers(-30, 30))
def test_weeks_months_and_quarters_have_their_length_and_follow_each_other(day, step):
    for make, lengths in ((week, {7}), (month, {28, 29, 30, 31}), (quarter, {90, 91, 92})):
        span, following = make(day, step), make(day, step + 1)
        assert (span.last - span.first).days + 1 in lengths
        assert following.first == span.last + timedelta(days=1)
    assert week(day, 0).first <= day <= week(day, 0).last
    assert month(day, 0).is_month
    assert year(day.year).is_year


@given(day=DAYS, months=st.integers(-240, 240))
def test_months_back_and_forth_end_in_the_same_month(day, months):
    there = add_months(day, months)
    again = add_months(there, -months)

    assert (again.year, again.month) == (day.year, day.month)
    assert there.day <= day.day


@given(day=DAYS, number=st.integers(1, 50), unit=st.sampled_from(["day", "week", "month", "quarter", "year"]))
def test_back_goes_back(day, number, unit):
    assert back(day, number, unit) < day


@given(day=DAYS, text=st.text(alphabet="上下本去今年月周天季度半最近过前一二三十个12lastmonthweek ago", max_size=20))
def test_any_mixture_is_read_without_an_error(day, text):
    found = resolve_dates(text, day)

    assert found.text == text or found.signs


@pytest.mark.parametrize(
    ("question", "dates"),
    [
        ("I have to go to the mall next week, where do I sign in", False),
        ("我上周去客户那边出差，住宿怎么报", False),
        ("what was decided in last week's meeting", True),
        ("I missed last week's meeting, what was decided", True),
        ("上周的周会定了什么", True),
        ("我们上个月发布了什么", True),
    ],
)
def test_what_the_asker_does_then_has_no_date(question, dates):
    resolved = resolve_dates(question, date(2026, 3, 11))

    assert resolved.signs
    assert resolved.changed is dates

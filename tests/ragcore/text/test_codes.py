"""Codes that questions name, and whether texts hold them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.text.codes import codes_in, missing_codes, without_codes


@pytest.mark.parametrize(
    ("question", "codes"),
    [
        ("ALM-2099怎么处理", ["alm2099"]),
        ("list price of the SC410", ["sc410"]),
        ("BBU9 V3.4.0什么时候发布", ["bbu9", "3.4.0"]),
        ("3.2.0的站能直接升3.3.0不", ["3.2.0", "3.3.0"]),
        ("root cause of INC-2025-047", ["inc2025047"]),
        ("ＧＬ－８９９ error", ["gl899"]),
        ("How fast is 5G, and what does FR1 mean?", []),
        ("Revenue in FY2019 and on 12 June 2025, 7.8 kg", []),
        ("随机接入是什么", []),
        ("E-25怎么处理", ["e-25"]),
        ("E35故障怎么处理", ["e35"]),
        ("4号线班车几点发车", ["4号线"]),
        ("what was decided in meeting #12", ["#12"]),
        ("5号开会，step 2 of A-3", []),
        ("工单 20260511-07 由谁处理", ["2026051107"]),
        ("RFC 3339 and GB 50016, since CES 2024 for EUR 1200", ["rfc 3339", "gb 50016"]),
    ],
)
def test_names_with_digits_and_versions_are_codes(question, codes):
    assert codes_in(question) == codes


@pytest.mark.parametrize(
    ("question", "text", "missing"),
    [
        ("ALM-2099怎么处理", "| ALM-2098 | 过温 |", ["alm2099"]),
        ("alm 2098? ALM2098", "| ALM-2098 | 过温 |", []),
        ("5364满功率 AAU5364", "HN-AAU5364-A", []),
        ("V1.11.0", "版本 V11.1.0、V1.11.01", ["1.11.0"]),
        ("V1.11.0", "版本 v1.11.0。", []),
        ("1.11.0", "1.11.0.3", ["1.11.0"]),
        ("E-25怎么处理", "| E-24 | E-250 |", ["e-25"]),
        ("alarm E-25", "报警 E25：转速过高", []),
        ("E35故障怎么处理", "| E03 | E-350 | the allowance rises from 35 to 45 euros |", ["e35"]),
        ("E35故障怎么处理", "报警 E-35：抱闸", []),
        ("4号线班车几点发车", "| 3号线 | 14号线 |", ["4号线"]),
        ("2号楼几点关门", "二号楼 22 点关门", []),
        ("how long are files in /home kept", "files in /scratch are deleted", ["/home"]),
        ("how long are files in /home kept", "/home is kept for a year", []),
        ("is it and/or", "", []),
        ("meeting #12", "weekly meeting #11", ["#12"]),
        ("meeting #12", "Minutes no. 12", []),
    ],
)
def test_a_code_is_there_also_as_part_of_a_longer_name_but_a_version_is_not_another_one(question, text, missing):
    assert missing_codes(question, [text]) == missing


@given(st.text(max_size=60), st.text(max_size=60))
def test_what_a_text_says_itself_is_never_missing_in_it(question, other):
    assert without_codes(codes_in(question), f"{question} {other}") == [] or "." in "".join(codes_in(question))


@pytest.mark.parametrize(
    ("question", "text", "missing"),
    [
        ("PPR-908 怎么处理", "PPR-9087：主轴", ["ppr908"]),
        ("PPR-9087 怎么处理", "PPR-9087/2：副轴", []),
        ("what is CPU-77", "XCPU-77", ["cpu77"]),
        ("what is CPU-77", "CPU 77 and CPU-78", []),
        ("what is TS38.321", "3GPP TS 38.321", []),
        ("错误 0x80070643", "错误 0x80070644", ["0x80070643"]),
        ("轴承 6205-2RS", "轴承 6205-2Z", ["62052rs"]),
        ("after 500-hour tests at 100-MHz", "", []),
        ("C++ 怎么学", "C# 入门，C 语言", ["c++"]),
        ("Is C# there", "C#12 is", []),
        ("A+ 级是什么", "A 级", ["a+"]),
        ("5G-A 是什么", "5G 是", ["5g-a"]),
        ("5G-A 是什么", "5G-Advanced 是", []),
        ("a+b, 50+ and #", "", []),
        ("工单 20260511-08 由谁处理", "工单 20260511-07 由李敏处理", ["2026051108"]),
        ("RFC 3338 规定什么", "RFC 3339 规定时间格式", ["rfc 3338"]),
        ("ISO 9001, GB 50016", "ISO/IEC 9001 and GB/T 50016-2014", []),
        ("ALM 1234", "ALM-1235", ["alm 1234"]),
    ],
)
def test_a_code_is_neither_the_beginning_nor_the_end_of_another_one(question, text, missing):
    assert missing_codes(question, [text]) == missing

# ruff: noqa: E501 - prose
"""Writes the sample documents that are not plain text: `python scripts/make_demo_files.py`.

The results are committed; run this only after changing the text below. Needs reportlab (a development dependency).
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from docx import Document as WordDocument
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.lib.units import cm
from reportlab.platypus import Flowable, Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

DOCUMENTS = Path(__file__).resolve().parent.parent / "knowledge" / "demo" / "documents"

GUIDE_TITLE = "宏基站安装指南"
GUIDE: list[tuple[str, str] | list[list[str]]] = [
    (
        "p",
        "本指南适用于三扇区宏基站的室外安装，说明安装前的检查、安装步骤、接地、馈线和光纤的处理、上电和验收。数值是本指南的要求；与现场设计文件或设备标签不一致时，以设计文件和标签为准。",
    ),
    ("h1", "1 安全要求"),
    ("p", "登高作业人员必须持有有效证件，佩戴安全帽、全身式安全带和防滑鞋，并有一人在地面监护。"),
    ("p", "雷雨、大雾、六级及以上大风时停止登高作业。"),
    ("p", "接触射频接头之前，必须在网管上关闭对应通道的发射，并在现场确认。带电操作射频接头会造成灼伤和设备损坏。"),
    ("h1", "2 安装前的检查"),
    ("p", "开工前逐项检查下表的条件。任何一项不满足，都不能开始安装。"),
    [
        ["检查项", "要求", "方法"],
        ["供电", "直流 -48 V，允许范围 -40 V 至 -57 V", "万用表测量"],
        ["接地电阻", "不大于 10 Ω", "接地电阻测试仪"],
        ["抱杆", "直径 60 mm 至 114 mm，垂直偏差不大于 1°", "卷尺、水平仪"],
        ["传输", "光功率在光模块的接收范围之内", "光功率计"],
        ["环境温度", "-40 ℃ 至 +50 ℃", "温度计"],
        ["设计文件", "站点编号、方位角、下倾角、频段齐全", "核对"],
    ],
    ("h1", "3 安装步骤"),
    ("h2", "3.1 安装天线"),
    (
        "p",
        "按照设计文件确定挂高、方位角和机械下倾角。方位角的误差不大于 5°，下倾角的误差不大于 0.5°。罗盘要离开铁件至少 1 m 读数，否则读数会偏。",
    ),
    ("h2", "3.2 安装射频单元"),
    (
        "p",
        "射频单元安装在天线下方，接头朝下。射频单元之间的间距不小于 300 mm，下方留出不小于 500 mm 的维护空间，以保证散热和操作。",
    ),
    ("h2", "3.3 安装基带单元"),
    (
        "p",
        "基带单元安装在室外机柜内，占用 2U 高度。进风口与出风口前方不小于 100 mm 内不得有遮挡物。插拔单板必须佩戴防静电手环。",
    ),
    ("h1", "4 接地"),
    (
        "p",
        "每个射频单元用截面积不小于 16 平方毫米的黄绿色铜缆就近接到接地排。接地线应短而直，不得盘绕，一个接地螺栓只压接一根接地线。",
    ),
    ("p", "基站的接地电阻不大于 10 Ω。土壤电阻率较高的地区可以采用降阻剂或扩大地网，并在验收报告中说明。"),
    ("h1", "5 馈线和光纤"),
    ("h2", "5.1 射频跳线与防水"),
    (
        "p",
        "跳线接头用力矩扳手拧紧到厂家规定的力矩。接头的防水分三层：内层绝缘胶带、中层防水胶泥、外层绝缘胶带，每一层都要压住前一层并超出两端。",
    ),
    ("p", "每个完成密封的接头都要拍照，作为验收材料。跳线在接头下方留滴水弯，使雨水不会流向接头。"),
    ("h2", "5.2 光纤"),
    ("p", "光纤的弯曲半径不小于光缆外径的 20 倍。多余的光纤盘在绕线盒内，不能用扎带勒紧。接头插入前用无尘纸清洁。"),
    ("h1", "6 上电与调测"),
    ("p", "上电之前再次测量电压和极性。依次闭合机柜总开关、基带单元开关和射频单元开关，每一步之间等待指示灯稳定。"),
    (
        "p",
        "指示灯 RUN 慢闪（1 秒亮、1 秒灭）表示正常运行，快闪表示正在加载软件，常亮表示有故障；ALM 常亮表示有需要处理的告警。",
    ),
    ("h1", "7 验收"),
    [
        ["项目", "合格标准"],
        ["驻波比", "每个端口小于 1.5"],
        ["方位角", "与设计的偏差不大于 5°"],
        ["接地电阻", "不大于 10 Ω"],
        ["告警", "连续 24 小时没有重要及以上的告警"],
        ["照片", "全部密封的接头、接地点、机柜内部"],
    ],
    ("p", "验收通过后，施工方与维护方在验收报告上签字，站点移交维护。报告保存期限不少于 3 年。"),
]

TEST_TITLE = "Test specification: random access and RRC connection set-up"
PARAMETERS = [
    ["Parameter", "Value", "Meaning"],
    ["T300", "1000 ms", "UE waits for the answer to RRCSetupRequest"],
    ["preambleTransMax", "10", "preamble transmissions before MAC reports a problem"],
    ["powerRampingStep", "2 dB", "increase from one transmission to the next"],
    ["ra-ResponseWindow", "10 slots", "window for the random access response"],
    ["ra-ContentionResolutionTimer", "64 subframes", "wait for contention resolution after Msg3"],
    ["preambleReceivedTargetPower", "-104 dBm", "target at the gNB"],
]
CASES = [
    ["Case", "Title", "Type", "Passes when"],
    ["TC-RA-001", "Four-step access, one UE", "CBRA", "connected within 100 ms in 99 of 100 trials"],
    ["TC-RA-002", "No response to Msg1", "CBRA", "power rises by 2 dB a trial; 10 transmissions"],
    ["TC-RA-003", "Two UEs, same preamble", "CBRA", "exactly one wins, the other connects later"],
    ["TC-RA-004", "Contention resolution timer expires", "CBRA", "UE starts again with a preamble"],
    ["TC-RA-005", "Handover with dedicated preamble", "CFRA", "interruption below 50 ms, no contention"],
    ["TC-RA-006", "T300 expires", "RRC", "UE resets MAC and informs upper layers"],
    ["TC-RA-007", "Access under load, 64 UEs", "CBRA", "95 % connected within 500 ms"],
    ["TC-RA-008", "Two-step access and fallback", "CBRA", "fallbackRAR leads to Msg3"],
]
TEST: list[tuple[str, str] | list[list[str]]] = [
    ("p", "This specification describes the tests of random access and RRC connection set-up of a base station (gNB). It is written for "
          "test engineers who run the cases in the laboratory with a UE simulator. Each case names its purpose, what must be true "
          "before, the steps, and when it passes."),
    ("h1", "1 Test set-up"),
    ("p", "One cell in band n78 with a bandwidth of 100 MHz and a subcarrier spacing of 30 kHz is used. The UE simulator is connected by "
          "cable through a channel emulator; the path loss is 100 dB unless a case says otherwise. PRACH uses format B4 with a "
          "configuration period of 10 ms. All clocks are locked to one 10 MHz reference. The gNB logs are recorded at level info."),
    ("p", "The timers and parameters below are set in the cell for all cases."),
    PARAMETERS,
    ("h1", "2 Overview of the cases"),
    CASES,
    ("h1", "3 Cases in detail"),
    ("h2", "3.1 TC-RA-001: four-step access, one UE"),
    ("p", "Purpose: the basic procedure works. Before: the UE is in RRC_IDLE and camps on the cell. Steps: (1) trigger a connection; "
          "(2) record Msg1 to Msg4 and RRCSetupComplete; (3) release the connection; (4) repeat 100 times. "
          "Passes when at least 99 of 100 trials reach RRC_CONNECTED within 100 ms after the first preamble and the timing advance "
          "differs by no more than one step between trials."),
    ("h2", "3.2 TC-RA-002: no response to Msg1"),
    ("p", "Purpose: power ramping. Before: the gNB is set to ignore preambles. Steps: trigger a connection and record the transmit "
          "power of each preamble. Passes when the power rises by 2 dB from one transmission to the next, up to the maximum power of "
          "the UE, and transmissions stop after the tenth with a random access problem indicated to the upper layers."),
    ("h2", "3.3 TC-RA-003: two UEs with the same preamble"),
    ("p", "Purpose: contention resolution. Before: two simulated UEs are made to choose preamble 17 in the same PRACH occasion. "
          "Steps: trigger both at once, 50 times. Passes when in every trial at most one UE accepts Msg4, the other one detects that "
          "the contention resolution identity is not its own, backs off and connects within 500 ms."),
    ("h2", "3.4 TC-RA-004: contention resolution timer expires"),
    ("p", "Purpose: recovery from a lost Msg4. Before: the gNB is set to suppress Msg4 once. Passes when the UE discards the temporary "
          "C-RNTI after 64 subframes, starts again with a preamble and connects. This case also covers contention resolution."),
    ("h2", "3.5 TC-RA-005: handover with a dedicated preamble"),
    ("p", "Purpose: contention-free access. Before: a second cell is on air; the UE is connected and transfers data at 50 Mbit/s. "
          "Passes when the interruption of user data is below 50 ms in 20 of 20 handovers and Msg1 carries the dedicated preamble."),
    ("h2", "3.6 TC-RA-006: T300 expires"),
    ("p", "Purpose: failure of connection set-up. Before: the gNB answers Msg3 with contention resolution but never sends RRCSetup. "
          "Passes when the UE, 1000 ms after RRCSetupRequest, resets MAC, releases the configuration and informs the upper layers of "
          "the failure."),
    ("h2", "3.7 TC-RA-007: access under load"),
    ("p", "Purpose: behaviour with many attempts. Steps: 64 UEs start within one second. Passes when 95 % are connected within 500 ms "
          "and all within 3 s, and no process of the gNB restarts."),
    ("h2", "3.8 TC-RA-008: two-step access and fallback"),
    ("p", "Purpose: MsgA and MsgB. Steps: (1) at 100 dB path loss, 50 trials; (2) with the PUSCH part of MsgA attenuated by 20 dB, 50 "
          "trials. Passes when in part 1 at least 48 trials succeed with successRAR and in part 2 the gNB sends fallbackRAR and "
          "the UE continues with Msg3."),
    ("h1", "4 Report"),
    ("p", "The report lists for each case the software version, the number of trials, the passes, and the logs of each failure. A failed case is "
          "repeated once; if it fails again, a defect is opened and named in the report."),
]  # fmt: skip


def write_guide(path: Path) -> None:
    """The installation guide as a Word document."""
    word = WordDocument()
    word.core_properties.title = GUIDE_TITLE
    word.core_properties.author = "Ragsite"
    word.core_properties.created = word.core_properties.modified = datetime(2026, 11, 20, tzinfo=UTC)
    word.add_heading(GUIDE_TITLE, level=0)
    for part in GUIDE:
        if isinstance(part, list):
            _word_table(word, part)
        elif part[0] == "p":
            word.add_paragraph(part[1])
        else:
            word.add_heading(part[1], level=int(part[0][1]))
    word.save(str(path))


def _word_table(word: object, rows: list[list[str]]) -> None:
    table = word.add_table(rows=0, cols=len(rows[0]), style="Table Grid")  # type: ignore[attr-defined]
    for row in rows:
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text


def write_test_specification(path: Path) -> None:
    """The test specification as a PDF with running header and page numbers."""
    styles = getSampleStyleSheet()
    names = {"p": "BodyText", "h1": "Heading1", "h2": "Heading2"}
    story: list[Flowable] = [Paragraph(TEST_TITLE, styles["Title"])]
    for part in TEST:
        if isinstance(part, list):
            story += [_pdf_table(part, styles["BodyText"]), Spacer(1, 0.4 * cm)]
        else:
            story.append(Paragraph(part[1], styles[names[part[0]]]))
    document = SimpleDocTemplate(str(path), pagesize=A4, title=TEST_TITLE, author="Ragsite", invariant=1)
    document.build(story, onFirstPage=_page_furniture, onLaterPages=_page_furniture)


def _pdf_table(rows: list[list[str]], style: object) -> Table:
    cells = [[Paragraph(text, style) for text in row] for row in rows]
    widths = {3: [5 * cm, 3.2 * cm, 7.6 * cm], 4: [2.4 * cm, 5.6 * cm, 1.8 * cm, 6 * cm]}[len(rows[0])]
    look = TableStyle(
        [
            ("GRID", (0, 0), (-1, -1), 0.5, colors.grey),
            ("BACKGROUND", (0, 0), (-1, 0), colors.whitesmoke),
            ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ]
    )
    return Table(cells, colWidths=widths, style=look, repeatRows=1)


def _page_furniture(canvas: object, document: object) -> None:
    canvas.setFont("Helvetica", 8)  # type: ignore[attr-defined]
    canvas.drawString(2.5 * cm, 28.5 * cm, "Random access test specification")  # type: ignore[attr-defined]
    canvas.drawRightString(18.5 * cm, 1.5 * cm, f"Page {document.page}")  # type: ignore[attr-defined]


if __name__ == "__main__":
    write_guide(DOCUMENTS / "base-station-installation.docx")
    write_test_specification(DOCUMENTS / "test-random-access.pdf")

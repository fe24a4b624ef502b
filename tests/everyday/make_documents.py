"""Writes the binary documents of this folder: Word, Excel, PowerPoint and PDF. Run once by hand; the files are kept.

python tests/everyday/make_documents.py
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from docx import Document
from openpyxl import Workbook
from pptx import Presentation
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Flowable, Paragraph, SimpleDocTemplate, Table

FOLDER = Path(__file__).parent / "documents"
Rows = Sequence[Sequence[str | int]]

SPECIFICATION: Rows = [
    ["Property", "QC12", "QC30", "QC30R"],
    ["Maximum speed (rpm)", "13,500", "15,200", "15,200"],
    ["Maximum RCF (x g)", "17,100", "22,400", "22,400"],
    ["Largest capacity", "12 x 2 ml", "4 x 750 ml", "4 x 750 ml"],
    ["Temperature", "ambient", "ambient", "-10 to +40 °C"],
    ["Noise at maximum speed (dB(A))", "54", "62", "58"],
    ["Weight (kg)", "14", "118", "164"],
    ["Power (W)", "350", "1,600", "2,900"],
    ["Time to maximum speed (s)", "18", "45", "48"],
    ["Interfaces", "USB", "USB, Ethernet", "USB, Ethernet"],
]
ROTORS: Rows = [
    ["Rotor", "Type", "Tubes", "Maximum speed (rpm)", "For"],
    ["RT-12", "fixed angle", "12 x 2 ml", "13,500", "QC12"],
    ["RT-21", "swing-out", "4 x 750 ml", "4,500", "QC30, QC30R"],
    ["RT-24", "fixed angle", "6 x 100 ml", "12,000", "QC30, QC30R"],
    ["RT-27", "fixed angle", "24 x 2 ml", "15,200", "QC30, QC30R"],
    ["RT-28", "swing-out, microplates", "2 x 3 plates", "4,000", "QC30, QC30R"],
]
ALARMS: Rows = [
    ["代码", "名称", "级别", "可能原因", "处理方法", "是否停机"],
    ["E-01", "门盖未锁", "一般", "门盖没有关到位，或锁扣有异物", "清洁锁扣，重新关盖", "否"],
    ["E-03", "不平衡", "严重", "对称位置的管重相差超过 5 克", "重新配平后再启动", "是"],
    ["E-04", "转子未识别", "一般", "转子代码没有登记", "在面板“转子”里登记代码", "否"],
    ["E-07", "超速", "紧急", "测速传感器故障", "断电，联系二线支持，不得再启动", "是"],
    ["E-09", "腔体过温", "严重", "制冷没有打开，或环境超过 28 ℃", "开盖冷却 20 分钟，检查室温", "是"],
    ["E-11", "制冷剂压力低", "严重", "制冷管路泄漏（仅 QC30R）", "停用制冷，报修", "否"],
    ["E-12", "冷凝器脏堵", "一般", "滤网积灰（仅 QC30R）", "吸尘清洁滤网", "否"],
    ["E-15", "电机过温", "紧急", "风道堵塞，或连续满速运行超过 6 小时", "停机 60 分钟，清理风道", "是"],
    ["E-18", "面板通信中断", "严重", "面板排线松动", "重启；再次出现时更换面板板卡", "否"],
    ["E-20", "转子寿命到期", "严重", "循环次数或年限到达上限", "更换转子", "否"],
    ["E-22", "电源电压异常", "紧急", "电压低于 200 V 或高于 250 V", "断电，请电工检查插座", "是"],
    ["E-30", "存储错误", "一般", "运行记录存储区已满或损坏", "导出记录后清空", "否"],
]
RESPONSE: Rows = [
    ["级别", "回电时限", "到场时限"],
    ["紧急", "30 分钟", "4 小时"],
    ["严重", "2 小时", "次日"],
    ["一般", "1 个工作日", "远程处理，不到场"],
]
PRICES: Rows = [
    ["Part number", "Description", "Fits", "Price 2025 (EUR)", "Price 2026 (EUR)", "Lead time (weeks)"],
    ["QP-1010", "Lid seal", "QC12", 38, 42, 1],
    ["QP-1020", "Lid seal", "QC30, QC30R", 64, 69, 1],
    ["QP-2110", "Drive motor", "QC12", 410, 445, 3],
    ["QP-2130", "Drive motor", "QC30, QC30R", 1180, 1260, 6],
    ["QP-3005", "Panel board", "QC12, QC30, QC30R", 520, 520, 4],
    ["QP-3310", "Compressor", "QC30R", 890, 975, 8],
    ["QP-3320", "Condenser filter", "QC30R", 27, 29, 1],
    ["QP-4021", "Rotor RT-21", "QC30, QC30R", 1640, 1720, 5],
    ["QP-4024", "Rotor RT-24", "QC30, QC30R", 1390, 1450, 5],
    ["QP-4027", "Rotor RT-27", "QC30, QC30R", 760, 790, 2],
    ["QP-5001", "Rotor nut and grease set", "QC30, QC30R", 22, 24, 1],
]
TERMS: Rows = [
    ["Term", "Rule"],
    ["Valid from", "1 March 2026"],
    ["Discount for distributors", "18 %"],
    ["Discount for universities", "12 %"],
    ["No discount", "compressors and panel boards"],
    ["Small orders", "below 150 EUR a handling fee of 15 EUR is added"],
    ["Express delivery", "adds 20 % to the price and halves the lead time"],
]
POLICY_2024 = [
    ("第一条 适用范围", ["本办法适用于苏州工厂的办公室岗位。实验室和产线岗位不适用。试用期员工不得申请远程办公。"]),
    ("第二条 天数", ["每周远程办公最多 1 天，周一不安排远程办公。"]),
    ("第三条 申请和审批", ["员工提前 3 个工作日在人事系统里申请，由部门经理审批。"]),
    ("第四条 核心时段", ["核心时段是所有人必须在线的时间，为 10:00 至 16:00。"]),
    ("第五条 补贴", ["远程办公补贴为每月 100 元，随工资发放。"]),
    ("第六条 境外", ["不得在境外远程办公。"]),
    ("第七条 违规", ["核心时段无故离线的，取消 3 个月远程办公资格。"]),
    ("第八条 生效", ["本办法自 2024 年 4 月 1 日起施行。"]),
]
POLICY_2026 = [
    (
        "第一条 适用范围",
        ["本办法适用于苏州工厂和北京办事处的办公室岗位。实验室和产线岗位不适用。入职满 2 个月的试用期员工可以申请。"],
    ),
    ("第二条 天数", ["每周远程办公最多 2 天，两天不得连续。"]),
    ("第三条 申请和审批", ["员工提前 1 个工作日在人事系统里申请，由直属主管审批。"]),
    ("第四条 核心时段", ["核心时段是所有人必须在线的时间，为 9:30 至 15:30。"]),
    ("第五条 补贴", ["远程办公补贴为每月 180 元，随工资发放。当月远程不足 2 天的不发。"]),
    ("第六条 境外", ["境外远程办公每年最多 10 个工作日，须经人力资源部和信息安全部两个部门批准。"]),
    ("第七条 违规", ["核心时段无故离线的，取消 6 个月远程办公资格。"]),
    ("第八条 生效", ["本办法自 2026 年 1 月 1 日起施行，2024 年版同时废止。"]),
]
LOANS = [
    ("一、期限", ["样机借用期为 21 天。没有其他人预订时可以延期一次，延期 14 天。"]),
    ("二、审批", ["目录价 2 万欧元以内由大区销售经理批准，超过的由销售总监批准。"]),
    ("三、押金", ["客户按目录价的 10% 交押金。高校和公立医院免押金。"]),
    ("四、预订", ["至少提前 5 个工作日在 DemoPool 日历里预订。"]),
    (
        "五、归还",
        ["归还时样机须清洁，并附去污证明 DF-3。逾期每天收 50 欧元。送货运费由销售部承担，退回运费由客户承担。"],
    ),
    ("六、损坏", ["借用期间损坏的，客户承担维修费，最高不超过押金的两倍；转子损坏按原价赔偿。"]),
]
SLIDES: Sequence[tuple[str, Sequence[str]]] = [
    ("面板固件 4.2 培训", ["服务部，2026 年 3 月", "对象：现场工程师和热线工程师"]),
    (
        "新功能",
        [
            "转子寿命计数：达到寿命的 90% 时提醒",
            "通过以太网导出运行记录（QC30、QC30R）",
            "中文界面",
            "休眠：20 分钟无操作后黑屏",
        ],
    ),
    (
        "升级注意",
        ["升级约 12 分钟，期间不得断电", "升级会删除运行记录，要先导出", "3.x 版本先升到 4.0", "只能退回 4.1"],
    ),
    (
        "培训安排",
        [
            "苏州：3 月 18 日 9:00，培训教室 B，讲师罗青",
            "成都：3 月 25 日 13:30，客户中心，讲师韩牧",
            "线上考试：4 月 10 日前完成，80 分及格，可补考一次",
        ],
    ),
]
CALIBRATION: Sequence[tuple[str, Sequence[str]]] = [
    (
        "1 Scope and interval",
        [
            "This procedure covers the calibration of Quellmoor centrifuges at customers and in the workshop.",
            "Speed is calibrated every 12 months on all models. Temperature is calibrated every 6 months on the QC30R.",
        ],
    ),
    (
        "2 Tolerances",
        ["Speed: plus or minus 20 rpm. Temperature: plus or minus 1.5 °C. Timer: plus or minus 2 seconds per hour."],
    ),
    (
        "3 Who may calibrate",
        [
            "Only technicians with certificate level 2 calibrate. The certificate is valid for three years.",
            "Level 1 technicians may assist but do not sign.",
        ],
    ),
    (
        "4 Speed calibration",
        [
            "1. Warm the instrument up for 15 minutes at 3,000 rpm.",
            "2. Put the reflective mark on the rotor and close the lid.",
            "3. Measure with the optical tachometer through the lid window at 1,000, 5,000 and 10,000 rpm.",
            "4. Enter the three readings under Service > Calibration > Speed.",
            "5. Repeat the measurement at 5,000 rpm.",
            "6. Print the report and stick the calibration label next to the main switch.",
        ],
    ),
    (
        "5 Out of tolerance",
        [
            "Put a red label on the instrument and tell quality assurance within 24 hours.",
            "The customer is told which runs since the last calibration may be wrong.",
        ],
    ),
    ("6 Records", ["Calibration reports are kept for 10 years in the archive CalBox, by serial number."]),
]


def main() -> None:
    """Writes all files, over those that are there."""
    _data_sheet()
    _workbook("离心机报警代码表.xlsx", {"报警代码": ALARMS, "响应时限": RESPONSE})
    _workbook("Spare parts price list 2026-03.xlsx", {"Prices": PRICES, "Terms": TERMS})
    _policy("远程办公管理办法（2024版）.docx", "远程办公管理办法（2024版）", POLICY_2024)
    _policy("远程办公管理办法（2026年修订）.docx", "远程办公管理办法（2026年修订）", POLICY_2026)
    _policy("样机借用规定.docx", "样机借用规定（SR-08，2025 年 10 月 1 日起施行）", LOANS)
    _slides("面板固件4.2培训.pptx")
    _pdf("QP-17 Calibration procedure.pdf")


def _data_sheet() -> None:
    document = Document()
    document.add_heading("QC series laboratory centrifuges: data sheet", 0)
    document.add_paragraph("Revision F, November 2025")
    document.add_heading("Specification", 1)
    _word_table(document, SPECIFICATION)
    document.add_paragraph(
        "RCF means relative centrifugal force: the acceleration in the rotor as a multiple of gravity (x g)."
    )
    document.add_heading("Rotors", 1)
    _word_table(document, ROTORS)
    document.add_paragraph("A rotor is used for 7 years or 50,000 cycles, whichever comes first.")
    document.add_heading("Warranty", 1)
    document.add_paragraph("24 months on all models. The drive of the QC30 and the QC30R has 60 months.")
    document.save(str(FOLDER / "QC series data sheet rev F.docx"))


def _word_table(document: Document, rows: Rows) -> None:
    table = document.add_table(rows=0, cols=len(rows[0]))
    for row in rows:
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = str(text)


def _workbook(name: str, sheets: dict[str, Rows]) -> None:
    book = Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(list(row))
    book.save(FOLDER / name)


def _policy(name: str, title: str, articles: Sequence[tuple[str, Sequence[str]]]) -> None:
    document = Document()
    document.add_heading(title, 0)
    for heading, paragraphs in articles:
        document.add_heading(heading, 1)
        for paragraph in paragraphs:
            document.add_paragraph(paragraph)
    document.save(str(FOLDER / name))


def _slides(name: str) -> None:
    presentation = Presentation()
    for title, points in SLIDES:
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = "\n".join(points)
    presentation.save(str(FOLDER / name))


def _pdf(name: str) -> None:
    styles = getSampleStyleSheet()
    head = [["Document", "QP-17"], ["Edition", "4, 12 January 2026"], ["Owner", "quality assurance"]]
    parts: list[Flowable] = [Paragraph("QP-17 Calibration procedure", styles["Title"]), Table(head)]
    for heading, paragraphs in CALIBRATION:
        parts.append(Paragraph(heading, styles["Heading2"]))
        parts += [Paragraph(text, styles["BodyText"]) for text in paragraphs]
    SimpleDocTemplate(str(FOLDER / name), title="QP-17 Calibration procedure").build(parts)


if __name__ == "__main__":
    main()

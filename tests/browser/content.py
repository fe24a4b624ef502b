"""What the browser tests ask about, written for them."""

from __future__ import annotations

from io import BytesIO

TIMER = (
    "The session function starts the timer T_mod when the Session Modification Request leaves it. The default of "
    "T_mod is 2 s. When the timer expires, the function falls back to the source path and records alarm ALM-25902. "
    "Values from 0.5 s to 10 s may be configured; a change takes effect for new sessions at once."
)
CAUSES = (
    "# Causes of rejection\n\nA user plane function may reject a session modification. Cause 65 means that the session "
    "context was not found. Cause 66 means that a mandatory information element is missing. Cause 68 means that "
    "redundant transmission is not supported; the session function then retries without redundancy.\n"
)
GUIDE = (
    "# 切换失败定位指导\n\n## 告警 ALM-25902\n\n切换命令下发之前，会话修改请求必须先到达用户面网元。"
    "会话管理网元最多等待 2 秒的确认；超时后回退到源侧路径，并记录告警 ALM-25902。\n\n"
    "## 排查步骤\n\n先打开该会话的信令跟踪，确认第 7 条与第 8 条消息的时间差；若时间差大于门限，"
    "检查接口的丢包率与用户面网元的 CPU 占用率。\n"
)


class English:
    """A question, and the report that the scripted model writes."""

    question = "When may the user plane reject a session modification, and how long does T_mod wait?"
    pieces = tuple(
        piece + "\n\n"
        for piece in (
            "## Result",
            "A user plane function may reject the modification with cause 65, 66 or 68 [2]. The session function waits "
            "for **2 s** (`T_mod`) and then falls back to the source path [1].",
            "| Cause | Meaning | What follows |\n|---|---|---|\n| 65 | Session context not found | set up again |\n"
            "| 66 | Mandatory information element missing | correct the request |\n"
            "| 68 | Redundant transmission not supported | retry without redundancy |",
            "### Configuration",
            "- Values from 0.5 s to 10 s may be configured [1].\n- A change takes effect for new sessions at once [1].",
            "```\nSET SESSIONTIMER: NAME=T_MOD, VALUE=2.0;\n```",
        )
    )


class Chinese:
    """The same in Chinese."""

    question = "切换失败告警 ALM-25902 如何排查？"
    pieces = tuple(
        piece + "\n\n"
        for piece in (
            "## 结论",
            "会话管理网元最多等待 **2 秒**的确认，超时后回退到源侧路径，并记录告警 ALM-25902 [1]。",
            "## 排查步骤",
            "1. 打开该会话的信令跟踪，确认第 7 条与第 8 条消息的时间差 [1]。\n"
            "2. 若时间差大于门限，检查接口的丢包率与用户面网元的 CPU 占用率 [1]。",
            "| 检查项 | 门限 | 处理办法 |\n|---|--:|---|\n"
            "| 时间差 | 2 秒 | 检查接口丢包率 |\n| CPU 占用率 | 80% | 扩容 |",
        )
    )


def _pdf() -> bytes:
    """Three pages with a text layer; the timer is on the second."""
    from reportlab.lib.pagesizes import A4
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Spacer

    styles, out = getSampleStyleSheet(), BytesIO()
    scope = "This document describes how sessions between the control plane and the user plane are managed. "
    flow = [
        Paragraph("1 Scope", styles["Heading1"]),
        Paragraph(scope * 3, styles["BodyText"]),
        PageBreak(),
        Paragraph("2 Session modification", styles["Heading1"]),
        Paragraph(TIMER, styles["BodyText"]),
        Spacer(1, 24),
        Paragraph("The acknowledgement carries the sequence number of the request.", styles["BodyText"]),
        PageBreak(),
        Paragraph("3 Session deletion", styles["Heading1"]),
        Paragraph("The session is deleted when the terminal leaves the network for good.", styles["BodyText"]),
    ]
    SimpleDocTemplate(out, pagesize=A4, title="Session management").build(flow)
    return out.getvalue()


DOCUMENTS = (
    ("3gpp", "session.pdf", "Session management between control and user plane", _pdf),
    ("bts", "causes.md", "Causes of rejection", CAUSES.encode),
    ("test", "guide.md", "切换失败定位指导书", GUIDE.encode),
)

# what documents say about themselves, by file name
LABELS = {
    "session.pdf": {"tags": ["core", "N4"], "metadata": {"release": "17", "approved": "2024-03-01"}},
    "causes.md": {"tags": ["N4"], "metadata": {"release": "16", "approved": "2023-06-30"}},
    "guide.md": {"tags": ["告警"], "metadata": {"release": "17"}},
}

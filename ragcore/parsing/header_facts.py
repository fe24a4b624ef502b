"""What the headers and footers of pages say of a document: its number, version, dates and classification.

They stand on every page and are no text of any; they are read once and become attributes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ragcore.types import Block

MAX_FACTS = 12
MAX_LINE = 300  # characters of a header that are looked at
MAX_VALUE = 60  # characters

# attribute -> how its label is written
_LABELS: Mapping[str, str] = {
    "document_number": r"(?:文件|文档|文檔|制度|标准|規程|规程|表单|记录|合同|图|编制)?(?:编号|編號|文号|文號)"
    r"|(?:doc(?:ument)?|file|form|contract|drawing)\.?\s*(?:no|nr|number|id|ref(?:erence)?)\b\.?"
    r"|ref(?:erence)?\.?\s*no\.?",
    "version": r"版本(?:号|號)?|版次|修订(?:号|状态|次数)|修訂(?:號)?|version|edition"
    r"|rev(?:ision)?\b\.?(?:\s*no\.?)?|issue\s*no\.?",
    "date": r"(?:生效|发布|發布|实施|實施|修订|修訂|编制|批准|签发|制定)?日期"
    r"|(?:effective|issue|release|revision|approval)\s*date"
    r"|date(?:\s*of\s*(?:issue|release))?|valid\s*from|issued(?:\s*on)?",
    "classification": r"密级|密級|保密等级|classification|security\s*level",
    "issued_by": r"(?:编制|发布|归口|主管|责任)(?:部门|单位)|department|issued\s*by|owner",
}
_LABEL = re.compile("|".join(f"(?P<{key}>{pattern})" for key, pattern in _LABELS.items()), re.IGNORECASE)
_PAIR = re.compile(
    rf"(?<![A-Za-z\u4e00-\u9fff])(?P<label>{'|'.join(_LABELS.values())})\s*(?:[:：]\s*|\s(?=\S*\d))"
    r"(?P<value>\S(?:.*?\S)?)(?=\s{2,}|\t|[|｜;；]|$|\s(?=[^\s:：]{1,12}[:：]))",
    re.IGNORECASE,
)
_PAGE = re.compile(r"第?\s*\d*\s*页|page\s*\d*|^\W*$", re.IGNORECASE)


def header_facts(lines: Iterable[str | Sequence[str]]) -> dict[str, tuple[str, str]]:
    """Attribute -> label as written and value, of lines of headers and of rows of cells; the first counts."""
    facts: dict[str, tuple[str, str]] = {}
    for line in lines:
        for label, value in _pairs(line):
            match = _LABEL.fullmatch(label)
            if match and match.lastgroup and len(value) <= MAX_VALUE and not _PAGE.fullmatch(value):
                facts.setdefault(match.lastgroup, (label, value))
    return dict(list(facts.items())[:MAX_FACTS])


def with_facts(blocks: Sequence[Block], facts: Mapping[str, tuple[str, str]]) -> list[Block]:
    """The blocks with one line of the facts that they do not say, behind the title of the document."""
    full_text = _squeezed(" ".join(block.text for block in blocks))
    unsaid = {key: fact for key, fact in facts.items() if _squeezed(fact[1]) not in full_text}
    if not unsaid:
        return list(blocks)
    at = 1 if blocks and blocks[0].kind == "heading" else 0
    page = blocks[0].page if blocks else None
    return [*blocks[:at], Block(kind="paragraph", text=facts_line(unsaid), page=page), *blocks[at:]]


def attributes_of(metadata: Mapping[str, str]) -> dict[str, str]:
    """Those entries of a parsed document's metadata that are attributes of the document."""
    return {key: metadata[key][:MAX_VALUE] for key in _LABELS if metadata.get(key)}


def _squeezed(text: str) -> str:
    return "".join(text.split()).casefold()


def facts_line(facts: Mapping[str, tuple[str, str]]) -> str:
    """The facts on one line, as the header labels them: "文件编号：QP-07；版本：A/2"."""
    is_chinese = any(label > "\u2e7f" for label, _ in facts.values())
    colon, between = ("：", "；") if is_chinese else (": ", "; ")
    return between.join(f"{label}{colon}{value}" for label, value in facts.values())


def _pairs(line: str | Sequence[str]) -> Iterable[tuple[str, str]]:
    """Labels with their values; in a row of cells a label may fill one cell and its value the next."""
    cells = [line] if isinstance(line, str) else list(line)
    for at, cell in enumerate(cells):
        bare = cell.strip().rstrip(":：").strip()
        if _LABEL.fullmatch(bare) and at + 1 < len(cells):
            yield bare, cells[at + 1].strip()
        for match in _PAIR.finditer(cell[:MAX_LINE]):
            yield match["label"].strip(), match["value"].strip()

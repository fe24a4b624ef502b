"""The title of a document by what its file says: declared, or its first heading; never what a program left there.

Files declare titles that nobody wrote ("Microsoft Word - Document1", "PowerPoint Presentation", a date), and many begin
with a chapter ("1 Introduction"). Such texts name no document: then the caller's own name for it is better.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath

from ragcore.text.normalise import nfkc
from ragcore.types import Block, ParsedDocument

MAX_CHARACTERS = 160
MAX_SENTENCE = 60  # characters of a title that ends like a sentence
LEAD_CHARACTERS = 150  # of a line above the title
HEAD_BLOCKS = 12  # a title stands at the beginning, perhaps below a logo, a date and a note on secrecy
# Their headings are names of sheets, or what character recognition took for large letters.
_NO_HEADINGS = "bmp|csv|et|gif|jpe?g|log|ods|png|tiff?|tsv|webp|xls[mx]?|zip"
NO_HEADINGS = re.compile(rf"\.(?:{_NO_HEADINGS})")
DECLARED = frozenset({".eml", ".htm", ".html", ".msg"})  # say their title themselves, whatever their headings are

_GENERATED = re.compile(
    r"\A(?:(?:new |新建 ?)?microsoft (?:word|powerpoint|excel|office)\b.*"
    r"|power ?point (?:presentation|演示文稿)|word (?:document|文档)|excel (?:workbook|工作簿)"
    r"|.*\.(?:docx?|pptx?|xlsx?|pdf|html?|md|txt|odt|odp|indd|tex|dwg|vsdx?|wps|dps)"
    r"|[a-z]:[\\/].*|\\\\.*|~?/[^/\s]+/.*|(?:https?|file)://.*|[\w.-]+[\\/][\w./\\-]+)"
)
_PLACEHOLDER = re.compile(
    r"[(（<\[]?(?:(?:untitled|unnamed|new|无标题|未命名|新建|新)?[\s_-]{0,3}"
    r"(?:document|presentation|spreadsheet|book|workbook|sheet|slide|文档|演示文稿|幻灯片|电子表格|工作簿|工作表)"
    r"|untitled|unnamed|anonymous|unspecified|unknown|none|null|no title|page|scan|image|img"
    r"|draft|title|test|template|index|home|readme|default|main"
    r"|无标题|未命名|未指定|匿名|第\s?\d{1,4}\s?页|标题|封面|首页|扫描|图片)"
    r"[>\]]?[\s_(（-]{0,3}\d{0,6}[)）]?"
)
_PART = re.compile(
    r"(?:table of )?contents|(?:an? )?introduction|overview|abstract|(?:executive )?summary|foreword|preface|scope"
    r"|background|purpose|references|revision history|document history|change (?:log|history)|cover(?: page)?|agenda"
    r"|confidential|strictly confidential|internal(?: use only)?|company confidential"
    r"|目录|目次|目 录|引言|前言|概述|简介|摘要|背景|目的|范围|修订记录|修订历史|变更记录"
    r"|机密|秘密|内部资料|内部公开|议程"
)
_CHAPTER = re.compile(
    r"\d{1,2}(?:\.\d{1,3})*[.)、．]?\s.*|\d{1,2}(?:\.\d{1,3})+\S.*|[ivx]{1,5}\.\s.*|\(?\d{1,2}[)、）].*"
    r"|第\s*[\d一二三四五六七八九十百]+\s*[章节部分篇条].*|[一二三四五六七八九十]+、.*|(?:chapter|section|part|annex|appendix)\s+\w+\b.*|附录.*"
)
_DATE = re.compile(
    r"(?:[\d\s./:,年月日时分秒_-]|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b"
    r"|(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b|(?<=\d)(?:st|nd|rd|th)\b|[ap]m\b|星期.|周[一二三四五六日])+"
)
_MARKUP = re.compile(r"!?\[([^\[\]]{0,200})\]\([^()]{0,200}\)|[*_`]{2,}|(?<!\w)[*_`]|[*_`](?!\w)|<[^<>]{1,40}>")


def title_by_content(document: ParsedDocument, *, name: str) -> str:
    """The title that the file declares, else its first heading that names it; "" where neither is fit.

    `name`: of the file.
    """
    ending = PurePath(name).suffix.lower()
    return next((title for text in _candidates(document, ending) if (title := usable_title(text))), "")


def usable_title(text: str) -> str:
    """The text in one line without markup; "" where it names no document."""
    title = " ".join(_MARKUP.sub(_label, text).split())
    low = nfkc(title).casefold().strip(" .:：。-–—")
    if len(title) > MAX_CHARACTERS or (len(title) > MAX_SENTENCE and title[-1] in ".。！？!?;；"):
        return ""
    is_named = not is_default_title(title) and not any(pattern.fullmatch(low) for pattern in (_PART, _DATE))
    return title if is_named else ""


def is_default_title(text: str) -> bool:
    """Whether a program left it there: "(anonymous)", "Document1", the path of a file, hardly a letter."""
    low = nfkc(" ".join(text.split())).casefold().strip(" .:：。-–—")
    letters = sum(char.isalpha() for char in low)
    return letters < 2 or any(pattern.fullmatch(low) for pattern in (_GENERATED, _PLACEHOLDER))


def _label(match: re.Match[str]) -> str:
    """The words of a link; nothing of a picture and of other markup."""
    return match[1] if match[1] and not match[0].startswith("!") else ""


def _candidates(document: ParsedDocument, ending: str) -> Iterator[str]:
    first = _first_heading(document.blocks[:HEAD_BLOCKS])
    headings = {block.text.strip() for block in document.blocks if block.kind == "heading"}
    declared = document.title
    is_guess = declared in headings and (declared != first or _is_chapter(declared))
    if ending in DECLARED or not is_guess:
        yield declared
    if not NO_HEADINGS.fullmatch(ending) and not _is_chapter(first):
        yield first


def _first_heading(blocks: Iterable[Block]) -> str:
    """The heading above the text; "" where more than short lines and pictures stand above it."""
    for block in blocks:
        if block.kind == "heading":
            return block.text.strip()
        if block.kind not in ("paragraph", "image") or len(block.text) > LEAD_CHARACTERS:
            break
    return ""


def _is_chapter(text: str) -> bool:
    return _CHAPTER.fullmatch(nfkc(text).casefold().strip()) is not None

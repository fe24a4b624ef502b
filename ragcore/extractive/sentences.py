"""The sentences of numbered sources, ready to be chosen from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ragcore.ports import Tokenizer
from ragcore.text.code_blocks import CodeBlock, text_parts
from ragcore.text.markdown import captions_once, cells_of, is_row, is_rule, labelled, plain_text, without_pictures
from ragcore.text.request_cache import cached
from ragcore.text.scripts import columns
from ragcore.text.sentences import split_sentences
from ragcore.text.source_code import readable_source
from ragcore.types import Source

MIN_LETTERS = 2  # without them it is a row of dots or figures
KEPT_TEXTS = 2048  # of sources, whose sentences a process keeps
LONG_CHARS = 400  # columns; longer sentences are offered clause by clause
LEAD_COLUMNS = 24  # of a sentence at the beginning of a line that only leads to the next one
STEP_COLUMNS = 80  # of a step's name: "Step 3. Locate the fault."

_HEADING = re.compile(r"\s*#{1,6}\s")
_RULE = re.compile(r"[\s|:\-=*_`~]+")
_SECTION_NUMBER = re.compile(r"\s*\d+(?:\.\d+)+\s+\S.{0,80}")
_HAN = "一二三四五六七八九十百零〇壹贰叁肆伍陆柒捌玖拾"
_LABEL = re.compile(
    rf"\s*(?P<label>\d+(?:\.\d+)+(?=\s)|第[{_HAN}\d]{{1,5}}[条條款项項步](?=\s)|附[件录錄表图圖][A-Z{_HAN}\d]{{1,2}}(?=[\s：:])"
    rf"|(?:步骤|步驟|(?i:step))\s?\d{{1,3}}(?=[\s：:])|[{_HAN}]{{1,3}}[、.．]|[甲乙丙丁戊己庚辛壬癸][、.．])"
)
_COUNTED = re.compile(rf"[{_HAN}\dA-Z甲乙丙丁戊己庚辛壬癸]+")
# a sentence that the block of code behind it belongs to
_LEADS_TO_CODE = re.compile(
    r"\b(?:following|below|this|example|snippet|script|code|commands?|run|execute|type|enter|query|configuration|call|use)\b"
    r"|如下|以下|下面|下列|示例|例如|代码|代碼|脚本|腳本|命令|指令|执行|執行|运行|運行|输入|輸入|配置|调用|調用",
    re.IGNORECASE,
)
_ENDS = re.compile(r"[。！？.!?;；:：…」』”\")）]\s*\Z")
_ITEM = re.compile(
    r"\s{0,3}(?:[-*+•]\s|\d{1,3}(?:[)、．]|\.(?!\d))\s?|[(（](?:\d{1,3}|[一二三四五六七八九十]{1,3})[)）]|[①-⑳]"
    r"|[(（]?(?:[ivxl]{1,6}|[a-z])[.)）]\s)"
)
_ASKS = re.compile(r"(?:问|問|Q(?:uestion)?)\s*\d{0,3}\s*[.:：]\s*(?=\S)", re.IGNORECASE)  # in questions and answers
_ANSWERS = re.compile(r"(?:答|回答|A(?:nswer)?)\s*\d{0,3}\s*[.:：]\s*(?=\S)", re.IGNORECASE)
# a sentence that only says where to look
_POINTER = re.compile(
    r"[(（]?(?:详|詳|请|請|参|參)?[见見参參](?:见|見|阅|閱|考)?[上下]?(?:图|圖|表|附录|附錄|第|节|節|章)"
    r"[^。，,]{0,12}[)）]?[。.]?"
    r"|[(（]?(?:如|见|見)?[上下]?[图圖表]\s*[\d.\-]*\s*(?:所示|为例|為例)?[)）]?[。.：:]?"
    r"|[(（]?(?:see|cf\.?|refer to)(?: also)? (?:the )?(?:figure|fig\.?|table|clause|section|annex|appendix|chapter)\b"
    r"[^,;]{0,24}[.)]*",
    re.IGNORECASE,
)
_LETTER = re.compile(r"[^\W\d_]")
_MAIL_HEAD = re.compile(
    r"(?:-{2,}\s*(?:Original|Forwarded) message\s*-{2,}|-{2,}\s*(?:原始|转发的?)邮件\s*-{2,}"
    r"|(?:From|To|Cc|Bcc|Sent|Date|Subject|发件人|收件人|抄送|主题|寄件者|收件者|主旨)\s*[:：]\s)",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"(?<=[；;])\s*")
_LINK = re.compile(r"\S*https?://\S+")
_QUESTION = re.compile(r"[?？][」』”\")）.]*\s*\Z")
_ASKING_HEADING = re.compile(
    r"\s*(?:\d+(?:\.\d+)*\.?\s+|[一二三四五六七八九十]+、\s*)?"
    r"(?:为什么|為什麼|为何|為何|如何|怎么|怎麼|怎样|怎樣|什么时候|什麼時候"
    r"|(?:why|how(?: to)?|what|when|where|who|which)\s+\S+\s+\S+)",
    re.IGNORECASE,
)
_BOLD = re.compile(r"\s*(?:\*\*[^*]+\*\*|__[^_]+__)\s*")
_STOP = re.compile(r"[.。]\Z")
_PARAGRAPH_END = re.compile(r"\n[ \t\r]*\n\s*\Z")
STEP = re.compile(r"step\s+\d+\b|第[一二三四五六七八九十\d]+步|步骤\s*\d+|步驟\s*\d+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of a source that may stand in an answer."""

    source: Source
    position: int  # place in the source, 0-based
    text: str  # verbatim but for Markdown marks and white space; code is verbatim, in a fence
    terms: tuple[str, ...]
    heading: str = ""  # that it stands under within its source
    announced: str = ""  # the beginning of `text` that announces a list or code, up to its colon
    is_item: bool = False  # a point of a list
    is_code: bool = False  # a block of code, behind the sentence that announces it
    is_row: bool = False  # of a table
    head: tuple[str, ...] = ()  # names of the row's columns
    cells: tuple[str, ...] = ()  # of the row, as many as `head`
    paragraph: int = 0  # place of its paragraph in the source, 0-based
    continues: bool = False  # the line or the point of the sentence before it


@dataclass(frozen=True, slots=True)
class _Piece:
    """A sentence as it stands in a text."""

    text: str
    heading: str
    announced: str = ""
    is_item: bool = False
    is_code: bool = False
    is_row: bool = False
    head: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    paragraph: int = 0
    continues: bool = False


def read_statements(sources: Sequence[Source], tokenizer: Tokenizer) -> list[Statement]:
    """All sentences of the sources in order; titles, headings, rules and mere pointers to figures are left out."""
    sources = tuple(sources)
    # by identity: the statements, which are kept with them, name these very sources
    key = ("statements", tokenizer, tuple(map(id, sources)))
    return list(cached(key, lambda: (sources, _statements(sources, tokenizer)))[1])


def _statements(sources: Sequence[Source], tokenizer: Tokenizer) -> list[Statement]:
    statements = []
    for source in sources:
        titles = {source.passage.title, *source.passage.heading_path}
        for position, piece in enumerate(_kept_pieces(source.text)):
            if _POINTER.fullmatch(piece.text) or piece.text in titles:
                continue
            if len(_LETTER.findall(piece.text)) >= MIN_LETTERS:
                terms = tuple(tokenizer.terms(readable_source(piece.text) if piece.is_code else piece.text))
                statements.append(
                    Statement(
                        source=source,
                        position=position,
                        text=piece.text,
                        terms=terms,
                        heading=piece.heading,
                        announced=piece.announced,
                        is_item=piece.is_item,
                        is_code=piece.is_code,
                        is_row=piece.is_row,
                        head=piece.head,
                        cells=piece.cells,
                        paragraph=piece.paragraph,
                        continues=piece.continues,
                    )
                )
    return statements


def plain_sentences(text: str) -> Iterator[str]:
    """Sentences without Markdown marks; one that announces a list is joined with what follows it. Code is none."""
    return (piece.announced if piece.is_code else piece.text for piece in _pieces(text) if _says_something(piece))


def _says_something(piece: _Piece) -> bool:
    return not piece.is_code or bool(piece.announced)


def is_question(text: str) -> bool:
    """Whether a sentence asks something."""
    return _QUESTION.search(text) is not None


def asks_something(heading: str) -> bool:
    """Whether a heading asks something, with a question mark or without: "3 Why no alarm was raised"."""
    return is_question(heading) or _ASKING_HEADING.match(heading) is not None


def strip_question_mark(heading: str) -> str:
    """A heading such as "Q: How far?" without its mark of a question."""
    return _ASKS.sub("", heading, count=1) if _ASKS.match(heading) else heading


@lru_cache(maxsize=KEPT_TEXTS)
def _kept_pieces(text: str) -> tuple[_Piece, ...]:
    return tuple(_pieces(text))


def _pieces(text: str) -> Iterator[_Piece]:
    announced = intro = heading = ""  # `intro`: what was announced before the item that leads to code
    head: tuple[str, ...] = ()
    raws = list(_raws(text))
    paragraph, before, opens_item = 0, "\n", False
    for raw, behind in zip(raws, [*raws[1:], ""], strict=False):
        paragraph += _PARAGRAPH_END.search(before) is not None
        if isinstance(raw, CodeBlock):
            code = _code(raw, heading, announced.strip(), opens_item=opens_item)
            is_opened = opens_item and bool(announced)
            yield replace(code, announced=intro.strip() if is_opened else code.announced, paragraph=paragraph)
            announced, head, before, opens_item = "", (), "\n\n", False
            continue
        following = "" if isinstance(behind, CodeBlock) else behind
        is_point = _is_point(raw, before, following)
        continues, before = not _ends_line(before), raw
        if is_row(raw):
            if is_rule(raw):
                continue
            if announced:
                yield _Piece(announced.strip(), heading, paragraph=paragraph)
                announced = ""
            if is_rule(following):
                head = cells_of(raw)
            else:
                yield replace(_row(raw, heading, head), paragraph=paragraph)
            continue
        head = ()
        if title := _title(raw):
            heading = strip_question_mark(title)
            continue
        if _RULE.fullmatch(raw) or (_is_bare_title(raw) and not is_point):
            continue
        is_item = is_point or bool(_ITEM.match(raw))
        opens_item = isinstance(behind, CodeBlock) and is_item
        clauses = _CLAUSE.split(raw) if len(raw) > LONG_CHARS else [raw]
        for at, piece in enumerate(clauses, start=1):
            intro, plain = announced, f"{announced}{_answering(plain_text(piece), heading)}"
            announced = ""
            is_lead = plain.endswith((":", "：")) or (at == len(clauses) and _leads_to_code(raw, plain, behind))
            if is_lead and len(plain) < LONG_CHARS:
                announced = f"{plain} "
            elif not _LINK.fullmatch(plain) and plain:
                yield _Piece(plain, heading, intro.strip(), is_item, paragraph=paragraph, continues=continues)
                continues = True
    if announced:
        yield _Piece(announced.strip(), heading, paragraph=paragraph)


def _leads_to_code(raw: str, plain: str, behind: str | CodeBlock) -> bool:
    """Whether a sentence belongs to the block of code behind it: it says so, or is the point that holds the block."""
    if not isinstance(behind, CodeBlock):
        return False
    is_point = _ITEM.match(raw) is not None and (behind.is_inside or not _PARAGRAPH_END.search(raw))
    return is_point or _LEADS_TO_CODE.search(plain) is not None


def _code(block: CodeBlock, heading: str, lead: str, *, opens_item: bool) -> _Piece:
    """A block of code behind the sentence that leads to it; within a point it goes on with that, or begins it."""
    text = f"{lead}\n\n{block.markdown}" if lead else block.markdown
    is_item, continues = block.is_item or (opens_item and bool(lead)), block.is_inside and not (lead or block.is_item)
    return _Piece(text, heading, lead, is_item, is_code=True, continues=continues)


def _raws(text: str) -> Iterator[str | CodeBlock]:
    """The sentences of a text with their marks, and its blocks of code."""
    for part in text_parts(text):
        if isinstance(part, CodeBlock):
            yield part
        else:
            yield from _with_leads(_whole_lines(split_sentences(without_pictures(captions_once(part)))))


def _whole_lines(raws: Sequence[str]) -> list[str]:
    """The sentences, those of each row of a table and of each heading in one piece: "5. Root cause" is no sentence."""
    joined: list[str] = []
    at = 0
    while at < len(raws):
        end = at + 1
        is_heading = _HEADING.match(raws[at]) is not None
        if is_heading or is_row(raws[at]):
            while end < len(raws) and not _ends_line(raws[end - 1]):
                end += 1
        is_whole = is_heading or raws[end - 1].rstrip().endswith("|")
        joined += ["".join(raws[at:end])] if is_whole else raws[at:end]
        at = end
    return joined


def _ends_line(raw: str) -> bool:
    """Whether a piece of text reaches over the end of its line; the next line may be indented."""
    return "\n" in raw[len(raw.rstrip()) :]


def _with_leads(raws: Sequence[str]) -> list[str]:
    """The sentences; what only leads to the next one in its line is joined with it.

    That is the name of a point or a step ("1. **Detection.** The layer ..."), the reply to a question ("Yes. It ...")
    and a question in bold. By itself none of them says anything.
    """
    joined: list[str] = []
    lead, opens, is_asked = "", True, False
    for raw in raws:
        is_title = _HEADING.match(raw) is not None or bool(_title(raw))
        is_whole = is_title or is_row(raw)
        if opens and not is_whole and not _ends_line(raw) and _is_lead(raw, is_asked=is_asked):
            lead, is_asked = lead + raw, is_question(plain_text(raw))
            continue
        joined.append(f"{lead}{raw}")
        lead, opens = "", is_whole or _ends_line(raw)
        is_asked = is_title and is_question(plain_text(raw))
    return [*joined, lead] if lead else joined


def _is_lead(raw: str, *, is_asked: bool) -> bool:
    """Whether a sentence at the beginning of a line says nothing alone. `is_asked`: a question stands before it."""
    plain = plain_text(raw)
    is_bold, is_step = _BOLD.fullmatch(raw) is not None, STEP.match(plain) is not None
    if is_bold and is_question(plain):
        return True
    may_lead = is_bold or is_step or is_asked or _ITEM.match(raw) is not None
    return may_lead and columns(plain) <= (STEP_COLUMNS if is_step else LEAD_COLUMNS) and bool(_STOP.search(plain))


def _row(raw: str, heading: str, head: tuple[str, ...]) -> _Piece:
    """A row of a table; where it is too long with the names of its columns, its text is its cells alone."""
    cells = cells_of(raw)
    if len(cells) != len(head):
        return _Piece(plain_text(raw), heading, is_row=True)
    text = labelled(head, cells)
    text = text if len(text) <= LONG_CHARS else plain_text(raw)
    return _Piece(text, heading, is_row=True, head=head, cells=cells)


def _title(raw: str) -> str:
    """The text of a heading, or of a question among questions and answers; "" for anything else."""
    if _HEADING.match(raw):
        return plain_text(raw.strip().lstrip("#"))
    plain = plain_text(raw)
    return plain if _ASKS.match(plain) and is_question(plain) else ""


def _answering(plain: str, heading: str) -> str:
    """A sentence without the mark of an answer where its heading is a question."""
    return _ANSWERS.sub("", plain, count=1) if is_question(heading) and _ANSWERS.match(plain) else plain


def _is_bare_title(raw: str) -> bool:
    """A numbered heading of a plain-text document, such as "5.7.1 General"."""
    return bool(_SECTION_NUMBER.fullmatch(raw.strip())) and not _ENDS.search(raw)


def _is_point(raw: str, before: str, following: str) -> bool:
    """Whether a line without a full stop is a point of a list by its label, such as 2.1.2, 第三条 or 附件B.

    Headings have such labels, too; a point is indented, or stands directly above or below one with a label of its form.
    """
    match = _LABEL.match(raw)
    if match is None or _ENDS.search(raw):
        return False
    is_indented = _ends_line(before) and not before.endswith("\n")
    return is_indented or _are_siblings(before, raw) or _are_siblings(raw, following)


def _are_siblings(above: str, below: str) -> bool:
    """Whether two lines with labels of one form stand directly below each other."""
    labels = [_LABEL.match(line) for line in (above, below)]
    forms = {_COUNTED.sub("#", match["label"]) if match is not None else "" for match in labels}
    return len(forms) == 1 and "" not in forms and above.count("\n", len(above.rstrip())) == 1


def is_mail_head_text(text: str) -> bool:
    """Whether a line is one of the head of a message, which its citation tells."""
    return _MAIL_HEAD.match(text) is not None

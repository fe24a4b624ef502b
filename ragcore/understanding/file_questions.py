"""What a question wants of the files that came with it: a summary, a topic, an answer, a comparison."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

FileQuestionKind = Literal["overview", "topic", "question"]

_NOUN = (
    r"(?:files?|documents?|attachments?|pdfs?|docx?|scans?|pictures?|images?|photos?|reports?|contracts?|polic(?:y|ies)"
    r"|letters?|spreadsheets?|sheets?|presentations?|slides?|texts?|papers?|pages?|forms?|manuals?)"
)
_FILE = (
    rf"(?:(?:this|these|that|those|my|the|an?)\s+(?:(?:attached|uploaded|enclosed|above|whole|entire|scanned)\s+)*{_NOUN}"
    rf"|(?:attached|uploaded|enclosed)\s+{_NOUN}|the attached|(?:attached|uploaded) one)"
)
_FILE_ZH = (
    r"(?:(?:这|這|该|該|此|本|上传的?|上傳的?|附上的?|所附的?|我(?:上传|发|附)的?|附件(?:里|中)?的?)"
    r"(?:一)?(?:个|個|份|篇|张|張|些|几份|本)?(?:pdf|word|扫描|掃描)?"
    r"(?:文件|文档|文檔|附件|图片|圖片|照片|图|圖|扫描件|掃描件|报告|報告|合同|制度|资料|資料|表格|幻灯片|文章|文本|手册|通知)"
    r"|附件|上传文件|扫描件|掃描件|(?:文件|文档|文檔)(?=[里中内裡內上]))"
)
_NAMES_FILE = re.compile(
    rf"\b(?:this|these|attached|uploaded|enclosed|my)\s+(?:\w+\s+)?{_NOUN}\b|\bthe attached\b"
    rf"|\bthe (?:file|attachment|scan|upload)s?\b|{_FILE_ZH}",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r"^(?:(?:please|kindly|hi|hello|can you|could you|would you|will you|i want you to|i need you to|help me)[,!]?\s+)+"
    r"|^(?:请问?|請問?|麻烦(?:你|您)?|帮我|幫我|帮忙|你好[，,]?|您好[，,]?)+",
    re.IGNORECASE,
)
_SAID_OF_FILE = re.compile(  # words that ask about a whole text and name nothing in it
    r"\b(?:summar(?:y|ies|i[sz]e[sd]?)|sum(?:med)?|up|overview|outline|gist|tl;?dr|main|key|important|points?|contents?"
    r"|about|says?|said|what|what's|is|are|does|do|it|its|this|that|there|me|us|give|get|show|tell|write|make|an?|the|of"
    r"|in|on|for|from|with|short|brief(?:ly)?|quick(?:ly)?|explain|describe|read|please|you|can|could|and|all|whole"
    r"|entire|file|sentences?|words?|bullet|list|few|one|two|three|paragraph|takeaways?|findings?)\b"
    r"|总结|總結|概括|归纳|歸納|概述|概要|摘要|主要|内容|內容|要点|要點|重点|重點|讲|講|说|說|写|寫|介绍|介紹|关于|關於|是|什么|什麼"
    r"|哪些|的|了|吗|嗎|呢|有|和|并|並|简要|簡要|简单|簡單|大意|大概|核心|都|在|里面|裡面|中|里|裡|内|內|上|解释|解釋|话|話|句|说明|說明|阅读|閱讀"
    r"|读|讀|看看|看|提炼|提煉|梳理|一下|下|话|話|句|给|給|我|帮|幫|请|請|做|个|個|份|篇|一|用|几句话|幾句話|总|體|体|整体|全文|这|這|它|文"
    r"|[\W_\d一二三四五六七八九十几幾两兩]",
    re.IGNORECASE,
)
_TOPICS = (
    re.compile(
        rf"\bwhat (?:does|do|did) (?:{_FILE}|it|they) (?:say|state|tell(?: us)?|mention)"
        r" (?:about|on|of|regarding|concerning) (?P<topic>.+)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:does|do|did) (?:{_FILE}|it|they) (?:mention|contain|cover|include|address|discuss|talk about|regulate"
        r"|say (?:anything|something) (?:about|on)|have (?:anything|something) (?:about|on)) (?P<topic>.+)",
        re.IGNORECASE,
    ),
    re.compile(rf"\bis there (?:anything|something) (?:about|on) (?P<topic>.+?) in {_FILE}", re.IGNORECASE),
    re.compile(
        rf"^(?:在)?{_FILE_ZH}(?:里面|裡面|里|裡|中|内|內|上)?(?:有没有|有沒有|是否|有)?"
        r"(?:关于|關於|对于?|對於?|提到|提及|说到|說到|涉及|包含|讲到|講到)(?P<topic>.+?)"
        r"(?:(?:是)?(?:怎么|怎麼|如何)(?:说|說|规定|規定|写|寫|要求)的?|有(?:什么|什麼|哪些)(?:规定|規定|要求|说法|說法|内容|內容)"
        r"|(?:讲|講|说|說)了?(?:什么|什麼)|的(?:内容|內容|规定|規定|要求|部分|信息))?(?:吗|嗎|么|呢)?[?？。]?$",
        re.IGNORECASE,
    ),
)
_FRAMES = (
    re.compile(rf"^(?:according to|in|from|based on|as per|using|with)\s+{_FILE}\s*[,:]?\s*", re.IGNORECASE),
    re.compile(
        rf"(?<![\s,])(?:\s*,)?\s*(?:according to|in|from|based on|as per|within)\s+{_FILE}(?=\s*(?:[?.!]\s*)?$)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^(?:根据|根據|按照|按|依据|依據|依照|从|從|在)?{_FILE_ZH}(?:里面|裡面|里|裡|中|内|內|上)?(?:的)?"
        r"(?:规定|規定|说|說|内容|內容)?[，,：:]?",
        re.IGNORECASE,
    ),
)
_COMPARES = re.compile(
    r"\b(?:compar\w+|versus|vs\.?|differ\w*|conflict\w*|contradict\w*|consistent|in line|compl(?:y|ies|iant)"
    r"|match(?:es)?|deviat\w+|together with|as well as)\b"
    r"|对比|對比|比较|比較|对照|對照|相比|区别|區別|不同|差异|差異|一致|冲突|衝突|矛盾|符合|相符|违反|違反|结合|結合",
    re.IGNORECASE,
)
_OTHERS = re.compile(
    r"\bour\b|\bknowledge base\b|\bother (?:documents?|polic(?:y|ies)|files?|sources?)\b|\bcompany(?:'s)?\b"
    r"|\bexisting\b|\bofficial\b|\binternal\b|\bcurrent (?:polic|rule|standard|guide|document)\w*"
    r"|我们|我們|咱们|公司|现有|現有|现行|現行|知识库|知識庫|其他文档|其他文件|其它文档|其它文件|其他资料|内部|內部|已有",
    re.IGNORECASE,
)
_SEARCH_OTHERS = re.compile(
    r"\b(?:also|too)\b.{0,40}\b(?:knowledge base|other documents?)\b|\bin (?:the|our) knowledge base\b"
    r"|知识库(?:里|中)|知識庫(?:裡|中)|其[他它](?:文档|文件|资料)(?:里|中)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileQuestion:
    """A question as it is put to attached files."""

    kind: FileQuestionKind
    text: str  # what is asked, without its mention of the file; the topic alone where one is given
    names_file: bool  # it speaks of the file
    wants_others: bool  # it compares the file with other documents, or asks for these, too


def read_file_question(question: str) -> FileQuestion:
    """What a question wants of attached files, by rules in English and Chinese."""
    text = " ".join(question.split())
    names_file = _NAMES_FILE.search(text) is not None
    wants_others = bool(_COMPARES.search(text) and _OTHERS.search(text)) or bool(_SEARCH_OTHERS.search(text))
    plain = _POLITE.sub("", text)

    def of(kind: FileQuestionKind, text_of_file: str) -> FileQuestion:
        return FileQuestion(kind=kind, text=text_of_file, names_file=names_file, wants_others=wants_others)

    for pattern in _TOPICS:
        if match := pattern.search(plain):
            return of("topic", match["topic"].strip(" ?？.。"))
    if not wants_others and not _SAID_OF_FILE.sub("", re.sub(f"{_FILE}|{_FILE_ZH}", " ", plain, flags=re.IGNORECASE)):
        return of("overview", text)
    for frame in _FRAMES:
        rest = frame.sub("", plain, count=1).strip()
        if rest != plain and len(rest.strip(" ?？.。")) > 1:
            return of("question", rest[:1].upper() + rest[1:])
    return of("question", text)

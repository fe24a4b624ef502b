"""What answers look like: numbers, times, names, definitions, and the words that go with them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Literal

from ragcore.text.question_type import Wanted, question_type
from ragcore.text.scripts import CJK
from ragcore.text.word_lists import cue_pattern, read_sections

NUMBER_WORDS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|half|third|hundred|thousand|million|billion"
)
_TIME_WORDS = (
    "january|february|march|april|may|june|july|august|september|october|november|december|"
    "monday|tuesday|wednesday|thursday|friday|saturday|sunday|"
    "century|centuries|year|years|day|days|decade|months?|hours?"
)
NUMBER = re.compile(
    rf"\d+(?:[.,:]\d+)*\s?(?:%|[{CJK}]|[a-zA-Z]{{1,4}}\b)?|[二三四五六七八九十百千两兩]+[{CJK}]"
    r"|[数數]?[十百千万萬亿億]|一(?=[十百千万萬亿億年月日])"
    rf"|\b(?:{NUMBER_WORDS})\b",
    re.IGNORECASE,
)
TIME = re.compile(
    rf"\d{{1,2}}:\d{{2}}|\d{{3,4}}(?:\s*年(?:\s*\d+\s*月(?:\s*\d+\s*[日号號])?)?)?|\d+\s*[年月日号號]|世[纪紀]|[年月]"
    rf"|\b(?:{_TIME_WORDS})\b(?:\s+\d+(?:,\s*\d{{4}})?)?",
    re.IGNORECASE,
)
NAME = re.compile(
    r"(?<!^)(?<![.!?] )\b[A-Z][\w-]+|[《「『“·][^》」』”]{1,20}"
    r"|[\u4e00-\u9fff]{1,4}[市省县縣区區国國州岛島港山河湖寺宫宮站线線路校院社]"
)
PATTERNS: dict[Wanted, re.Pattern[str]] = {
    "number": NUMBER,
    "time": TIME,
    "person": NAME,
    "place": NAME,
    "name": NAME,
}
_SUBJECT = re.compile(
    r"(?:what (?:is|are|does)|define|meaning of|definition of)\s+(?:an?\s+|the\s+|meant by\s+)?(.+?)"
    r"(?:\s+(?:stand|mean|refer)\b.*)?[?？.]*$"
    r"|^(?:请问|請問)?(.+?)(?:是什么|是什麼|的定义|的定義|的全称|的全稱|的含义|的含義|是甚麼|指的是)"
    r"|(?:什么是|什麼是|何谓|何謂|什么叫|什麼叫)(.+?)[?？。]*$",
    re.IGNORECASE,
)
_EXPANSION = re.compile(r"\bstands? for\b|\bdoes .{1,40} mean\b|short for|全称|全稱|缩写|縮寫", re.IGNORECASE)
_ABBREVIATION = re.compile(r"[A-Z][A-Z0-9-]{2,9}")
_WHY = re.compile(
    r"为什么|為什麼|为何|為何|原因|为啥|為啥|根因|怎么回事|怎麼回事|\bwhy\b|reason|what (?:was the )?cause",
    re.IGNORECASE,
)
_REASONS = re.compile(r"为什么|為什麼|为何|為何|原因|根因|\bwhy\b|\breasons?\b|\bcauses?\b", re.IGNORECASE)
_HOW = re.compile(
    r"如何|怎么|怎麼|怎样|怎樣|方式|方法|\bhow\b(?! (?:many|much|long|far|large|big|old|tall|often))", re.IGNORECASE
)
_LIST = re.compile(
    r"哪些|哪几|哪幾|哪两|哪兩|哪三|分别|分別|\bwhat are\b|which \w+s\b|name (?:the|two|three|some)", re.IGNORECASE
)


_SEVERAL = re.compile(
    r"哪些|哪几|哪幾|哪两|哪兩|分别|分別|各自|总结|總結|概括|归纳|歸納|概述|简述|簡述|综述|綜述|描述|步骤|步驟|流程|有何影响|有何影響|措施"
    r"|谁更|誰更|更[高低早晚大小多少长長短]"
    r"|\b(?:summari[sz]e|summary|outline|overview|describe|explain|list|steps|respectively|measures|compare[ds]?)\b"
    r"|\b(?:earlier|later|longer|shorter|higher|lower|larger|smaller|more)\b.*\bor\b|\bwhat (?:are|were)\b"
    r"|\bwhich \w+s (?:are|were|do|did|have)\b",
    re.IGNORECASE,
)


QUESTION_WORD = (
    "how|what|which|who|whose|when|where|why|did|does|do|was|were|is|are"
    "|summari[sz]e|describe|compare|list|outline|explain"
)
_PROCEDURE = re.compile(
    r"\bhow (?:do|can|to|should|would|does one|must)\b|\bwalk me through\b|\bsteps?\b|\bprocedure\b|\bwhat now\b"
    r"|\bwhat (?:do|should|must|can) (?:i|we) do\b|\bwhat to do\b"
    r"|\bin (?:what|which) (?:order|sequence)\b|\b(?:order|sequence) (?:of|to follow)\b"
    r"|怎[么麼](?![样樣算是])|怎[样樣](?![的么麼])|如何|咋(?!回事)|流程|步[骤驟]|[哪几幾][几幾]?步|(?<!优先)[顺順]序|次序",
    re.IGNORECASE,
)
_COURSE = re.compile(
    r"\bhow (?:does|is|are|did|was|were|will)\b|\bwhat (?:happens|comes next|is done)\b"
    r"|[会會]怎[么麼样樣]|怎[么麼样樣][进進]行|[发發]生(?:什么|什麼|哪些)|[过過]程",
    re.IGNORECASE,
)
_ACTION = re.compile(r"\bhow (?:do|can|to|should|would|must|could) (?:(?:i|we|you|one) )?([a-z]{4,})\b", re.IGNORECASE)
_ANY_ACTION = frozenset(
    {"make", "handle", "deal", "proceed", "start", "know", "find", "work", "they", "this", "that", "have"}
)
Extent = Literal["choice", "each", "reason", "summary", "several"]
_SUMMARY = re.compile(
    r"总结|總結|概括|归纳|歸納|概述|综述|綜述|梗概|大意|大概(?:内容|意思)"
    r"|(?:简单|簡單|简要|簡要|简短|簡短|大概|大致|粗略)(?:地|的)?(?:说|說|讲|講|介绍|介紹|描述|汇报|匯報|理)"
    r"|(?:给|給|跟|向|和)(?:领导|領導|老板|老闆|客户|客戶|大家|他们|同事)(?:简单|简要)?(?:做个|作个)?(?:汇报|匯報|交代)"
    r"|(?:说说|說說|讲讲|講講)(?:看|吧)?(?=[，,。！!？?]|\Z)|(?:主要|大概|到底)(?:讲|講|说|說)(?:了|的)?(?:些|是)?(?:什么|什麼|啥)"
    r"|[三两兩几幾]句话|三言两语"
    r"|\b(?:summari[sz]e|summary|(?:sum|summing)(?: \w+)? up|recap|outline|overview|gist|nutshell|tl;?dr"
    r"|boil (?:\w+ )?down|(?:key|main) (?:points|takeaways|messages?)|takeaways?|brief me"
    r"|in (?:a few|two|three|four|five|a couple of)"
    r" (?:short )?(?:sentences|lines|words|points)|in short|in brief)\b",
    re.IGNORECASE,
)
_CHOICE = re.compile(
    r"比较|比較|对比|對比|更[高低早晚大小多少长長短]"
    r"|\b(?:compare[ds]?|earlier|later|longer|shorter|higher|lower|larger|smaller|more)\b",
    re.IGNORECASE,
)


def asked_extent(question: str, *, names: int) -> Extent:
    """How much is asked for: which of the things, a fact of each of several documents, a reason, a summary or points.

    `names`: documents that the question names.
    """
    if _SUMMARY.search(question):
        return "summary"
    explains = cue_kind(question) in ("reason", "manner")
    if _CHOICE.search(question) and not explains:
        return "choice"
    if names > 1:
        return "each"
    return "reason" if explains else "several"


def asks_procedure(question: str) -> bool:
    """Whether a question asks how something is done, or what is to be done."""
    return _PROCEDURE.search(question) is not None


def asks_course(question: str) -> bool:
    """Whether a question asks how something goes on, "how does a device recover", though nobody is to do it."""
    return _COURSE.search(question) is not None


def asked_action(question: str) -> str:
    """The verb of what is to be done, in lower case: "install" of "how do I install it"; "" for any deed."""
    match = _ACTION.search(question)
    verb = match[1].lower() if match else ""
    return "" if verb in _ANY_ACTION else verb


def asks_several(question: str) -> bool:
    """Whether a question asks for several things, or for a summary, rather than for one fact."""
    return _SEVERAL.search(question) is not None


def cue_kind(question: str) -> str:
    """ "reason", "manner", "list" or "definition" by the words of the question; "" for anything else."""
    for kind, pattern in (("reason", _WHY), ("manner", _HOW), ("list", _LIST)):
        if pattern.search(question):
            return kind
    return "definition" if question_type(question) == "definition" else ""


def tells_reasons(heading: str) -> bool:
    """Whether what stands below a heading says why: "Root cause", 为什么没有告警."""
    return _REASONS.search(heading) is not None


def definition_test(question: str) -> Callable[[str], float]:
    """A test whether a sentence says what the subject of a definition question is; always 0 for other questions."""
    name = definition_subject(question)
    if not name:
        return lambda sentence: 0.0
    term = re.escape(name)
    if _EXPANSION.search(question):
        expands = re.compile(
            rf"[(（]{term}[)）,，;；]|{term}\s*[(（:：]|\b{term}\b,? (?:stands for|means|is short for)"
            rf"|{term}(?:的全称|的全稱|意思|代表)",
            re.IGNORECASE,
        )
        return lambda sentence: float(bool(expands.search(sentence)))
    says = re.compile(
        rf"[(（]{term}[)）,，;；]|{term}\s*[(（]|(?:^|[，,。.]\s*|\b(?:the|an?)\s+)[「“\"《]?{term}[」”\"》]?\s*"
        r"(?:是|指|为|為|即|由|用于|用於|[（(:：]|,? (?:is|are|was|were|means|refers|stands|denotes|describes"
        r"|represents|provides|allows|enables|defines|consists|identifies|indicates)\b)",
        re.IGNORECASE,
    )
    return lambda sentence: float(bool(says.search(sentence)))


def definition_subject(question: str) -> str:
    """What a definition question asks the meaning of; "" for other questions."""
    match = _SUBJECT.search(question) if question_type(question) == "definition" else None
    return next((group.strip() for group in match.groups() if group), "") if match else ""


def spells_out(question: str, texts: Iterable[str]) -> bool:
    """Whether a question asks what an abbreviation means and a text has its words beside it.

    "Network slice admission control (NSACF)", 网络切片准入控制功能 NSACF.
    """
    subject = definition_subject(question)
    if not _ABBREVIATION.fullmatch(subject):
        return False
    beside = re.compile(
        rf"[\u4e00-\u9fff]{{4}}\s?[(（]?{subject}(?![A-Za-z0-9])|[a-z] [(（]{subject}[)）]"
        rf"|(?<![A-Za-z0-9]){subject}\s?(?:[(（:：]|stands for\b|means\b|是)"
    )
    return any(beside.search(text) for text in texts)


def answer_cues(question: str) -> re.Pattern[str] | None:
    """A pattern of words that answers to such a question have, for lower-case text; None without any."""
    kind = cue_kind(question)
    return _signs()[kind] if kind else None


@cache
def _signs() -> dict[str, re.Pattern[str]]:
    """Section of answer_signs.txt -> a pattern of its words."""
    sections = read_sections("ragcore.extractive", "answer_signs.txt")
    return {kind: cue_pattern(words) for kind, words in sections.items()}

"""Standalone forms of Chinese questions: pronouns, 那…呢, 为什么, missing subjects and objects, 后者."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

from ragcore.ports import Tokenizer
from ragcore.understanding.amount_swaps import swap_value, with_same_amount
from ragcore.understanding.answer_language import resolve_answer_wish
from ragcore.understanding.chinese_mentions import (
    Unit,
    answer_mentions,
    groups,
    kind_of,
    question_mentions,
    units,
)
from ragcore.understanding.mentions import Attention, Kind, Resolution, find_enumeration
from ragcore.understanding.same_but import same_but
from ragcore.understanding.totals import total_of_earlier
from ragcore.understanding.value_times import resolve_value_time
from ragcore.understanding.words import alternatives, entries

_NOUN = alternatives("chinese", "nouns")
_CLASSIFIER = alternatives("chinese", "classifiers")
_END = alternatives("chinese", "ends")
_PERSON = re.compile(r"(?<![其吉])(?P<word>(?:他|她)(?:们|們)?)(?![人乡国])|(?P<thing>(?:它|牠)(?:们|們)?)(?<!其它)")
_THIS = re.compile(
    rf"(?P<full>(?:这|那|這)(?:一)?{_CLASSIFIER}?{_NOUN}(?![{{}}])|(?:该|該|此|上述|前述|本)(?:的)?{_NOUN})"
    rf"|(?P<bare>(?:这|那|這)(?:一)?(?:个|個|种|種|款|部|首|本|位|座|些|篇|项|類|类))(?=$|[，。？！,?!\s的是有我你能会可要怎为在和与不没也都还很太好]|{_END})"
    rf"|(?:^|(?<=[，。！？,!?\s]))(?P<it>这|那|這)(?=(?:不)?是|叫|有什么|有哪些|和|与|对|会|能)"
)
_NOT_THIS = re.compile(r"(?:这|那|哪)(?:个|一)?(?:时候|次|月|周|年|天|么|样|边|里|儿|种事|回)")
_ITS = re.compile(r"(?<![尤极与极其])其(?![中他它实實余餘次一二三所间時时])(?=[\u4e00-\u9fff]{2})")
_PLACE = re.compile(r"(?:那里|这里|那裡|這裡|那儿|这儿|那边|这边|此处|该地|当地)")
_NTH = re.compile(
    r"(?P<which>前者|后者|後者|第一(?:个|種|种|项|款)|第二(?:个|种|项|款)|第三(?:个|种|项|款)|最后一(?:个|种|项|款))"
)
_PLACES = {"前者": 0, "后者": -1, "後者": -1, "第一": 0, "第二": 1, "第三": 2, "最后": -1}
_AND = re.compile(r"^(?:那么|那|換成|换成|如果是|要是|还有)?(?P<what>[^，。？！,?!]{1,16}?)(?:的话)?呢[？?啊呀]*$")
_MOMENT = re.compile(r"(?:的时候|版本?的?时候?|时)$")
_WHY = re.compile(rf"^(?:那|那么|但是|可是|请问)?{alternatives('chinese', 'why')}[？?]*$")
_QUESTION = re.compile(rf"(?:{_END})*[？?]*$")
_WHO_DID = re.compile(r"^(?:是)?(?:谁|哪一?年|哪一?位|哪里|什么时候|何时|怎么).*的[？?吗呢啊]*$")
_OBJECTLESS = re.compile(
    rf"^(?P<head>.{{0,6}}?{alternatives('chinese', 'objectless')})(?P<tail>(?:过|了|的|{_END})*[？?！!]*)$"
)
_COUNTED = re.compile(
    rf"^(?P<head>(?P<where>.{{0,12}}?)(?:几|幾|多少){alternatives('chinese', 'counted')})(?P<tail>(?:{_END})*[？?]*)$"
)
_WHO_MAY = re.compile(
    rf"^(?P<who>[\u4e00-\u9fff]{{1,8}}?)(?P<may>{alternatives('chinese', 'may')}+)"
    rf"(?P<verb>{alternatives('chinese', 'needs object')})(?:{_END})*[？?]*$"
)
_HOW_DONE = re.compile(rf"^(?:要|该|应该)?(?:怎么|怎樣|怎样|怎麼|如何|咋)(?P<verb>弄|搞|整)(?:{_END})*[？?]*$")
_LEAD = re.compile(rf"^(?:{alternatives('chinese', 'interjections')}[，,\s]*)+")
_WANTED: Mapping[str, Mapping[Kind, float]] = {
    "word": {"person": 1.8, "unknown": 1.0, "thing": 0.6},
    "thing": {"thing": 1.2, "unknown": 1.0, "place": 0.5, "person": 0.3},
    "this": {"thing": 1.1, "unknown": 1.0, "place": 0.8, "person": 0.9},
    "place": {"place": 2.0, "unknown": 0.8, "thing": 0.4},
    "topic": {"thing": 1.0, "unknown": 1.0, "place": 1.0, "person": 1.0},
}
MOST_OWN = 4  # Han that a question without a subject may have besides words of the lists


def resolve_references(text: str, turns: Sequence[tuple[str, str]], tokenizer: Tokenizer) -> Resolution:
    """The question with what it takes from earlier turns (question, answer) put into it."""
    attention, earlier = track_attention(turns, tokenizer)
    return _resolve(text, attention, earlier, turns[-1] if turns else ("", ""), tokenizer)


def track_attention(turns: Sequence[tuple[str, str]], tokenizer: Tokenizer) -> tuple[Attention, str]:
    """What the conversation has been about, and its last question in its standalone form."""
    attention, last, before = Attention(), "", ("", "")
    for question, answer in turns:
        attention.fade()
        last = _resolve(question, attention, last, before, tokenizer).text
        for mention in reversed(question_mentions(last, tokenizer)):
            attention.add(mention)
        for mention in answer_mentions(answer, tokenizer, attention.ranked()) if answer else ():
            attention.add(mention)
        before = (question, answer)
    return attention, last


def _resolve(text: str, attention: Attention, earlier: str, last: tuple[str, str], tokenizer: Tokenizer) -> Resolution:
    if text.strip("，。！!~ ") in entries("chinese", "closings"):
        return Resolution(text)
    steps: tuple[Callable[[], Resolution | None], ...] = (
        lambda: resolve_answer_wish(text, earlier),
        lambda: resolve_value_time(text, earlier),
        lambda: _why(text, earlier, last),
        lambda: _and_that(text, earlier, attention, tokenizer),
        lambda: _nth(text, last),
        lambda: _with_pronouns(text, attention),
        lambda: _with_counted(text, attention, tokenizer),
        lambda: _with_object(text, attention, tokenizer),
        lambda: _with_subject(text, earlier, attention, tokenizer),
    )
    return next((resolution for step in steps if (resolution := step()) is not None), Resolution(text))


def _with_pronouns(text: str, attention: Attention) -> Resolution | None:
    """Pronouns replaced by what has most attention among things of their kind; None without one."""
    signs: list[str] = []
    blocked = [match.span() for match in _NOT_THIS.finditer(text)]

    def put(kind: str, match: re.Match[str], before: str = "", after: str = "") -> str:
        if any(start <= match.start() < end for start, end in blocked):
            return match.group()
        signs.append(match.group())
        mention = attention.best(_WANTED[kind]) if signs.count(match.group()) == 1 else None
        return f"{before}{mention.text}{after}" if mention else match.group()

    resolved = _PLACE.sub(lambda m: put("place", m), text)
    if not signs:
        resolved = _PERSON.sub(lambda m: put(str(m.lastgroup), m), resolved)
    if not signs:
        resolved = _THIS.sub(lambda m: put("this", m), resolved, count=1)
    if not signs:
        resolved = _ITS.sub(lambda m: put("topic", m, after="的"), resolved, count=1)
    return Resolution(resolved, tuple(signs), resolved != text) if signs else None


def _and_that(text: str, earlier: str, attention: Attention, tokenizer: Tokenizer) -> Resolution | None:
    """那5G呢: the question before, about something else."""
    if same := same_but(text, earlier) or with_same_amount(text, earlier):
        return Resolution(same, ("同样",), True)
    match = _AND.match(text)
    if match is None or not earlier:
        return None
    what = match["what"]
    if swapped := swap_value(_MOMENT.sub("", what), earlier):
        return Resolution(swapped, ("呢",), True)
    if total := total_of_earlier(what, earlier):
        return Resolution(total, ("呢",), True)
    parts = units(what, tokenizer)
    if parts and all(unit.is_attribute or unit.text == "的" for unit in parts):
        mention = attention.best(_WANTED["topic"])
        return Resolution(f"{mention.text}的{what}是什么" if mention else text, ("呢",), bool(mention))
    is_title = _is_title(parts)
    names_one = is_title or (bool(parts) and all(unit.is_content or unit.text == "的" for unit in parts))
    if not names_one and what not in entries("chinese", "time units"):
        return None
    swapped = _swap_by_kind(what, earlier, tokenizer) or (_swap_title(what, earlier, tokenizer) if is_title else None)
    if swapped:
        return Resolution(swapped, ("呢",), True)
    old = None if is_title else _counterpart(what, earlier, tokenizer)
    if old is None and what in entries("chinese", "time units") and (topics := question_mentions(earlier, tokenizer)):
        return Resolution(earlier.replace(topics[0].text, f"{what}{topics[0].text}", 1), ("呢",), True)
    return Resolution(earlier.replace(old, what, 1) if old else text, ("呢",), bool(old))


def _swap_by_kind(new: str, earlier: str, tokenizer: Tokenizer) -> str | None:
    """那经理呢 after 普通员工一晚能报多少: a role in the place of a role, a place in that of a place.

    A role without one goes before the question, which is asked about it. None for anything else.
    """
    is_role = _is_role(new)
    if not is_role and not _is_place(new):
        return None
    alike = _is_role if is_role else _is_place
    parts = units(earlier, tokenizer)
    at = next((at for at in reversed(range(len(parts))) if alike(parts[at].text)), None)
    if at is None:
        return f"{new}{earlier}" if is_role else None
    first = at
    while is_role and first and parts[first - 1].end == parts[first].start and _is_rank(parts[first - 1]):
        first -= 1
    return f"{earlier[: parts[first].start]}{new}{earlier[parts[at].end :]}"


def _is_title(parts: Sequence[Unit]) -> bool:
    """验收标准: a word for a list or rules with what it is for, which may be a verb."""
    is_named = len(parts) > 1 and parts[-1].text in entries("chinese", "titles of text")
    return is_named and all(unit.text not in entries("chinese", "function") for unit in parts)


def _swap_title(new: str, earlier: str, tokenizer: Tokenizer) -> str | None:
    """那验收标准呢 after 安装前检查清单有哪些内容: one title for another with all that belongs to it.

    A title of a place or of something with a Latin name keeps them: there it is one more thing that belongs to them.
    """
    title = list(
        takewhile(lambda unit: unit.text not in entries("chinese", "after a title"), units(earlier, tokenizer))
    )
    if len(title) < 2 or title[-1].text not in entries("chinese", "titles of text"):
        return None
    proper = [unit for unit in title if unit.text.isascii() or _is_place(unit.text)]
    if not proper:
        return f"{earlier[: title[0].start]}{new}{earlier[title[-1].end :]}"
    return f"{earlier[: proper[-1].end]}的{new}{earlier[title[-1].end :]}"


def _is_role(text: str) -> bool:
    return any(text.endswith(word) for word in entries("chinese", "people"))


def _is_place(text: str) -> bool:
    return kind_of(text) == "place"


def _is_rank(unit: Unit) -> bool:
    return unit.text in entries("chinese", "ranks")


def _counterpart(new: str, earlier: str, tokenizer: Tokenizer) -> str | None:
    """What a new subject takes the place of: a time for a time, otherwise a topic of its kind."""
    times = entries("chinese", "time units")
    if new in times:
        return next((unit.text for unit in units(earlier, tokenizer) if unit.text in times), None)
    texts = [mention.text for mention in question_mentions(earlier, tokenizer) if mention.text != new]
    alike = [text for text in texts if kind_of(text) == kind_of(new)]
    return max(alike or texts, key=lambda text: len(set(text) & set(new)), default=None)


def _why(text: str, earlier: str, last: tuple[str, str]) -> Resolution | None:
    if not _WHY.match(text) or not (earlier or last[1]):
        return None
    sentence = re.split(r"[。！？!?\n]", last[1].strip())[0]
    statement = sentence if 3 < len(sentence) <= 24 else _QUESTION.sub("", earlier)
    if statement.startswith(("为什么", "为何", "为啥")):
        return Resolution(statement, ("为什么",), True)
    return Resolution(f"为什么{statement}", ("为什么",), True)


def _nth(text: str, last: tuple[str, str]) -> Resolution | None:
    match = _NTH.search(text)
    if match is None:
        return None
    at = _PLACES[match["which"][:2]]
    for turn_text in (last[1], last[0]):
        items = find_enumeration(turn_text)
        if len(items) > max(at, 1):
            return Resolution(text[: match.start()] + items[at] + text[match.end() :], (match["which"],), True)
    return Resolution(text, (match["which"],))


def _with_object(text: str, attention: Attention, tokenizer: Tokenizer) -> Resolution | None:
    """你用过吗: the verb lacks what the conversation is about."""
    match = _OBJECTLESS.match(text)
    if match is None or _own(text, tokenizer):
        return None
    mention = attention.best(_WANTED["topic"], besides=text)
    if mention is None:
        return Resolution(text, ("object",))
    aspect = re.match(r"过|了(?=.)", match["tail"])
    tail = match["tail"][len(aspect.group()) :] if aspect else match["tail"]
    return Resolution(f"{match['head']}{aspect.group() if aspect else ''}{mention.text}{tail}", ("object",), True)


def _with_counted(text: str, attention: Attention, tokenizer: Tokenizer) -> Resolution | None:
    """库里还有多少块: a number of pieces of what is not named."""
    match = _COUNTED.match(text)
    if match is None:
        return None
    parts = units(match["where"], tokenizer)
    if not all(_is_no_thing(unit, following) for unit, following in zip(parts, [*parts[1:], None], strict=True)):
        return None
    mention = attention.best(_WANTED["topic"], besides=text)
    if mention is None:
        return Resolution(text, ("counted",))
    return Resolution(f"{match['head']}{mention.text}{match['tail']}", ("counted",), True)


def _is_no_thing(unit: Unit, following: Unit | None) -> bool:
    """Where something is, that it is there or taken, or a word without content."""
    if unit.is_verb:
        return unit.text in entries("chinese", "held")
    is_place = unit.text[-1] in entries("chinese", "placed in")
    return (
        not unit.is_content or is_place or (following is not None and following.text in entries("chinese", "placed in"))
    )


def _with_subject(text: str, earlier: str, attention: Attention, tokenizer: Tokenizer) -> Resolution | None:
    """有什么关键技术: a predicate or attribute without its subject."""
    lead = match.group() if (match := _LEAD.match(text)) and match.end() < len(text) else ""
    rest = text[len(lead) :]
    parts = units(rest, tokenizer)
    if not parts or parts[0].text in entries("chinese", "time units"):
        return None
    is_open = _lacks_object(rest) or parts[0].text in _asked_verbs(earlier, tokenizer)
    if not is_open and _has_subject(parts, rest, tokenizer):
        return None
    words = _own(rest, tokenizer)
    if len(words) > 1 and any(words in mention.text or mention.text in words for mention in attention.ranked()):
        return None  # it names itself what the conversation is about
    mention = attention.best(_WANTED["topic"], besides=text)
    if mention is None:
        return Resolution(text, ("subject",))
    rest = _in_plain_words(rest)
    if _WHO_DID.match(rest) and not rest.startswith("是"):
        rest = f"是{rest}"
    elif parts[0].is_attribute:
        rest = f"的{rest}" if len(rest) > 2 else rest
    return Resolution(f"{lead}{mention.text}{rest}", ("subject",), True)


def _lacks_object(text: str) -> bool:
    """用户可以自己处理吗: it says who does something, and not to what."""
    match = _WHO_MAY.match(text)
    if match is None:
        return False
    who, may = match["who"], match["may"]
    does_it = "自" in may or _is_role(who) or any(who.endswith(word) for word in entries("chinese", "doers"))
    return does_it and not any(verb in who for verb in entries("chinese", "needs object") if len(verb) > 1)


def _in_plain_words(text: str) -> str:
    """处理 for 弄, 搞定 and the like, which say that something is done and are written nowhere."""
    match = _WHO_MAY.match(text) or _HOW_DONE.match(text)
    if match is None or match["verb"] not in entries("chinese", "spoken verbs"):
        return text
    return f"{text[: match.start('verb')]}处理{text[match.end('verb') :]}"


def _asked_verbs(question: str, tokenizer: Tokenizer) -> set[str]:
    """What is done, in questions for who does it and how: 批 of 找谁批."""
    parts = units(question, tokenizer)
    pairs = zip(parts, parts[1:], strict=False)
    return {second.text for first, second in pairs if first.text in entries("chinese", "asked how")}


def _has_subject(parts: Sequence[Unit], text: str, tokenizer: Tokenizer) -> bool:
    """It begins with somebody or something, or names enough itself."""
    first = parts[0]
    if first.text in ("我", "你", "您", "我们", "你们", "我們", "你們", "咱们", "大家", "这", "那", "这个", "那个"):
        return True
    if first.is_content and not first.is_attribute:
        return True
    words = _own(text, tokenizer)
    asks = any(unit.text in entries("chinese", "asking") or unit.text[0] in "几幾" for unit in parts)
    return bool(words) if asks or re.search("[A-Za-z0-9]", words) else len(words) > MOST_OWN


def _own(text: str, tokenizer: Tokenizer) -> str:
    """Content of the question that is neither an attribute nor of the lists."""
    return "".join(unit.text for group in groups(text, tokenizer) for unit in group if not unit.is_attribute)

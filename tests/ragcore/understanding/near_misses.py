"""Pairs of questions for the guard of the semantic cache: near misses by kind, and true paraphrases.

Near misses are made from templates: two questions that differ in the one thing that the kind names.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations

Pair = tuple[str, str]

THINGS = ("the T300 timer", "the VPN client", "beam recovery", "the expense portal", "RedCap", "the backup job", "NR-U")
NUMBERS = (("2", "3"), ("4", "40"), ("1.5", "15"), ("100", "1000"))
UNITS = (
    ("seconds", "minutes"),
    ("MB", "GB"),
    ("days", "working days"),
    ("dBm", "dB"),
    ("percent", "percentage points"),
)
DATES = (("March 2025", "March 2026"), ("May 2024", "June 2024"), ("2024-01-31", "2024-02-01"), ("Q1", "Q2"))
VERSIONS = (("16", "17"), ("2.1", "2.10"), ("v3", "v4"), ("R15", "R16"), ("A", "B"))
OPPOSITES = (
    *(("maximum", "minimum"), ("faster", "slower"), ("before", "after"), ("at least", "at most"), ("more", "less")),
    *(("internal", "external"), ("with", "without"), ("first", "last"), ("above", "below"), ("enable", "disable")),
)
SCOPES = (("all", "some"), ("all", "any"), ("only", "also"), ("every", "no"), ("new", "old"), ("other", "these"))


def english() -> Iterator[tuple[str, Pair]]:
    """Kind and pair."""
    for thing in THINGS:
        for one, other in NUMBERS:
            yield (
                "number",
                (f"What happens to {thing} after {one} attempts?", f"What happens to {thing} after {other} attempts?"),
            )
            yield "number", (f"Why is {thing} limited to {one}?", f"Why is {thing} limited to {other}?")
            yield "number", (f"Does {thing} allow {one} users", f"Does {thing} allow {one} or {other} users")
        for one, other in UNITS:
            yield "unit", (f"Is {thing} limited to 5 {one}?", f"Is {thing} limited to 5 {other}?")
            yield "unit", (f"How many {one} does {thing} need?", f"How many {other} does {thing} need?")
        for one, other in DATES:
            yield "date", (f"What changed for {thing} in {one}?", f"What changed for {thing} in {other}?")
            yield "date", (f"In {one}, who approved {thing}?", f"In {other}, who approved {thing}?")
        for one, other in VERSIONS:
            yield (
                "version",
                (f"How do I install {thing} in release {one}?", f"How do I install {thing} in release {other}?"),
            )
            yield "version", (f"What is new in {thing} {one}?", f"What is new in {thing} {other}?")
        for one, other in OPPOSITES:
            yield "opposite", (f"What is the {one} value for {thing}?", f"What is the {other} value for {thing}?")
            yield "opposite", (f"Can {thing} run {one} a restart?", f"Can {thing} run {other} a restart?")
        for one, other in SCOPES:
            yield "scope", (f"Do {one} sites use {thing}?", f"Do {other} sites use {thing}?")
        yield from (("negation", pair) for pair in _english_negations(thing))
        yield from (("type", pair) for pair in _english_types(thing))
        yield from (("subset", pair) for pair in _english_subsets(thing))
    for one, other in permutations(THINGS, 2):
        yield "entity", (f"How do I configure {one}?", f"How do I configure {other}?")
        yield "direction", (f"How do I move from {one} to {other}?", f"How do I move from {other} to {one}?")
        yield "direction", (f"Does {one} start {other}?", f"Does {other} start {one}?")
        yield "comparison", (f"Is {one} cheaper than {other}?", f"Is {other} cheaper than {one}?")
        yield "comparison", (f"What does {one} need before {other}?", f"What does {other} need before {one}?")


def _english_negations(thing: str) -> Iterator[Pair]:
    yield f"Which regions support {thing}?", f"Which regions don't support {thing}?"
    yield f"Why is {thing} available?", f"Why is {thing} not available?"
    yield f"Why is {thing} available?", f"Why is {thing} unavailable?"
    yield f"Can I cancel {thing}?", f"Can't I cancel {thing}?"
    yield f"When should I use {thing}?", f"When should I never use {thing}?"
    yield f"Who needs {thing}?", f"Who no longer needs {thing}?"
    yield f"What if {thing} fails?", f"What unless {thing} fails?"


def _english_types(thing: str) -> Iterator[Pair]:
    for one, other in combinations(("Why", "When", "Where", "How"), 2):
        yield f"{one} is {thing} started?", f"{other} is {thing} started?"
    for one, other in combinations(("must", "may", "can", "should", "will"), 2):
        yield f"Who {one} change {thing}?", f"Who {other} change {thing}?"
    yield f"What is {thing}?", f"What does {thing} do?"
    yield f"What is {thing}?", f"What was {thing}?"
    yield f"How does {thing} work?", f"How did {thing} work?"
    yield f"Is {thing} free?", f"{thing} is free?"
    yield f"How long is {thing}?", f"How old is {thing}?"
    yield f"How much does {thing} cost?", f"How many does {thing} cost?"
    yield f"Who owns {thing}?", f"Who owned {thing}?"
    yield f"How do I start {thing}?", f"How should I start {thing}?"


def _english_subsets(thing: str) -> Iterator[Pair]:
    yield f"What are the risks of {thing}?", f"What are the security risks of {thing}?"
    yield f"How do I stop {thing}?", f"How do I stop {thing} remotely?"
    yield f"What is the limit of {thing}?", f"What is the limit of {thing} in China?"
    yield f"Who may use {thing}?", f"Who may use {thing} and the data centre?"
    yield f"What is the price of {thing}?", f'What is the "list price" of {thing}?'
    yield f"Which file configures {thing}?", f"Which files/configures {thing}?"
    yield f"Where is the log of {thing}?", f"Where is the log_of {thing}?"


ENGLISH_PARAPHRASES: tuple[Pair, ...] = tuple(
    pair
    for thing in THINGS
    for pair in (
        (f"What is {thing}?", f"what's {thing}"),
        (f"What is {thing}?", f"Could you tell me what is {thing}?"),
        (f"What is the limit of {thing}?", f"Can you please tell me what the limit of {thing} is?"),
        (f"What is {thing}?", f"What does {thing} mean?"),
        (f"How do I configure {thing}?", f"How can I configure {thing}, please?"),
        (f"How do I configure {thing}?", f"How to configure {thing}"),
        (f"How many users are there in {thing}?", f"What is the number of users in {thing}?"),
        (f"Which regions do not support {thing}?", f"Which region doesn't support {thing}?"),
        (f"In release 16, what is {thing}?", f"What is {thing} in release 16?"),
        (f"Why can't I stop {thing}?", f"Hello, why can I not stop {thing}?"),  # another order: missed
        (f"Who is responsible for {thing}?", f"Who takes care of {thing}?"),  # other words: missed
        (f"What are the limits of {thing}?", f"Which limits does {thing} have?"),  # another structure: missed
    )
)

CHINESE_THINGS = ("载波聚合", "年假申请", "T300定时器", "报销系统", "波束恢复", "备份任务", "RedCap终端")
CHINESE_NUMBERS = (("2", "3"), ("4", "40"), ("1.5", "15"), ("一", "两"))
CHINESE_UNITS = (("秒", "分钟"), ("MB", "GB"), ("天", "个工作日"), ("米", "千米"), ("元", "美元"))
CHINESE_DATES = (("2025年3月", "2026年3月"), ("5月", "6月"), ("上半年", "下半年"), ("一季度", "二季度"))
CHINESE_OPPOSITES = (
    *(("最大", "最小"), ("最多", "最少"), ("之前", "之后"), ("以上", "以下"), ("增加", "减少"), ("内部", "外部")),
    *(("开启", "关闭"), ("上行", "下行"), ("首次", "最后一次"), ("新", "旧")),
)
CHINESE_SCOPES = (("所有", "部分"), ("只有", "还有"), ("任何", "某些"), ("其他", "这些"), ("国内", "国外"))


def chinese() -> Iterator[tuple[str, Pair]]:
    """Kind and pair."""
    for thing in CHINESE_THINGS:
        for one, other in CHINESE_NUMBERS:
            yield "number", (f"{thing}失败{one}次会怎样？", f"{thing}失败{other}次会怎样？")
            yield "number", (f"{thing}支持{one}个用户吗？", f"{thing}支持{other}个用户吗？")
            yield "number", (f"为什么{thing}限制为{one}？", f"为什么{thing}限制为{other}？")
        for one, other in CHINESE_UNITS:
            yield "unit", (f"{thing}的上限是5{one}吗？", f"{thing}的上限是5{other}吗？")
            yield "unit", (f"{thing}需要多少{one}？", f"{thing}需要多少{other}？")
        for one, other in CHINESE_DATES:
            yield "date", (f"{one}{thing}有什么变化？", f"{other}{thing}有什么变化？")
            yield "date", (f"谁在{one}批准了{thing}？", f"谁在{other}批准了{thing}？")
        for one, other in VERSIONS:
            yield "version", (f"版本{one}的{thing}如何安装？", f"版本{other}的{thing}如何安装？")
            yield "version", (f"{thing}{one}有哪些新功能？", f"{thing}{other}有哪些新功能？")
        for one, other in CHINESE_OPPOSITES:
            yield "opposite", (f"{thing}{one}的值是多少？", f"{thing}{other}的值是多少？")
            yield "opposite", (f"如何{one}{thing}？", f"如何{other}{thing}？")
        for one, other in CHINESE_SCOPES:
            yield "scope", (f"{one}站点都用{thing}吗？", f"{other}站点都用{thing}吗？")
        yield from (("negation", pair) for pair in _chinese_negations(thing))
        yield from (("type", pair) for pair in _chinese_types(thing))
        yield from (("subset", pair) for pair in _chinese_subsets(thing))
    for one, other in permutations(CHINESE_THINGS, 2):
        yield "entity", (f"如何配置{one}？", f"如何配置{other}？")
        yield "direction", (f"怎么从{one}切换到{other}？", f"怎么从{other}切换到{one}？")
        yield "direction", (f"{one}会触发{other}吗？", f"{other}会触发{one}吗？")
        yield "comparison", (f"{one}比{other}贵吗？", f"{other}比{one}贵吗？")
        yield "comparison", (f"{one}包含{other}的哪些内容？", f"{other}包含{one}的哪些内容？")


def _chinese_negations(thing: str) -> Iterator[Pair]:
    yield f"哪些地区支持{thing}？", f"哪些地区不支持{thing}？"
    yield f"为什么{thing}可用？", f"为什么{thing}不可用？"
    yield f"{thing}为什么完成了？", f"{thing}为什么没有完成？"
    yield f"哪些人需要{thing}？", f"哪些人无需{thing}？"
    yield f"何时应该用{thing}？", f"何时不应该用{thing}？"
    yield f"谁已完成{thing}？", f"谁未完成{thing}？"
    yield f"{thing}能取消吗？", f"{thing}不能取消吗？"


def _chinese_types(thing: str) -> Iterator[Pair]:
    for one, other in combinations(("为什么", "何时", "在哪里", "如何"), 2):
        yield f"{one}启动{thing}？", f"{other}启动{thing}？"
    for one, other in combinations(("必须", "可以", "应该", "将要"), 2):
        yield f"谁{one}修改{thing}？", f"谁{other}修改{thing}？"
    yield f"{thing}是什么？", f"{thing}做什么？"
    yield f"{thing}多久？", f"{thing}多久一次？"
    yield f"{thing}有多少？", f"{thing}是多少？"
    yield f"{thing}是谁负责？", f"{thing}是谁批准？"
    yield f"{thing}开始了吗？", f"{thing}开始吗？"
    yield f"{thing}有哪些步骤？", f"{thing}有多少步骤？"
    yield f"什么是{thing}？", f"什么是{thing}的？"


def _chinese_subsets(thing: str) -> Iterator[Pair]:
    yield f"{thing}有哪些风险？", f"{thing}有哪些安全风险？"
    yield f"如何停止{thing}？", f"如何远程停止{thing}？"
    yield f"{thing}的限制是什么？", f"中国区{thing}的限制是什么？"
    yield f"谁能用{thing}？", f"谁能用{thing}和机房？"
    yield f"{thing}的价格是多少？", f"{thing}的“目录价格”是多少？"
    yield f"{thing}的日志在哪里？", f"{thing}的子系统的日志在哪里？"
    yield f"{thing}的银行是什么？", f"{thing}银行是什么？"


CHINESE_PARAPHRASES: tuple[Pair, ...] = tuple(
    pair
    for thing in CHINESE_THINGS
    for pair in (
        (f"什么是{thing}？", f"{thing}是什么"),
        (f"什么是{thing}？", f"请问{thing}是什么意思？"),
        (f"如何配置{thing}？", f"怎么配置{thing}呢？"),
        (f"如何配置{thing}？", f"你好，想知道怎样配置{thing}，谢谢"),
        (f"{thing}有几个步骤？", f"{thing}有多少步骤？"),
        (f"{thing}什么时候开始？", f"{thing}何时开始"),
        (f"为什么{thing}失败？", f"为何{thing}失败？"),
        (f"{thing}能不能取消？", f"{thing}能否取消？"),
        (f"{thing}由谁负责？", f"谁负责{thing}？"),  # another structure: missed
        (f"{thing}有哪些限制？", f"{thing}的限制有哪些？"),  # another order: missed
    )
)

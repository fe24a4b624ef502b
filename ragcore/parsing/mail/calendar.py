"""Invitations in messages: the events of a calendar part (iCalendar, RFC 5545) as lists."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ragcore.text.scripts import language_of

MAX_EVENTS = 50  # of one part
MAX_VALUE = 2_000  # characters
MAX_PEOPLE = 100

_LINE = re.compile(
    r"(?P<name>[A-Za-z-]{1,40})(?P<parameters>;[^:\"]{0,500}(?:\"[^\"]{0,500}\"[^:\"]{0,500}){0,20})?:(?P<value>.*)"
)
_PARAMETER = re.compile(r";([A-Za-z-]+)=(?:\"([^\"]*)\"|([^;:\"]*))")
_MOMENT = re.compile(r"(\d{4})(\d{2})(\d{2})(?:T(\d{2})(\d{2})\d{2}(Z?))?")
_ESCAPED = re.compile(r"\\([\\;,nN])")
_SHOWN = ("SUMMARY", "STATUS", "DTSTART", "DTEND", "DUE", "DURATION", "RRULE", "LOCATION", "ORGANIZER", "ATTENDEE")
_LABELS: Mapping[str, tuple[str, str]] = {
    "SUMMARY": ("Event", "日程"),
    "STATUS": ("Status", "状态"),
    "DTSTART": ("Start", "开始时间"),
    "DTEND": ("End", "结束时间"),
    "DUE": ("Due", "截止时间"),
    "DURATION": ("Duration", "时长"),
    "RRULE": ("Repeats", "重复"),
    "LOCATION": ("Location", "地点"),
    "ORGANIZER": ("Organizer", "组织者"),
    "ATTENDEE": ("Attendees", "参加者"),
    "DESCRIPTION": ("Description", "说明"),
}
_MOMENTS = ("DTSTART", "DTEND", "DUE")


def calendar_events(text: str) -> list[str]:
    """The events and tasks of a calendar part, each as a Markdown list of what it says; times as they are written."""
    return [lines for values in _events(text) if (lines := _as_list(values))][:MAX_EVENTS]


def _events(text: str) -> Iterator[dict[str, list[str]]]:
    """The values of each event by property; alarms and time zones inside are left out."""
    unfolded = re.sub(r"\r?\n[ \t]", "", text)
    inside: list[str] = []
    values: dict[str, list[str]] = {}
    for line in unfolded.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        name = match["name"].upper()
        if name == "BEGIN":
            inside.append(match["value"].strip().upper())
            if inside[-1] in ("VEVENT", "VTODO"):
                values = {}
        elif name == "END" and inside:
            if inside.pop() in ("VEVENT", "VTODO"):
                yield values
        elif inside and inside[-1] in ("VEVENT", "VTODO") and name in _LABELS:
            parameters = {
                key.upper(): quoted or plain for key, quoted, plain in _PARAMETER.findall(match["parameters"] or "")
            }
            values.setdefault(name, []).append(_value(name, match["value"], parameters))


def _value(name: str, value: str, parameters: Mapping[str, str]) -> str:
    if name in _MOMENTS:
        return _moment(value.strip(), parameters.get("TZID", ""))
    if name in ("ORGANIZER", "ATTENDEE"):
        address = re.sub(r"^mailto:", "", value.strip(), flags=re.IGNORECASE)
        person = parameters.get("CN", "").strip()
        return f"{person} <{address}>" if person and person != address else address
    plain = _ESCAPED.sub(lambda match: "\n" if match[1] in "nN" else match[1], value)
    return " ".join(plain.split())[:MAX_VALUE]


def _moment(value: str, zone: str) -> str:
    """2026-05-12 14:00 Asia/Shanghai; a day alone where the event takes all of it."""
    match = _MOMENT.fullmatch(value)
    if match is None:
        return value
    year, month, day, hour, minute, utc = match.groups()
    date = f"{year}-{month}-{day}"
    return " ".join(filter(None, (date, f"{hour}:{minute}" if hour else "", "UTC" if utc else zone if hour else "")))


def _as_list(values: Mapping[str, list[str]]) -> str:
    is_chinese = language_of(" ".join(" ".join(value) for value in values.values())) == "zh"
    lines = []
    for name in (*_SHOWN, "DESCRIPTION"):
        if entries := [value for value in values.get(name, ()) if value][:MAX_PEOPLE]:
            label = _LABELS[name][is_chinese]
            lines.append(f"- {label}{'：' if is_chinese else ': '}{', '.join(entries)}")
    return "\n".join(lines)

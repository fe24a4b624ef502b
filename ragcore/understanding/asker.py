"""Who asks: 我们部门, "my team", "our product" and duties of "I" become what the profile says (D2)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ragcore.types import Profile

_ZH_OWN = r"(?:我们|我們|我|咱们|咱|本)(?:的|所在的?|负责的?|所属的?)?"
_DEPARTMENT_ZH = re.compile(rf"{_ZH_OWN}(?P<noun>部门|部門|团队|團隊|科室|处室)")
_PRODUCT_ZH = re.compile(rf"{_ZH_OWN}(?P<noun>产品线|产品|產品)(?!经理)")
_ROLE_ZH = re.compile(rf"{_ZH_OWN}(?P<noun>岗位|崗位|职位|職位|角色|职务|工作岗位)")
_DUTY_ZH = re.compile(
    r"(?:(?<=^)|(?<=[，。？！,\s]))我(?=(?:的)?(?:应该|应当|需要|要|必须|可以|有权|能|该|的?职责|负责))"
)
_DEPARTMENT_EN = re.compile(r"\b(?:my|our)\s+(?P<noun>department|team|group|unit)\b", re.I)
_PRODUCT_EN = re.compile(r"\b(?:my|our)\s+(?P<noun>product(?:\s+line)?)\b(?!\s+(?:manager|owner))", re.I)
_ROLE_EN = re.compile(r"\b(?:my|our)\s+(?P<noun>role|position|job|job title)\b", re.I)
_DUTY_EN = re.compile(
    r"\b(?P<aux>do|should|must|may|can)\s+I\b(?=\s+(?:need|have|do|attend|take|complete|be|apply|sign|approve|know|report))"
)


@dataclass(frozen=True, slots=True)
class Personal:
    """A text that speaks of nobody in the first person where the profile knew better, and what stood there."""

    text: str
    signs: tuple[str, ...] = ()


def personal(text: str, profile: Profile | None) -> Personal:
    """Replaces what the profile knows and names the other signs; 我 and "I" without a duty mean nothing here."""
    known = profile or Profile()
    signs: list[str] = []

    def put(pattern: re.Pattern[str], value: str, form: str, within: str) -> str:
        def one(match: re.Match[str]) -> str:
            signs.append(match.group())
            if not value:
                return match.group()
            noun = match.groupdict().get("noun") or ""
            has_it = bool(noun) and value.lower().endswith(noun.lower())
            return value if has_it else form.format(value=value, noun=noun, aux=match.groupdict().get("aux") or "")

        return pattern.sub(one, within)

    done = put(_DEPARTMENT_ZH, known.department, "{value}", text)
    done = put(_PRODUCT_ZH, known.product, "{value}", done)
    done = put(_ROLE_ZH, known.role, "{value}{noun}", done)
    done = put(_DUTY_ZH, known.role, "{value}", done)
    done = put(_DEPARTMENT_EN, known.department, "the {value} {noun}", done)
    done = put(_PRODUCT_EN, known.product, "{value}", done)
    done = put(_ROLE_EN, known.role, "the {value} {noun}", done)
    done = put(_DUTY_EN, known.role, "{aux} I as {value}", done)
    return Personal(done, tuple(signs))

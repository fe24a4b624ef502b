"""Write docs/options.md from the declarations in ragcore/options: `python -m scripts.options_page`.

tests/docs/test_options_page.py compares the page with the declarations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ragcore.options import OPTION_GROUPS, OptionField, option_fields

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "options.md"
HEAD = """\
# Options

Every option of the site and of knowledge sets, as the admin shows it. This page is generated from the declarations in
[`ragcore/options/groups.py`](../ragcore/options/groups.py) by `python -m scripts.options_page`. To add an option, add
a field there and read it where it is used; forms, the lab, the settings history and this page follow.
"""


def page() -> str:
    """The whole page as Markdown."""
    return "\n".join([HEAD, *_groups()]) + "\n"


def _groups() -> Iterator[str]:
    for group in OPTION_GROUPS.values():
        yield f"## {group.label} (`{group.code}`)\n"
        yield from _table(field for field in option_fields(group.options).values() if not field.option.is_for_comparing)
    yield "## For comparing\n"
    yield "In the [lab](reviewers.md#the-retrieval-lab) and in runs only: no site, set or experiment can have them.\n"
    fields = (field for group in OPTION_GROUPS.values() for field in option_fields(group.options).values())
    yield from _table(field for field in fields if field.option.is_for_comparing)


def _table(fields: Iterable[OptionField]) -> Iterator[str]:
    yield "| Option | Label | Default | Values | What it does |\n|---|---|---|---|---|"
    for field in fields:
        cells = (f"`{field.name}`", field.option.label, _default(field), _values(field), field.option.help)
        yield f"| {' | '.join(cells)} |"
    yield ""


def _default(field: OptionField) -> str:
    if isinstance(field.default, bool):
        return "on" if field.default else "off"
    if isinstance(field.default, str):
        return f"`{field.default}`" if field.default else "empty"
    return f"{field.default:,}"


def _values(field: OptionField) -> str:
    option = field.option
    if option.choices:
        return ", ".join(
            (f"`{choice.value}`" if choice.value else "empty") + (f" ({choice.name})" if choice.name else "")
            for choice in option.choices
        )
    if field.kind is str:
        return f"up to {option.longest} characters"
    if option.low is None or option.high is None:
        return "on, off"
    return f"{option.low:,} to {option.high:,} {option.unit}".strip()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

"""Whole numbers in the number formats of office programs (ST_NumberFormat of ECMA-376 part 1, 17.18.59)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_DIGITS = "〇一二三四五六七八九"
_LEGAL = "零壹贰叁肆伍陆柒捌玖"
_LEGAL_TRADITIONAL = "零壹貳參肆伍陸柒捌玖"
_UNITS = ((1000, "千"), (100, "百"), (10, "十"), (1, ""))
_LEGAL_UNITS = ((1000, "仟"), (100, "佰"), (10, "拾"), (1, ""))
_STEMS = "甲乙丙丁戊己庚辛壬癸"
_BRANCHES = "子丑寅卯辰巳午未申酉戌亥"
_AIUEO = "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン"
_IROHA = "イロハニホヘトチリヌルヲワカヨタレソツネナラムウヰノオクヤマケフコエテアサキユメミシヱヒモセス"
_GANADA = "가나다라마바사아자차카타파하"
_CHOSUNG = "ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊㅋㅌㅍㅎ"
_RUSSIAN = "абвгдежзиклмнопрстуфхцчшщыэюя"
_GREEK_NOTES = "*†‡§"
_ONES = (
    *("zero", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen"),
    *("fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINALS = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth"}
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"))
_ROMAN_ONES = ((9, "ix"), (5, "v"), (4, "iv"), (1, "i"))
MOST_REPEATED = 20  # letters of one label


def number_text(value: int, number_format: str) -> str:
    """A number as office programs write it in a format; formats that are not known count in digits."""
    write = _FORMATS.get(number_format)
    return write(value) if write is not None and value > 0 else str(value)


def chinese_number(value: int) -> str:
    """1 to 9999 in Chinese characters; other numbers in digits."""
    return _counted(value, _DIGITS, _UNITS, "零").removeprefix("一") if 10 <= value < 20 else _chinese(value)


def _chinese(value: int) -> str:
    return _counted(value, _DIGITS, _UNITS, "零")


def _counted(value: int, digits: str, units: tuple[tuple[int, str], ...], zero: str) -> str:
    """Digits with their units, and one zero for places without a digit between them."""
    if not 0 < value < 10_000:
        return str(value)
    text = ""
    for place, unit in units:
        digit = value // place % 10
        if digit:
            text += digits[digit] + unit
        elif text and not text.endswith(zero):
            text += zero
    return text.rstrip(zero)


def _legal(digits: str) -> Callable[[int], str]:
    return lambda value: _counted(value, digits, _LEGAL_UNITS, digits[0])


def _each_digit(digits: str) -> Callable[[int], str]:
    return lambda value: "".join(digits[int(digit)] for digit in str(value))


def _in_turn(letters: str) -> Callable[[int], str]:
    """The letters of a series, beginning again behind the last one."""
    return lambda value: letters[(value - 1) % len(letters)]


def _as_far_as(letters: str) -> Callable[[int], str]:
    """The letters of a series, digits behind the last one."""
    return lambda value: letters[value - 1] if value <= len(letters) else str(value)


def _repeated(letters: str) -> Callable[[int], str]:
    """The letters of a series, doubled in the second round: z, aa."""

    def write(value: int) -> str:
        rounds, place = divmod(value - 1, len(letters))
        return letters[place] * min(rounds + 1, MOST_REPEATED)

    return write


def _zodiac(value: int) -> str:
    return _STEMS[(value - 1) % 10] + _BRANCHES[(value - 1) % 12]


def _circled(value: int) -> str:
    if value <= 20:
        return chr(0x2460 + value - 1)
    if value <= 35:
        return chr(0x3251 + value - 21)
    return chr(0x32B1 + value - 36) if value <= 50 else str(value)


def _roman(value: int) -> str:
    text = ""
    for worth, letters in (*_ROMAN, *_ROMAN_ONES):
        count, value = divmod(value, worth)
        text += letters * min(count, MOST_REPEATED)
    return text


def _ordinal(value: int) -> str:
    ending = "th" if 10 < value % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
    return f"{value}{ending}"


def _words(value: int) -> str:
    if value < 20:
        return _ONES[value]
    if value < 100:
        tens, rest = divmod(value, 10)
        return _TENS[tens - 2] + (f"-{_ONES[rest]}" if rest else "")
    if value < 1000:
        hundreds, rest = divmod(value, 100)
        return f"{_ONES[hundreds]} hundred" + (f" {_words(rest)}" if rest else "")
    return str(value)


def _ordinal_words(value: int) -> str:
    words = _words(value)
    if words.isdecimal():
        return _ordinal(value)
    last = re.split(r"[ -]", words)[-1]
    start = words.removesuffix(last)
    if last.endswith("y"):
        return f"{start}{last[:-1]}ieth"
    return f"{start}{_ORDINALS.get(last) or ('twelfth' if last == 'twelve' else f'{last}th')}"


def _padded(width: int) -> Callable[[int], str]:
    return lambda value: f"{value:0{width}d}"


_FORMATS: Mapping[str, Callable[[int], str]] = {
    "chineseCounting": chinese_number,
    "chineseCountingThousand": chinese_number,
    "japaneseCounting": chinese_number,
    "taiwaneseCounting": chinese_number,
    "taiwaneseCountingThousand": chinese_number,
    "koreanDigital2": _each_digit(_DIGITS.replace("〇", "零")),
    "ideographDigital": _each_digit(_DIGITS),
    "japaneseDigitalTenThousand": _each_digit(_DIGITS),
    "taiwaneseDigital": _each_digit(_DIGITS.replace("〇", "○")),
    "chineseLegalSimplified": _legal(_LEGAL),
    "ideographLegalTraditional": _legal(_LEGAL_TRADITIONAL),
    "japaneseLegal": _legal(_LEGAL_TRADITIONAL),
    "ideographTraditional": _as_far_as(_STEMS),
    "ideographZodiac": _as_far_as(_BRANCHES),
    "ideographZodiacTraditional": _zodiac,
    "ideographEnclosedCircle": _as_far_as("㊀㊁㊂㊃㊄㊅㊆㊇㊈㊉"),
    "decimalEnclosedCircle": _circled,
    "decimalEnclosedCircleChinese": _circled,
    "decimalEnclosedFullstop": lambda value: f"{value}.",
    "decimalEnclosedParen": lambda value: f"({value})",
    "decimalFullWidth": _each_digit("０１２３４５６７８９"),
    "decimalFullWidth2": _each_digit("０１２３４５６７８９"),
    "decimalZero": _padded(2),
    "numberInDash": lambda value: f"- {value} -",
    "lowerLetter": _repeated("abcdefghijklmnopqrstuvwxyz"),
    "upperLetter": _repeated("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    "lowerRoman": _roman,
    "upperRoman": lambda value: _roman(value).upper(),
    "ordinal": _ordinal,
    "cardinalText": lambda value: _words(value).capitalize(),
    "ordinalText": lambda value: _ordinal_words(value).capitalize(),
    "hex": lambda value: f"{value:X}",
    "chicago": _repeated(_GREEK_NOTES),
    "aiueo": _in_turn(_AIUEO),
    "aiueoFullWidth": _in_turn(_AIUEO),
    "iroha": _in_turn(_IROHA),
    "irohaFullWidth": _in_turn(_IROHA),
    "ganada": _in_turn(_GANADA),
    "chosung": _in_turn(_CHOSUNG),
    "russianLower": _repeated(_RUSSIAN),
    "russianUpper": _repeated(_RUSSIAN.upper()),
    "01, 02, 03, ...": _padded(2),
    "001, 002, 003, ...": _padded(3),
    "0001, 0002, 0003, ...": _padded(4),
    "00001, 00002, 00003, ...": _padded(5),
}

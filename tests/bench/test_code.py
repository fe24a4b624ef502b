"""The short form of `make bench-code`."""

from __future__ import annotations

import pytest

from bench.code.functions import draw_modules, names_defined_once
from bench.code.measure import measure

TIMERS = '''"""Timers."""


def start_timer(name):
    """Begin to count the seconds of a name."""
    seconds[name] = 0


class Clock:
    def wind(self): """Turn the key of the clock thrice."""

    def strike_hour(self, hour):
        """Ring the bell as often as the hour says."""
        for _ in range(hour):
            self.bell.ring()

    def stop(self):
        """Stop the hands of this clock."""
'''
LAMPS = (
    "def lamp_on(lamp):\n    '''Give current to one lamp.'''\n    current[lamp] = 1\n\n\ndef stop():\n    lamp_on(0)\n"
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "test").mkdir()
    for name, text in {"timers.py": TIMERS, "lamps.py": LAMPS, "faulty.py": "def (", "test/test_a.py": TIMERS}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_drawn_functions_lose_their_docstrings_and_keep_their_lines(folder):
    modules = draw_modules(folder, modules=9, questions=9, seed=1)

    assert [module.path for module in modules] == ["lamps.py", "timers.py"]
    functions = {function.name: function for module in modules for function in module.functions}
    assert functions["strike_hour"].sentence == "Ring the bell as often as the hour says."
    lines = modules[1].text.split("\n")
    assert [lines[one.first - 1].split("(")[0].strip() for one in functions.values() if one.path == "timers.py"] == [
        f"def {one.name}" for one in functions.values() if one.path == "timers.py"
    ]
    assert "Ring the bell" not in modules[1].text
    assert modules[1].text.rstrip().endswith("pass")
    compile(modules[1].text, "timers.py", "exec")


def test_a_name_that_is_defined_twice_is_not_asked(folder):
    names = names_defined_once(draw_modules(folder, modules=9, questions=9, seed=1))

    assert "stop" not in names
    assert names["lamp_on"] == ("lamps.py", 1)


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_functions_are_found_by_descriptions_and_by_names(folder):
    figures = measure(folder, modules=9, questions=9, seed=1)

    assert figures["questions"] >= 4
    assert figures["mrr10"] > 0.7
    assert figures["identifier_first"] == 1.0

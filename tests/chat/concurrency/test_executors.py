"""Work in threads goes on in the language of who asked for it."""

import pytest
from django.utils import translation

from chat.concurrency.executors import run_cpu, run_db


@pytest.mark.django_db
@pytest.mark.parametrize("run", [run_db, run_cpu])
async def test_a_thread_speaks_the_language_of_its_caller_and_keeps_none(run):
    with translation.override("zh-hans"):
        chinese = await run(translation.get_language)
    with translation.override("en"):
        english = await run(translation.get_language)

    assert (chinese, english) == ("zh-hans", "en")

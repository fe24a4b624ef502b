"""What one answer reads and computes once."""

from knowledge.selectors import options

QUESTION = "How many steps does the random access procedure have?"


async def test_the_options_of_the_site_are_read_once_an_answer_and_anew_for_the_next_one(api, monkeypatch):
    reads, read = [], options._SITE.first

    def counted(**values):
        reads.append(values)
        return read(**values)

    monkeypatch.setattr(options._SITE, "first", counted)

    await api.generate(QUESTION, cache=False)
    once = len(reads)
    await api.generate(QUESTION, cache=False)

    assert len(reads) == 2 * once
    assert once == 1

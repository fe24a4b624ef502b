import pytest

from ragcore.grading.query_refinement import hop_by_rules, next_hop
from tests.ragcore.grading.world import USELESS, World, model_server, ranked, says, tokenizer

QUESTION = "Who directed the film that was shot in Leland, North Carolina in 1986?"
FILM = ranked("Maximum Overdrive", "Maximum Overdrive is a horror film. It was shot in Leland, North Carolina in 1986.")


def test_the_second_query_names_what_the_first_search_revealed_and_asks_what_is_open():
    query = hop_by_rules(QUESTION, [FILM], tokenizer())

    assert query.startswith("Maximum Overdrive")
    assert "direct" in query
    assert "Leland" not in query


def test_a_chinese_title_goes_into_the_next_query():
    found = [ranked("刘慈欣", "《三体》的作者是刘慈欣。")]

    query = hop_by_rules("小说三体的作者毕业于哪所大学？", found, tokenizer())

    assert "刘慈欣" in query
    assert "大学" in query


@pytest.mark.parametrize("found", [[], [ranked("Menu", "Fish and potatoes.")]], ids=["nothing", "something else"])
def test_there_is_no_next_step_from_nothing(found):
    assert hop_by_rules(QUESTION, found, tokenizer()) == ""


def test_a_passage_without_new_names_leads_nowhere():
    assert (
        hop_by_rules("What is random access?", [ranked("Random access", "random access is access.")], tokenizer()) == ""
    )


async def test_a_model_writes_the_next_query_or_says_that_nothing_is_open():
    with model_server(says('{"query": "Maximum Overdrive director"}'), says('{"query": ""}')) as (_, client):
        assert await next_hop(QUESTION, [FILM], World().ports(), client) == ("Maximum Overdrive director", "model")
        assert await next_hop(QUESTION, [FILM], World().ports(), client) == ("", "model")


@pytest.mark.parametrize("reply", USELESS.values(), ids=USELESS)
async def test_rules_go_on_where_the_model_says_nothing_valid(reply):
    with model_server(default=reply) as (_, client):
        query, by = await next_hop(QUESTION, [FILM], World().ports(), client)

    assert by == "rules"
    assert query.startswith("Maximum Overdrive")

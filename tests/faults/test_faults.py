"""The short form of `make faults`: one round against the real product, and three in the full form."""

from __future__ import annotations

import pytest

from tests.faults.documents import documents_of_round
from tests.faults.product import POSTGRES, SUPERVISOR, Product
from tests.faults.rounds import MOMENTS, Plan, World
from tests.services_plugin import models_folder

DOCUMENTS = 40
SEED = 20_261_120


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A product of its own, started once for all rounds; a second web process would only take longer to start."""
    product = Product(tmp_path_factory.mktemp("faults") / "data", models_folder(), web_processes=1)
    product.start()
    made = World(product)
    made.prepare()
    yield made
    product.stop()


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.timeout(480)  # the waits of a round may last 15 + 60 + 180 s, after the start of the product
@pytest.mark.parametrize(
    ("number", "part"),
    [(0, "worker"), (1, POSTGRES), (2, SUPERVISOR)],
)
def test_kill_9_loses_nothing(world, number, part):
    plan = Plan.of(seed=SEED, number=number, parts=[part])

    said = world.run(plan, documents=DOCUMENTS)

    assert f"kill -9 {part}" in said


def test_every_part_gets_its_turn_and_a_seed_repeats_its_plan():
    parts = ["a", "b", "c"]

    plans = [Plan.of(seed=7, number=number, parts=parts) for number in range(30)]

    assert plans == [Plan.of(seed=7, number=number, parts=parts) for number in range(30)]
    assert [sorted(plan.part for plan in plans[at : at + 3]) for at in range(0, 30, 3)] == [parts] * 10
    assert {plan.moment for plan in plans} == set(MOMENTS)


def test_a_round_sends_every_kind_of_document_once():
    import random

    sent = documents_of_round(random.Random(1), number=40, known=["old-1", "old-2"], round_id="r")

    assert len({one.identity for one in sent}) == len({one.word for one in sent}) == len(sent) == 40
    assert {one.name.rpartition(".")[2] for one in sent} == {"txt", "pdf", "docx"}
    assert [one.name.endswith(".pdf") for one in sent if not one.is_readable] == [True]
    assert sum(one.external_id.startswith("old-") for one in sent) == 2

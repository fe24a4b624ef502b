"""`make load`: its figures, and a short form with four people for a few seconds."""

import asyncio
import random

import pytest
from asgiref.sync import sync_to_async

from bench.load.fairness import measure
from bench.load.figures import Figures, ProcessUse, histogram, process_table, table
from bench.load.people import make_people
from bench.load.product import is_idle, name_of
from bench.load.script import load_documents, run_people
from knowledge.models import Document
from tests.factories import ingest, make_set, make_user
from tests.live_site import serving_site

ACTIONS = {"ask", "first word", "follow up", "open a source", "vote", "upload"}
SECONDS = 4.0


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_scripted_people_do_everything_and_nothing_fails(transactional_db, redis_client, tmp_path, capsys):
    def prepare():
        owner = make_user()
        ingest(owner, make_set("radio", owners=[owner]), ho="A handover moves a terminal from one cell to another.")
        return make_people(4)

    accounts = await sync_to_async(prepare)()
    ended = asyncio.Event()

    with serving_site(tmp_path) as site:
        loading = asyncio.create_task(load_documents(site=site, account=accounts[0], until=ended, seed=1))
        figures = await run_people(
            site=site, accounts=accounts, questions=["What does a handover do?"], seconds=SECONDS, think=0.1
        )
        ended.set()
        accepted = await loading
        await measure(site, accounts, ["What does a handover do?"], rounds=1, each=1, beside=(0, 3))
        is_busy = not await asyncio.to_thread(is_idle, site, accounts[0])  # no worker runs here
        await Document.objects.filter(state=Document.State.PROCESSING).aupdate(state=Document.State.LIVE)
        is_idle_then = await asyncio.to_thread(is_idle, site, accounts[0])

    assert dict(figures.failures) == {}
    assert figures.seconds.keys() == ACTIONS
    assert len(figures.seconds["first word"]) == len(figures.seconds["ask"]) + len(figures.seconds["follow up"])
    assert accepted >= 50
    beside = [row.split("|")[1:5] for row in capsys.readouterr().out.splitlines()[2:]]
    asked = [
        phase.strip() for phase, action, number, failed in beside if (action, number, failed) == (" ask ", " 1 ", " 0 ")
    ]
    assert asked == ["alone", "beside 3 at a time"]
    assert (is_busy, is_idle_then) == (True, True)


def test_the_tables_say_how_long_and_how_often_it_failed():
    figures = Figures()
    for number in range(100):
        figures.add("ask", number / 100)
    figures.fail("ask", "status 503")
    figures.fail("vote", "status 500")

    rows = table({"idle": figures}).splitlines()

    assert rows[2] == "| idle | ask | 100 | 1 | 0.50 | 0.95 | 0.99 |"
    assert rows[3] == "| idle | vote | 0 | 1 | – | – | – |"


def test_the_histogram_counts_every_value_once():
    values = [random.Random(1).uniform(0, 40) for _ in range(50)] + [0.05, 31.0]

    lines = histogram(values).splitlines()

    assert sum(int(line[9:16]) for line in lines) == len(values)
    assert lines[0].startswith("≤ 0.05 s") or lines[0].strip().startswith("≤ 0.05 s")


def test_processes_are_added_up():
    uses = [
        ProcessUse(name="web 1", cpu_seconds=2, memory_mb=300),
        ProcessUse(name="postgres", cpu_seconds=3, memory_mb=200),
    ]

    assert process_table({"idle": uses}).splitlines()[2:] == [
        "| idle | postgres | 3.0 | 200 |",
        "| idle | web 1 | 2.0 | 300 |",
        "| idle | all | 5.0 | 500 |",
    ]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python -m ragsite.web_server --number 2", "web 2"),
        ("python -m ragsite.web_server --graceful-seconds 5", "web"),
        ("python -m celery -A ragsite worker -Q chat,nightly", "chat,nightly worker"),
        ("python -m celery -A ragsite beat", "scheduler"),
        ("/opt/bin/postgres -D data", "postgres"),
    ],
)
def test_processes_have_names(command, name):
    assert name_of(command.split()) == name

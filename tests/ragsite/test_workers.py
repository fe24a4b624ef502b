"""Which workers take which queues, embedded and in containers."""

from __future__ import annotations

from importlib import import_module

import yaml
from django.conf import settings

from ragsite.celery import QUEUES, app
from ragsite.embedded.programs import BACKGROUND_QUEUES, INGESTION_QUEUES, programs
from ragsite.env import PROJECT_ROOT, Environment

APPS = ("accounts", "chat", "evaluation", "feedback", "knowledge", "notifications")
KNOWN = {queue.name for queue in settings.CELERY_TASK_QUEUES}


def queues_of(command):
    return {
        name for flag, value in zip(command, command[1:], strict=False) if flag == "-Q" for name in value.split(",")
    }


def container_workers():
    services = yaml.safe_load((PROJECT_ROOT / "docker" / "compose.yaml").read_text(encoding="utf-8"))["services"]
    return {name: one for name, one in services.items() if "worker" in one.get("command", ())}


def test_containers_are_divided_like_the_embedded_programs():
    embedded = [queues_of(program.arguments) for program in programs(Environment()) if "worker" in program.arguments]
    containers = [queues_of(one["command"]) for one in container_workers().values()]

    assert sorted(map(sorted, containers)) == sorted(map(sorted, embedded))
    assert sorted(name for queues in containers for name in queues) == sorted(KNOWN)


def test_ingestion_in_containers_leaves_the_processor_to_people():
    [worker] = [one for one in container_workers().values() if queues_of(one["command"]) == set(INGESTION_QUEUES)]

    assert worker["command"][:3] == ["nice", "-n", "10"]
    assert worker["environment"]["EMBEDDER_THREADS"] == "${EMBEDDER_THREADS:-1}"


def test_background_work_leaves_the_processor_to_people_too(monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    [container] = [one for one in container_workers().values() if queues_of(one["command"]) == set(BACKGROUND_QUEUES)]
    [program] = [one for one in programs(Environment()) if one.name == "background"]

    assert container["command"][:3] == ["nice", "-n", str(program.niceness)] == ["nice", "-n", "10"]
    assert container["environment"]["OPENBLAS_NUM_THREADS"] == "${OPENBLAS_NUM_THREADS:-1}"
    assert program.environment == {"OPENBLAS_NUM_THREADS": "1"}


def test_every_variable_of_the_environment_file_reaches_every_process_in_containers():
    services = yaml.safe_load((PROJECT_ROOT / "docker" / "compose.yaml").read_text(encoding="utf-8"))["services"]
    own = [one for one in services.values() if one["image"] == "ragsite"]

    assert len(own) == 7
    for service in own:
        assert service["env_file"] == [".env"]
        fixed = {name for name, value in service["environment"].items() if f"${{{name}" not in value}
        assert fixed == {"DATABASE_URL", "REDIS_URL", "DATA_DIR", "HOST", "PORT"}


def test_the_example_of_the_environment_file_names_variables_that_exist():
    lines = (PROJECT_ROOT / "docker" / "env.example").read_text(encoding="utf-8").splitlines()
    named = {line.partition("=")[0] for line in lines if line and not line.startswith("#")}

    images = {name for name in named if name.endswith("_IMAGE")}
    compose = {"POSTGRES_PASSWORD", "REDIS_PASSWORD", "HTTP_PORT", "HTTPS_PORT", "NGINX_CONF", "TORCH_INDEX", "LDAP"}
    assert named - images - compose <= set(Environment.model_fields)


def test_what_watches_over_ingestion_does_not_queue_behind_it():
    by_task = {entry["task"]: entry["options"]["queue"] for entry in app.conf.beat_schedule.values()}

    assert by_task["knowledge.sweep_ingest_leases"] == "chat"
    assert not set(by_task.values()) & {*INGESTION_QUEUES, "ocr"}
    assert set(by_task.values()) <= KNOWN


def test_tasks_that_are_planned_and_sent_go_to_the_same_queue():
    planned = {entry["task"]: entry["options"]["queue"] for entry in app.conf.beat_schedule.values()}

    assert {task: queue for task, queue in planned.items() if QUEUES[task] != queue} == {}


def test_every_task_has_its_queue_where_its_app_names_it():
    app.loader.import_default_modules()
    by_app = {label: import_module(f"{label}.queue").QUEUES for label in APPS}

    assert {name for name in app.tasks if name.partition(".")[0] in APPS} == {
        name for queues in by_app.values() for name in queues
    }
    assert {
        name: label for label, queues in by_app.items() for name in queues if not name.startswith(f"{label}.")
    } == {}
    assert set(QUEUES.values()) <= KNOWN

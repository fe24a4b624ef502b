"""How much memory there is for a model, and what fits into it."""

from __future__ import annotations

import pytest

from ragcore.model_file.errors import ModelFileError
from ragcore.model_file.gguf import read_model
from ragcore.model_file.memory import BUFFER_BYTES, SPARE_BYTES, available_bytes, free_threads, plan_memory
from tests.ragcore.model_file.gguf_files import QWEN, write_gguf

GB = 1024**3


@pytest.fixture
def model(tmp_path):
    """A token takes a megabyte."""
    values = {**QWEN, "qwen2.block_count": 512, "qwen2.context_length": 32_768, "qwen2.attention.key_length": 256}
    return read_model(write_gguf(tmp_path / "m.gguf", {**values, "qwen2.attention.value_length": 256}))


def test_a_context_is_as_long_as_wanted_and_no_longer_than_the_models_own(model):
    assert plan_memory(model, most_tokens=8192, available=64 * GB).context_tokens == 8192
    assert plan_memory(model, most_tokens=100_000, available=64 * GB).context_tokens == 32_768
    assert plan_memory(model, most_tokens=8192, available=None).context_tokens == 8192


def test_a_context_that_does_not_fit_is_halved_and_the_site_keeps_its_share(model):
    rest = BUFFER_BYTES + SPARE_BYTES + model.size_bytes

    assert plan_memory(model, most_tokens=8192, available=8 * GB + rest - 1).context_tokens == 4096
    assert plan_memory(model, most_tokens=8192, available=8 * GB + rest).context_tokens == 8192
    assert plan_memory(model, most_tokens=8192, available=2 * GB + rest).context_tokens == 2048


def test_a_model_that_does_not_fit_with_the_shortest_context_is_too_large(model):
    with pytest.raises(ModelFileError, match=r"does not fit into memory: it needs about 3\.2 GB, and 1\.1 GB are free"):
        plan_memory(model, most_tokens=8192, available=GB)


def system(root, *, meminfo="", group="", **files):
    """A root folder with what the kernel tells."""
    texts = {"proc/meminfo": meminfo, "proc/self/cgroup": group, **{f"sys/fs/cgroup/{k}": v for k, v in files.items()}}
    for name, text in texts.items():
        if text:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(f"{text}\n")
    return root


MACHINE = "MemTotal: 16000000 kB\nMemAvailable:    8000000 kB"


def test_the_machine_says_what_can_be_had(tmp_path):
    assert available_bytes(system(tmp_path, meminfo=MACHINE)) == 8_000_000 * 1024


def test_where_nothing_is_said_nothing_is_known(tmp_path):
    assert available_bytes(tmp_path) is None


@pytest.mark.parametrize(
    ("group", "files"),
    [
        # version 2: the limit stands at a group above
        (
            "0::/site/web",
            {
                "site/memory.max": "3000000000",
                "site/memory.current": "1500000000",
                "site/memory.stat": "anon 1\ninactive_file 500000000",
                "site/web/memory.max": "max",
                "site/web/memory.current": "100",
            },
        ),
        # version 2 in a container, which sees its own group as the base
        ("0::/", {"memory.max": "3000000000", "memory.current": "1000000000"}),
        # version 1
        (
            "9:name=systemd:/\n4:cpu,memory:/a",
            {
                "memory/a/memory.limit_in_bytes": "3000000000",
                "memory/a/memory.usage_in_bytes": "1100000000",
                "memory/a/memory.stat": "total_inactive_file 100000000",
                "memory/memory.limit_in_bytes": "9223372036854771712",
                "memory/memory.usage_in_bytes": "1",
            },
        ),
    ],
)
def test_the_limit_of_a_container_counts_where_it_is_less(tmp_path, group, files):
    assert available_bytes(system(tmp_path, meminfo=MACHINE, group=group, **files)) == 2_000_000_000


def test_this_machine_is_understood():
    assert (available_bytes() or 1) > 0


@pytest.mark.parametrize(("cores", "threads"), [(1, 1), (2, 1), (4, 3), (8, 6), (16, 14)])
def test_cores_are_left_to_the_site(cores, threads):
    assert free_threads(cores) == threads

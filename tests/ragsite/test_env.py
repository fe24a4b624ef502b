import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ragsite.embedded.data_dir import Runtime, Secrets
from ragsite.env import PROJECT_ROOT, InvalidEnvironmentError, read_environment
from ragsite.settings.urls import database_from_url

KEY = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "TLS", "LLM_BASE_URL", "LLM_MODEL", "EMBEDDER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DATA_DIR", str(tmp_path))


def test_all_faults_are_reported_together(monkeypatch):
    monkeypatch.setenv("PORT", "99999")
    monkeypatch.setenv("DATABASE_URL", "mysql://kb@db/kb")
    monkeypatch.setenv("TIME_ZONE", "Mars/Olympus")
    monkeypatch.setenv("CORS_ALLOWED_ORIGINS", "kb.example.com")

    with pytest.raises(InvalidEnvironmentError) as caught:
        read_environment()

    assert set(caught.value.faults) == {"PORT", "DATABASE_URL", "TIME_ZONE", "CORS_ALLOWED_ORIGINS"}


def test_a_fault_ends_a_command_with_a_message_and_no_traceback():
    done = subprocess.run(
        [sys.executable, "-c", "import ragsite.env"],
        cwd=PROJECT_ROOT,
        env={**os.environ, "PORT": "many"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "PORT: " in done.stderr
    assert "Traceback" not in done.stderr


def test_a_fault_does_not_repeat_the_secret_that_it_complains_about(monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "tooshort-hunter2")

    with pytest.raises(InvalidEnvironmentError) as caught:
        read_environment()

    assert "SECRET_KEY" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_an_empty_variable_counts_as_unset(monkeypatch):
    monkeypatch.setenv("PORT", "")
    monkeypatch.setenv("LLM_BASE_URL", "")

    env = read_environment()

    assert env.PORT == 8000
    assert env.LLM_BASE_URL is None


def test_lists_are_separated_by_commas(monkeypatch):
    monkeypatch.setenv("ALLOWED_HOSTS", "kb.example.com, 10.0.0.7 ,")

    assert read_environment().ALLOWED_HOSTS == ("kb.example.com", "10.0.0.7")


def test_without_an_embedder_the_database_says_which_one_is_used():
    assert read_environment().EMBEDDER == ""


@pytest.mark.parametrize("value", ["openai:", "word2vec", "sentence_transformers", "openai:bge-m3"])
def test_an_embedder_that_cannot_be_used_is_refused(monkeypatch, value):
    monkeypatch.setenv("EMBEDDER", value)  # openai:bge-m3 lacks EMBEDDING_BASE_URL

    with pytest.raises(InvalidEnvironmentError, match="EMBEDDER"):
        read_environment()


@pytest.mark.parametrize("value", ["cohere", "cross_encoder:", "cross_encoder", "http:", "http", "linear:x"])
def test_a_reranker_that_cannot_be_used_is_refused(monkeypatch, value):
    monkeypatch.setenv("RERANKER", value)  # http lacks RERANKER_URL

    with pytest.raises(InvalidEnvironmentError, match="RERANKER"):
        read_environment()


@pytest.mark.parametrize(
    "value", ["linear", "none", "cross_encoder:Alibaba-NLP/gte-multilingual-reranker-base", "http", "http:m"]
)
def test_every_kind_of_reranker_can_be_chosen(monkeypatch, value):
    monkeypatch.setenv("RERANKER", value)
    monkeypatch.setenv("RERANKER_URL", "http://models.example.com")

    env = read_environment()

    assert value == env.RERANKER
    assert env.RERANKER_TRUST_REMOTE_CODE is False


def test_a_model_server_without_a_model_name_is_asked_for_its_default(monkeypatch):
    monkeypatch.setenv("LLM_BASE_URL", "http://models.example.com/v1")

    assert read_environment().LLM_MODEL == "default"


def test_a_model_file_that_does_not_exist_keeps_nothing_from_starting(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LLM_FILE", "no/such.gguf")

    env = read_environment()

    assert tmp_path / "no" / "such.gguf" == env.LLM_FILE
    assert env.LLM_MODEL is None
    assert env.language_model_state() is None  # nobody runs here


def test_without_a_model_server_there_is_no_model():
    assert read_environment().LLM_MODEL is None


def test_an_external_database_needs_a_key_that_all_hosts_share(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgresql://kb@db/kb")

    with pytest.raises(InvalidEnvironmentError, match="SECRET_KEY"):
        read_environment()


def test_production_is_reached_over_tls_unless_it_says_otherwise(monkeypatch):
    assert not read_environment().is_tls
    monkeypatch.setenv("DATABASE_URL", "postgresql://kb@db/kb")
    monkeypatch.setenv("SECRET_KEY", KEY)

    assert read_environment().is_tls
    monkeypatch.setenv("TLS", "0")
    assert not read_environment().is_tls


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SECRET_KEY", KEY[:49]),
        ("SECRET_KEY", "ab" * 40),
        ("ALLOWED_HOSTS", "*"),
        ("TRUSTED_PROXIES", "*"),
        ("DATABASE_URL", "postgresql://kb:postgres@db/kb"),
        ("REDIS_URL", "redis://:changeme@cache"),
    ],
)
def test_production_does_not_start_with_what_everybody_knows(monkeypatch, name, value):
    settings = {"DATABASE_URL": "postgresql://kb:9Kd-2@db/kb", "SECRET_KEY": KEY, "ALLOWED_HOSTS": "kb.example.com"}
    for one, given in {**settings, name: value}.items():
        monkeypatch.setenv(one, given)

    with pytest.raises(InvalidEnvironmentError) as caught:
        read_environment()

    assert set(caught.value.faults) == {name}


def test_secrets_come_from_files_that_the_environment_names(monkeypatch, tmp_path):
    (tmp_path / "key").write_text(f"{KEY}\n")
    monkeypatch.setenv("SECRET_KEY_FILE", str(tmp_path / "key"))
    monkeypatch.setenv("PORT_FILE", str(tmp_path / "key"))  # no secret

    assert read_environment().SECRET_KEY == KEY
    monkeypatch.setenv("SECRET_KEY", KEY[::-1])
    assert KEY[::-1] == read_environment().SECRET_KEY
    monkeypatch.setenv("ADMIN_PASSWORD_FILE", str(tmp_path / "none"))
    with pytest.raises(InvalidEnvironmentError, match="ADMIN_PASSWORD_FILE"):
        read_environment()


def test_a_command_in_another_shell_finds_the_running_instance(tmp_path):
    Runtime(pid=os.getpid(), database_url="postgresql://a@h/d", redis_url="redis://h/0").write(tmp_path)

    env = read_environment()

    assert env.database_url() == "postgresql://a@h/d"
    assert env.redis_url() == "redis://h/0"


def test_what_a_killed_instance_left_behind_is_not_believed(tmp_path):
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    Runtime(pid=gone.pid, database_url="postgresql://a@h/d").write(tmp_path)

    assert read_environment().database_url() is None


def test_an_instance_that_is_dead_but_not_yet_reaped_is_not_believed(tmp_path):
    with subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE) as zombie:
        zombie.stdout.read()  # its end is seen here, its exit code is not collected
        os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
        Runtime(pid=zombie.pid, database_url="postgresql://a@h/d").write(tmp_path)

        assert read_environment().database_url() is None


def test_secrets_are_generated_once_and_kept_private(tmp_path):
    first = read_environment().secret_key()

    again = Secrets.of(tmp_path)

    assert first == again.secret_key
    assert len(first) >= 50
    assert stat.S_IMODE((tmp_path / "secrets.json").stat().st_mode) == 0o600


def test_passwords_do_not_appear_when_the_environment_is_printed(monkeypatch):
    monkeypatch.setenv("ADMIN_PASSWORD", "hunter2")
    monkeypatch.setenv("DATABASE_URL", "postgresql://kb:hunter2@db/kb")
    monkeypatch.setenv("SECRET_KEY", "hunter2" * 8)

    assert "hunter2" not in repr(read_environment())


@pytest.fixture
def no_models(monkeypatch):
    for name in os.environ:
        if name.startswith("LLM_"):
            monkeypatch.delenv(name)


@pytest.mark.parametrize("tier", ["FAST", "ADVANCED", "JUDGE"])
def test_a_tier_needs_a_server_somewhere(monkeypatch, no_models, tier):
    monkeypatch.setenv(f"LLM_{tier}_MODEL", "m")

    with pytest.raises(InvalidEnvironmentError) as caught:
        read_environment()

    assert caught.value.faults == {f"LLM_{tier}_MODEL": f"needs LLM_{tier}_BASE_URL or LLM_BASE_URL"}


@pytest.mark.parametrize("url", ["LLM_BASE_URL", "LLM_FAST_BASE_URL"])
def test_a_tier_is_at_its_own_server_or_at_the_common_one(monkeypatch, no_models, url):
    monkeypatch.setenv(url, "http://models.example.com/v1")
    monkeypatch.setenv("LLM_FAST_MODEL", "small")

    assert read_environment().LLM_FAST_MODEL == "small"


def test_a_server_of_a_single_model_needs_no_name(monkeypatch, no_models):
    monkeypatch.setenv("LLM_JUDGE_BASE_URL", "http://models.example.com/v1")

    env = read_environment()

    assert (env.LLM_JUDGE_MODEL, env.LLM_FAST_MODEL, env.LLM_MODEL) == ("default", None, None)


@pytest.mark.parametrize("value", ["/nowhere/model", "~/nowhere", "./nowhere", "a/b/c", "two words", "../x"])
def test_a_local_model_that_cannot_be_there_is_refused(monkeypatch, no_models, value):
    monkeypatch.setenv("LLM_LOCAL_MODEL", value)

    with pytest.raises(InvalidEnvironmentError, match="LLM_LOCAL_MODEL"):
        read_environment()


def test_a_local_model_is_a_folder_or_a_name_on_the_hub(monkeypatch, no_models, tmp_path):
    (tmp_path / "config.json").write_text("{}")

    for value in (str(tmp_path), "Qwen/Qwen2.5-0.5B-Instruct", "gpt2"):
        monkeypatch.setenv("LLM_LOCAL_MODEL", value)

        env = read_environment()

        assert value == env.LLM_LOCAL_MODEL


def test_prices_that_cannot_be_read_are_refused_in_words(monkeypatch, no_models):
    monkeypatch.setenv("LLM_PRICES", '{"m": {"input": 1}}')

    with pytest.raises(InvalidEnvironmentError, match='LLM_PRICES: must give "input" and "output"'):
        read_environment()


def test_keys_of_models_do_not_appear_when_the_environment_is_printed(monkeypatch, no_models):
    for tier in ("FAST", "ADVANCED", "JUDGE"):
        monkeypatch.setenv(f"LLM_{tier}_API_KEY", "hunter2")

    assert "hunter2" not in repr(read_environment())


@pytest.mark.parametrize("name", ["missing.tiktoken", "words.txt"])
def test_a_vocabulary_must_be_a_file_that_exists(monkeypatch, tmp_path, name):
    (tmp_path / "words.txt").write_text("a")
    monkeypatch.setenv("TOKENIZER_FILE", str(tmp_path / name))

    with pytest.raises(InvalidEnvironmentError) as caught:
        read_environment()

    assert set(caught.value.faults) == {"TOKENIZER_FILE"}


def test_parameters_of_a_database_url_reach_the_connection():
    found = database_from_url("postgresql://kb:a%40b@db:5433/kb?sslmode=verify-full&sslrootcert=%2Fca.pem")

    assert found["OPTIONS"] == {"sslmode": "verify-full", "sslrootcert": "/ca.pem"}
    assert (found["HOST"], found["PORT"], found["PASSWORD"]) == ("db", "5433", "a@b")
    local = database_from_url("postgresql://kb@/kb?host=/run/postgres")
    assert (local["HOST"], local["OPTIONS"]) == ("/run/postgres", {})

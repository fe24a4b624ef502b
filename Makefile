# `make` lists the commands. Settings are variables of the environment: docs/operators.md.

PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3)
VENV := .venv
PEERS_VENV := .venv-bench
AUDIT_VENV := .venv-audit
CLIENTS_VENV := .venv-clients
BIN := $(VENV)/bin
# Packages are compiled when they are first imported: most of their modules never are.
INSTALL := -m pip install --disable-pip-version-check --quiet --no-input --no-compile
# The lock files name all that is needed, and for each file of it the hash that it must have.
LOCKED := $(INSTALL) --require-hashes --no-deps
WORKERS ?= 3
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -o console_output_style=classic

# Where it is set, as in many containers, each of the programs would compile all of our modules at each start.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test clients test-full test-security lint-style lint-types pytest faults load bench bench-ingest bench-retrieval bench-scale bench-churn bench-hops bench-rewriting bench-answers bench-everyday bench-llm bench-grounding bench-latency bench-cost bench-cache bench-fairness snapshot-answers code-figures lint lint-security audit sbom install install-dev llama browser directory lock clean pin-images bench-calibration bench-diagnosis bench-judge bench-lexicon bench-triples bench-paths bench-facts bench-graph bench-nightly bench-failures bench-finetune bench-model-training bench-switch bench-set-models bench-sentences bench-use bench-travel bench-modes bench-code bench-sources
.DELETE_ON_ERROR:

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

run: install $(if $(LLM_FILE),$(if $(LLM_BASE_URL),,llama)) ## Start everything in the foreground (PORT, DATA_DIR, DEMO, LLM_BASE_URL, LLM_FILE, …); Ctrl-C stops it
	@exec $(BIN)/python -m ragsite.embedded --with-parent

test: lint-style browser ## All checks: lint and the short form of every test (WORKERS)
	@$(MAKE) --no-print-directory -j2 lint-types pytest

test-full: lint browser directory clients ## The long forms, too: many examples, every corruption, every page, 50 rounds of kill -9; hours
	TESTS_FULL=1 SCHEMATHESIS_EXAMPLES=$(or $(SCHEMATHESIS_EXAMPLES),100) $(PYTEST)
	@$(MAKE) --no-print-directory faults

test-security: install-dev lint-security directory ## Rights, hostile files, prompt injection in their long forms, and bandit
	TESTS_FULL=1 $(PYTEST) tests/security

pytest: install-dev
	$(PYTEST)

faults: install-dev ## kill -9 parts of the product at random moments; nothing may be lost (ROUNDS, SEED)
	$(BIN)/python -m tests.faults --rounds $(or $(ROUNDS),50) --seed $(or $(SEED),1) --first $(or $(FIRST),0)

load: install-dev ## Scripted people over WebSocket and REST: USERS=100 MINUTES=2, DATA=DIR for a public set
	$(BIN)/python -m bench.load --users $(or $(USERS),100) --minutes $(or $(MINUTES),2) $(DATA)

bench-fairness: install-dev ## How much a person with 20 streams slows another with one; DATA=DIR for a public set
	$(BIN)/python -m bench.load.fairness $(DATA)

bench: install ## Retrieval quality and speed; DATA="DIR …" for public sets, otherwise the demo sets
	$(BIN)/python -m bench $(DATA)

bench-ingest: install-dev ## Ingestion speed against its goals; DATA=DIR for a public set, SIZE=0.2 for a quick look
	$(BIN)/python -m bench.ingest $(if $(SIZE),--size $(SIZE)) $(DATA)

bench-sources: install-dev ## What the frame of connectors costs beside the bare list; LISTED=100000 PRESENT=10000
	$(BIN)/python -m bench.sources --listed $(or $(LISTED),100000) --present $(or $(PRESENT),10000)

bench-retrieval: install ## Retrieval beside other systems, into docs/benchmarks.md; DATA="DIR …" LIMIT=300 PEERS="bm25s …"
	@test -n "$(DATA)" || { echo 'DATA="DIR …": folders with corpus.jsonl, queries.jsonl and qrels.tsv' >&2; exit 1; }
	@bench/peers/install.sh $(PYTHON) $(PEERS_VENV)
	$(BIN)/python -m bench.peers --python $(PEERS_VENV)/bin/python --limit $(or $(LIMIT),300) \
		--page $(or $(PAGE),docs/benchmarks.md) $(if $(PEERS),--peers "$(PEERS)") $(DATA)

bench-scale: install-dev ## Searching in large corpora: N="100000 300000", DATA="DIR …" for real sentences, KEEP=DIR for the database
	$(BIN)/python -m bench.scale --sizes "$(or $(N),100000)" $(if $(CACHE),--cache $(CACHE)) $(if $(KEEP),--keep $(KEEP)) $(DATA)

bench-churn: install-dev ## Ten rounds of deleting and loading a fifth: N=20000, recall and the longest wait of a reader
	$(BIN)/python -m bench.scale.churn --size $(or $(N),20000) $(if $(CACHE),--cache $(CACHE)) $(DATA)

bench-hops: install-dev ## Questions over several documents, one search against two; DATA="DIR …"
	$(BIN)/python -m bench.hops $(DATA)

bench-rewriting: install-dev ## Follow-up questions made standalone, and searching with them; DATA="FILE.jsonl … DIR …"
	$(BIN)/python -m bench.rewriting $(DATA)

bench-answers: install-dev ## Answers and refusals without a language model; DATA="DIR …"
	$(BIN)/python -m bench.answers $(DATA)

bench-llm: install ## A language model in each way of writing; DATA="DIR …" URL=http://…/v1 MODEL=… [QUESTIONS=40] [PROFILE=FILE]
	@test -n "$(DATA)" -a -n "$(URL)" -a -n "$(MODEL)" || { echo 'DATA="DIR …" URL=http://…/v1 MODEL=NAME' >&2; exit 1; }
	$(BIN)/python -m bench.llm --url $(URL) --model $(MODEL) --questions $(or $(QUESTIONS),40) $(if $(PROFILE),--profile $(PROFILE)) $(DATA)

bench-everyday: install-dev ## Questions as people type them, over an organisation's files; DATA=DIR, DOCUMENTS=DIR, SHOW=1 for every answer, SAMPLE=40 for forty, KEEP=DIR for the database
	$(BIN)/python -m bench.everyday $(if $(SHOW),--show) $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(KEEP),--keep $(KEEP)) $(if $(DOCUMENTS),--documents $(DOCUMENTS)) $(or $(DATA),tests/everyday)

bench-grounding: install-dev ## Which sentences no source supports; DATA="FILE …"
	$(BIN)/python -m bench.grounding $(DATA)

bench-finetune: install ## Query vectors fitted on half of a set's documents, asked about the other half; DATA="DIR …", LIMIT=300
	@$(BIN)/python -m bench.finetune $(if $(LIMIT),--limit $(LIMIT)) $(DATA)

bench-lexicon: install ## Terms found in documents, searches with a published lexicon; DATA="FILE|DIR …", LIMIT=300
	$(BIN)/python -m bench.lexicon --limit $(or $(LIMIT),300) $(DATA)

bench-model-training: install ## The training of a whole model on half of a set; DATA=DIR OTHER=DIR, ARGS="--pairs 200 --tokens 128"
	@$(BIN)/python -m bench.finetune.whole $(DATA) $(OTHER) $(ARGS)

bench-switch: install ## Another embedding model while people ask; DATA="DIR …", SIZE=20000
	$(BIN)/python -m bench.switch --size $(or $(SIZE),20000) $(DATA)

bench-set-models: install ## An embedding model of a set, together with the site's and alone; DATA="DIR …", MODEL=FOLDER, LIMIT=300
	$(BIN)/python -m bench.set_models $(if $(MODEL),--model $(MODEL)) --limit $(or $(LIMIT),300) $(DATA)

bench-sentences: install ## What vectors of sentences cost, with EMBEDDER=embedded_e5; DATA="DIR …", LIMIT=200
	$(BIN)/python -m bench.sentences --limit $(or $(LIMIT),200) $(DATA)

bench-code: install ## Functions found by what their docstrings say, and by their names, with EMBEDDER=embedded_e5; DATA=FOLDER of Python files, QUESTIONS=300, MODULES=200
	$(BIN)/python -m bench.code $(if $(MODULES),--modules $(MODULES)) --questions $(or $(QUESTIONS),300) $(DATA)

bench-travel: install ## A set of N=2000 made-up documents exported and imported in a second tenant, and the same QUESTIONS=100
	$(BIN)/python -m bench.travel --documents $(or $(N),2000) --questions $(or $(QUESTIONS),100)

bench-use: install ## What ranking from use changes, with simulated people; DATA="DIR …", LIMIT=200
	$(BIN)/python -m bench.use --limit $(or $(LIMIT),200) $(DATA)

bench-modes: install ## The modes of an answer beside each other; DATA="DIR …", LIMIT=100
	$(BIN)/python -m bench.modes $(if $(LIMIT),--limit $(LIMIT)) $(DATA)

bench-calibration: install ## Whether the confidence of answers is the share of right ones; DATA="DIR …", LIMIT=60, ROWS=FILE for every answer
	$(BIN)/python -m bench.confidence $(if $(LIMIT),--limit $(LIMIT)) $(if $(ROWS),--rows $(ROWS)) $(DATA)

bench-diagnosis: install-dev ## Failures planted one stage at a time, and whether the diagnosis names them; DATA="DIR …"
	$(BIN)/python -m bench.diagnosis $(DATA)

bench-nightly: install-dev ## Time of the nightly diagnosis, and how much it slows the chat meanwhile; DATA=DIR
	$(BIN)/python -m bench.diagnosis.nightly $(DATA)

bench-judge: install-dev ## The judge without a model beside people; DATA=DIR, FAITHFUL=DIR, GROUNDED=DIR and FACTS=DIR for more sets
	$(BIN)/python -m bench.judge $(DATA) $(if $(FAITHFUL),--faithful $(FAITHFUL)) $(if $(GROUNDED),--grounded $(GROUNDED)) $(if $(FACTS),--facts $(FACTS))

bench-failures: install-dev ## Wrong answers that people have labelled, and whether the diagnosis agrees; DATA="DIR …", SHOW=1 for cases
	$(BIN)/python -m bench.failures compare $(if $(SHOW),--show) $(DATA)

bench-triples: install ## Triples for questions with and without re-scoring, and kinds of questions; DATA=DIR
	@$(BIN)/python -m bench.triples $(DATA)

bench-paths: install ## First answers of questions over two and three facts; DATA=DIR
	@$(BIN)/python -m bench.triples.paths $(DATA)

bench-facts: install ## Facts that the rules read in documents beside verdicts of people; DATA="DIR …", WHAT=sample draws them, COUNT=200
	@$(BIN)/python -m bench.triples.judging $(or $(WHAT),score) --count $(or $(COUNT),200) $(DATA)

bench-graph: install ## Hybrid search with and without the graph of entities; DATA="DIR …", LIMIT=300, GRAPH=auto
	@$(BIN)/python -m bench.graph --limit $(or $(LIMIT),300) --graph $(or $(GRAPH),on) $(DATA)

bench-latency: install ## Time to the first word of a running product; URL=http://127.0.0.1:8000 KEY=…
	$(BIN)/python -m bench.latency --url $(or $(URL),http://127.0.0.1:8000) --key $(KEY)

bench-cost: install ## Processor time of a question; a running product, or several to compare: URL="…" KEY="…" KINDS="retrieve answer first-word" DATA="DIR …"
	$(BIN)/python -m bench.question_cost --url $(or $(URL),http://127.0.0.1:8000) --key $(KEY) $(if $(KINDS),--kinds $(KINDS)) -- $(DATA)

bench-cache: install-dev ## What an answer from the cache costs: DATA_DIR of a running product, HITS=300, QUESTION="…"
	DJANGO_SETTINGS_MODULE=ragsite.settings $(BIN)/python -m bench.cache_hit --hits $(or $(HITS),300) $(if $(QUESTION),--question "$(QUESTION)")

snapshot-answers: install ## Record the answers of a running product, compare with AGAINST=FILE; URL=… KEY=… FILE=…
	$(BIN)/python -m bench.answer_snapshot --url $(or $(URL),http://127.0.0.1:8000) --key $(KEY) --file $(FILE) $(if $(AGAINST),--against $(AGAINST))

code-figures: ## Sizes of modules and functions, packages that import each other; FOLDER=… of another checkout
	$(BIN)/python -m bench.code_figures $(FOLDER)

lint: lint-style lint-types ## Style, types and layers, without running anything

lint-style: install-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

lint-types: export SECRET_KEY = not a secret: mypy imports the settings
lint-types: install-dev
	$(BIN)/mypy .

lint-security: $(AUDIT_VENV)/.installed ## What bandit finds and nobody has answered
	@$(AUDIT_VENV)/bin/python scripts/check_bandit.py

audit: $(AUDIT_VENV)/.installed ## Known weaknesses of the pinned packages; says so where the service cannot be asked (SERVICE=osv)
	@$(AUDIT_VENV)/bin/python scripts/check_advisories.py $(if $(SERVICE),--vulnerability-service $(SERVICE))

sbom: $(AUDIT_VENV)/.installed install ## What is installed, as a CycloneDX list: FILE=sbom.json
	@$(AUDIT_VENV)/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --of JSON \
		-o $(or $(FILE),sbom.json) $(BIN)/python && echo "$(or $(FILE),sbom.json)"

pin-images: ## Digests of the container images, as your registry has them now, into docker/.env (FILE); needs docker
	@$(PYTHON) scripts/pin_images.py $(FILE)

install: $(VENV)/.runtime ## Install or update what running needs, into .venv

install-dev: $(VENV)/.development ## Install or update what testing needs, too

llama: install ## llama.cpp for LLM_FILE, where no llama-server is on the PATH: compiled once, some minutes
	@scripts/ensure_llama.sh $(BIN)/python

browser: ## Chromium and a Chinese font for the browser tests, nginx for the test of its configuration
	@scripts/ensure_chromium.sh
	@scripts/ensure_nginx.sh

clients: $(CLIENTS_VENV)/.installed ## LangChain and LlamaIndex for the tests of other programs, in an environment of their own

$(CLIENTS_VENV)/.installed: tests/chat/clients/requirements.txt
	$(PYTHON) -m venv $(CLIENTS_VENV)
	$(CLIENTS_VENV)/bin/python $(INSTALL) -r $<
	@touch $@

directory: install-dev ## OpenLDAP and the extra `ldap` for the tests of signing in with a directory
	@scripts/ensure_ldap.sh $(BIN)/python

lock: install-dev $(AUDIT_VENV)/.installed ## Write the lock files from what is installed in .venv and .venv-audit
	$(BIN)/python scripts/lock.py
	$(AUDIT_VENV)/bin/python scripts/lock.py audit
	@if [ -d .ldap-packages ]; then PYTHONPATH=.ldap-packages $(BIN)/python scripts/lock.py ldap; fi
	@if $(BIN)/python -c 'import importlib.util as u, sys; sys.exit(u.find_spec("llama_cpp") is None)'; then $(BIN)/python scripts/lock.py llama; fi

clean: ## Remove caches; data (var) and .venv stay
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis staticfiles
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -not -path './$(PEERS_VENV)/*' -not -path './$(AUDIT_VENV)/*' -not -path './$(CLIENTS_VENV)/*' -prune -exec rm -rf {} +

$(VENV)/.created:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or 3.12 is needed; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' || \
		{ echo "$(PYTHON) is not Python 3.11 or 3.12; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@touch $@

$(VENV)/.runtime: requirements.lock requirements-torch.lock $(VENV)/.created
	@echo "Installing into $(VENV); the first time takes a few minutes …"
	@$(BIN)/python $(LOCKED) -r requirements.lock
	@$(BIN)/python $(INSTALL) -r requirements-torch.lock
	@touch $@

$(VENV)/.development: requirements-dev.lock $(VENV)/.runtime
	@$(BIN)/python $(LOCKED) -r requirements-dev.lock
	@touch $@

$(AUDIT_VENV)/.installed: requirements-audit.lock $(VENV)/.created
	@$(PYTHON) -m venv $(AUDIT_VENV)
	@$(AUDIT_VENV)/bin/python $(LOCKED) -r requirements-audit.lock
	@touch $@

# What a person types. Each target does all of its own set-up; `make help` lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MEMBERS := -e plugins/api -e plugins/nodefit -e plugins/deviceshare -e .
MANIFESTS := pyproject.toml constraints.txt $(wildcard plugins/*/pyproject.toml)
INSTALL = $(BIN)/uv pip install --quiet --constraint constraints.txt $(MEMBERS) --group dev

.DEFAULT_GOAL := help
SEED ?= 0
FILE ?=

.PHONY: help environment controlplane demo demo-articles test format lint types contracts tests tests-3.13 first-pod \
	contract virtual-hour recorded oracle diff-kube-scheduler diff-kube-scheduler-real mutants device-long device-races \
	two-schedulers failover soak bench bench-cycle constraints clean

help: ## this list
	@sed -n 's/^\([a-z0-9.-]*\):.*## /\1	/p' $(MAKEFILE_LIST) | expand -t 16

environment: $(VENV)/.installed ## .venv with everything that is developed here

$(VENV)/.installed: $(MANIFESTS)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --constraint constraints.txt uv
	@$(INSTALL) --python $(BIN)/python
	@touch $@

controlplane: ## etcd, kube-apiserver and friends, built once into a cache folder
	@$(PYTHON) tests/controlplane/build.py

demo: environment ## the main job without Kubernetes: cards filling up, and why the last pod waits; SEED=7 changes it
	@$(BIN)/koordpy demo --seed $(SEED) $(ARGS)

demo-articles: environment ## how many cards the articles' services take, counted beside what the articles say
	@$(BIN)/koordpy demo articles --seed $(SEED) $(ARGS)

test: ## everything that has to hold: format, lint, types, contracts, tests on two Pythons
	@.ci/stages environment controlplane oracle lint types contracts tests tests-3.13

format: environment ## rewrite the code in the house's format
	@$(BIN)/ruff format --quiet
	@$(BIN)/ruff check --fix --quiet

lint: environment
	@$(BIN)/ruff format --check
	@$(BIN)/ruff check

types: environment
	@$(BIN)/mypy

contracts: environment
	@$(BIN)/lint-imports

tests: environment ## the tests, on the Python of .venv
	@$(BIN)/pytest $(ARGS)

tests-3.13: environment
	@.ci/on-python 3.13 $(MEMBERS) --group dev

first-pod: environment controlplane ## half a card on a real API server: what happens, printed
	@$(BIN)/pytest -q -s tests/real/test_first_pod.py $(ARGS)

contract: environment controlplane ## what an API server must do, on three of them: the table of docs/contract.md
	@$(BIN)/pytest -q -s tests/cluster/contract $(ARGS)

virtual-hour: environment ## 500 nodes and 5,000 pods for an hour of virtual time, twice: equal reports
	@$(BIN)/python -m tests.perf.hour $(ARGS)

recorded: environment ## the parity tests on a whole recording: FILE=….jsonl.gz; without one, on the kept sample
	@$(BIN)/pytest -q tests/parity $(if $(FILE),--recorded $(FILE)) $(ARGS)

oracle: ## kube-scheduler's own plugins as a program to ask, built once into the same cache folder
	@$(PYTHON) tests/controlplane/build.py --oracle

diff-kube-scheduler: environment oracle ## koordpy against upstream's plugins on random clusters; ARGS="--cases 500 --seed 7"
	@$(BIN)/python -m tests.differential $(ARGS)

diff-kube-scheduler-real: environment controlplane ## 100 random clusters on a real API server, with the kube-scheduler binary
	@$(BIN)/python -m tests.differential.real $(ARGS)

mutants: environment ## seeded bugs in DeviceShare, and which test finds each
	@$(BIN)/python -m tests.mutants

device-long: environment ## thousands of random lives of Devices and pods; prints what share of them saw what
	@LONG_EXAMPLES=$${LONG_EXAMPLES:-2000} $(BIN)/pytest -q -s plugins/deviceshare/tests/test_device_events.py -k long_run $(ARGS)

device-races: environment controlplane ## 16 half-card pods at once, and kills at every step of a bind, on a real API server
	@RACE_RUNS=$${RACE_RUNS:-50} RACE_KILLS=$${RACE_KILLS:-60} $(BIN)/pytest -q -s tests/real/test_device_races.py $(ARGS)

two-schedulers: environment controlplane ## koordpy and kube-scheduler on one cluster, 1,000 Pods each: with room, then at 95 %
	@TWO_PODS=1000 $(BIN)/pytest -q -s tests/real/test_two_schedulers.py $(ARGS)

failover: environment controlplane ## replicas on a real API server: 10 kills and 5 stops under load, plugins that hang
	@FAILOVER_KILLS=10 FAILOVER_STOPS=5 $(BIN)/pytest -q -s tests/real/test_failover.py $(ARGS)

soak: environment ## ten minutes of arrivals, deletions, changes and faults: books right, memory flat; ARGS="--seed 7"
	@$(BIN)/python -m tests.soak $(ARGS)

bench: environment controlplane ## koordpy, kube-scheduler and a mere writer in turn, under an hour; makes docs/performance.md
	@$(BIN)/python -m tests.perf.bench $(ARGS)

bench-cycle: environment ## the cycle by itself at 500, 5,000 and 15,000 nodes; into docs/performance.md, too
	@$(BIN)/python -m tests.perf.cycle $(ARGS)

constraints: environment ## pin what the newest versions of all dependencies are
	@$(BIN)/uv pip compile --quiet --universal --upgrade --python-version 3.11 --no-header --no-annotate \
		--no-emit-index-url --no-emit-package koordpy-api --no-emit-package koordpy-nodefit \
		--no-emit-package koordpy-deviceshare --no-emit-package koordpy \
		pyproject.toml plugins/*/pyproject.toml --group dev --output-file constraints.txt

clean: ## everything that make made here; the control plane's cache stays
	@rm -rf $(VENV) $(VENV)-3.13 dist build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

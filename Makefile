# One file a stamp: a target runs again only if what it is made from has changed.

VENV := .venv
PYTHON := $(VENV)/bin/python
STAMP := $(VENV)/.installed
TEST_STAMP := $(VENV)/.installed-tests
PROTOS := axnb/ax/proto

# Modules are compiled once, and not by each of the many processes that tests and drills start.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo lab test test-all browser check bench findings protos requirements clean

demo: $(STAMP)  ## Triage the sample log, run its notebook, leave a result folder
	$(VENV)/bin/axnb demo

lab: $(TEST_STAMP)  ## Open the first notebook in JupyterLab
	$(VENV)/bin/jupyter lab notebooks/01_triage.ipynb

test: $(TEST_STAMP)  ## Unit tests and one real server each
	$(PYTHON) -m pytest -q -n auto --dist worksteal

test-all: $(TEST_STAMP)  ## All the rest: the slow tests, those in a browser among them
	$(PYTHON) -m pytest -q -n auto --dist loadgroup -m slow

browser:  ## Install the browser of the slow tests, where there is none
	.ci/install chromium

check: $(TEST_STAMP)  ## Lint, types, import arrows
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy --strict axnb
	$(PYTHON) -m pytest -q tests/test_house.py

bench: $(TEST_STAMP)  ## Load 1,000,000 events, beside the peers
	$(PYTHON) -m tests.benchmarks.run --events 1000000 --store both

findings: $(STAMP)  ## Write docs/findings.md after a change of a check's header
	$(PYTHON) -c "from axnb.checks.registry import catalogue; print(catalogue(), end='')" > docs/findings.md

protos: $(TEST_STAMP)  ## Compile the schemas after a change of a .proto file
	for g in g3 g4 g5 g6 g7 g8; do \
		$(PYTHON) -m grpc_tools.protoc -I $(PROTOS) -I $$($(PYTHON) -c "import grpc_tools, os; print(os.path.join(os.path.dirname(grpc_tools.__file__), '_proto'))") \
			--include_imports --descriptor_set_out=$(PROTOS)/$$g.pb $(PROTOS)/$$g.proto || exit 1; \
	done

requirements: $(TEST_STAMP)  ## Lock the versions after a change of pyproject.toml
	$(PYTHON) -m pip install --quiet uv
	$(VENV)/bin/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header \
		--python-version 3.11 --extra all --group test pyproject.toml --output-file requirements-test.txt
	# Users get what was tested.
	$(VENV)/bin/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header \
		--python-version 3.11 --constraint requirements-test.txt pyproject.toml --output-file requirements.txt

$(PYTHON):
	python3 -m venv $(VENV)

$(STAMP): $(PYTHON) requirements.txt pyproject.toml
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

$(TEST_STAMP): $(STAMP) requirements-test.txt
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-test.txt
	touch $@

clean:
	rm -rf $(VENV) axnb-demo

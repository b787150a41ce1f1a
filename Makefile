# Each target makes the environment it needs: Python 3.11+, make and pip are enough.
PYTHON ?= python3
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin
OLDEST := tests/estimator/test_estimator.py tests/estimator/test_model_file.py tests/solvers tests/audio \
	tests/unmixing tests/release tests/studio/test_flow.py tests/studio/test_guard.py tests/studio/test_files.py
YARDSTICKS := gaussian notes enhancement kl sklearn_tests install_sizes  # need packages or data of others
MEASURED := $(filter-out $(YARDSTICKS:%=benchmarks/%.py), $(wildcard benchmarks/[a-z]*.py))
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

.PHONY: help demo test test-all test-oldest lint format bench docs paper paper-quick dist clean

help:  ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.installed  ## Unmix the built-in example and write a page to listen to
	$(BIN)/phinmf demo --output out/demo

test: $(VENV)/.test  ## Run the tests that need nothing but Python, in three minutes
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile

# PyTorch is installed by hand, because the right build depends on the machine.
test-all: $(VENV)/.test-all  ## Run all tests, in 12 minutes; they need PyTorch, Chromium and chromedriver
	$(BIN)/python -c 'import torch'
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile -m '' --no-skip

test-oldest: $(VENV)-oldest/.test  ## Test with the oldest supported versions, except of Dask and PyTorch
	$(VENV)-oldest/bin/python -m pytest $(OLDEST)

lint: $(VENV)/.lint  ## Run the linters and the type checker
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.lint  ## Correct what the linter can correct by itself
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.test-all  ## Run all benchmarks and print the tables of the documentation (40 minutes)
	set -e; for script in $(MEASURED); do $(BIN)/python $$script; done
	$(BIN)/python docs/make_demo.py

paper: $(VENV)/.test-all $(VENV)/.music  ## Measure the figures and claims of the paper again (an hour at most)
	$(BIN)/python paper/reproduce.py

paper-quick: $(VENV)/.test-all  ## The same on small problems, written to out/paper
	$(BIN)/python paper/reproduce.py --quick

docs: $(VENV)/.docs  ## Build the documentation site: docs/_build/html/index.html
	rm -rf docs/reference/generated docs/examples
	$(BIN)/python -m sphinx -W --keep-going -b html -d docs/_build/doctrees docs docs/_build/html

dist: $(VENV)/.test-all  ## Build the wheel and the source archive in dist
	rm -rf dist
	$(BIN)/python -m build --outdir dist .

clean:  ## Remove the environments and all that was built
	rm -rf $(VENV) $(VENV)-oldest dist build out/demo out/paper docs/_build docs/examples docs/reference/generated

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "phinmf needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	touch $@

$(VENV)/.test: $(VENV)/.installed
	$(PIP) --editable '.[test]'
	touch $@

$(VENV)/.test-all: $(VENV)/.test
	$(PIP) --editable '.[test-all]'
	touch $@

$(VENV)-oldest/.test: $(VENV)/.installed .ci/oldest.txt
	test -x $(VENV)-oldest/bin/python || $(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip --disable-pip-version-check install --quiet --constraint .ci/oldest.txt --editable '.[test]'
	touch $@

# A game library whose wheel contains two pieces of music; without it, synthesised ones are used.
$(VENV)/.music: $(VENV)/.installed
	-$(PIP) --no-deps arcade
	touch $@

$(VENV)/.docs: $(VENV)/.installed
	$(PIP) --editable '.[docs]'
	touch $@

$(VENV)/.lint: $(VENV)/.installed
	$(PIP) --editable '.[lint]'
	touch $@

# Each target makes the environment it needs: Python 3.11+, make and pip are enough.
PYTHON ?= python3
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin
OLDEST := tests/estimator/test_estimator.py tests/estimator/test_model_file.py tests/solvers tests/audio \
	tests/unmixing tests/release tests/studio/test_flow.py tests/studio/test_guard.py tests/studio/test_uploads.py
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

.PHONY: help demo test test-slow test-gpu test-oldest lint format bench bench-stale history docs paper paper-quick dist clean

help:  ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.installed  ## Unmix the built-in example, score it, write a page to listen to
	$(BIN)/phinmf demo --output out/demo

test: $(VENV)/.test  ## Run the tests that take seconds, in JOBS=2 processes
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile

test-slow: $(VENV)/.test  ## Run the tests that take minutes
	$(BIN)/python -m pytest -m slow

test-gpu: $(VENV)/.test  ## Install PyTorch and run the tests that need a CUDA device
	$(PIP) --editable '.[gpu,dask]'
	$(BIN)/python -m pytest -m gpu tests/gpu

# The test tools of the oldest scikit-learn need that variable.
test-oldest: $(VENV)-oldest/.test  ## Test with the oldest supported versions, except of Dask and PyTorch
	SCIPY_ARRAY_API=1 $(VENV)-oldest/bin/python -m pytest $(OLDEST)

lint: $(VENV)/.lint  ## Run the linters and the type checker
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.lint  ## Correct what the linter can correct by itself
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.test  ## Run all benchmarks and write the tables of the documentation (hours)
	set -e; for script in benchmarks/[a-z]*.py; do $(BIN)/python $$script; done
	$(BIN)/python benchmarks/amounts.py table
	$(BIN)/python benchmarks/_report.py
	$(BIN)/python -m phinmf.report.demo --output docs/images --overwrite

bench-stale: $(VENV)/.test  ## List the results that are older than the code they measured
	$(BIN)/python benchmarks/_code.py
	$(BIN)/python benchmarks/_code.py --scripts

# RANGE is any range of git, such as v1.0.0..HEAD; results are kept in out/history.
RANGE ?= HEAD~3..HEAD
history: $(VENV)/.test  ## Time a few quick benchmarks on the last commits (RANGE=HEAD~3..HEAD)
	$(BIN)/asv machine --yes
	$(BIN)/asv run --quick --skip-existing-successful $(RANGE)
	$(BIN)/asv publish

paper: $(VENV)/.test $(VENV)/.music  ## Measure the figures and claims of the paper again (an hour)
	$(BIN)/python paper/reproduce.py

paper-quick: $(VENV)/.test  ## The same on small problems, written to out/paper
	$(BIN)/python paper/reproduce.py --quick

docs: $(VENV)/.docs  ## Build the documentation site: docs/_build/html/index.html
	rm -rf docs/reference/generated docs/examples
	$(BIN)/python -m sphinx -W --keep-going -b html -d docs/_build/doctrees docs docs/_build/html

dist: $(VENV)/.test  ## Build the wheel and the source archive in dist
	rm -rf dist
	$(BIN)/python -m build --outdir dist .

clean:  ## Remove the environments and all that was built
	rm -rf $(VENV) $(VENV)-oldest dist build out/demo out/paper out/history docs/_build docs/examples docs/reference/generated

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "phinmf needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	touch $@

$(VENV)/.test: $(VENV)/.installed
	$(PIP) --editable '.[test]'
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

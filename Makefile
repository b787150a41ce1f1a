# Each target makes the environment it needs: Python 3.11+, make and pip are enough.
PYTHON ?= python3
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

.PHONY: demo test test-slow test-gpu test-oldest lint format bench paper paper-quick dist clean

demo: $(VENV)/.installed
	$(BIN)/phinmf demo --output out/demo

test: $(VENV)/.test  # in two processes, a file at a time: half of the time
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile

test-slow: $(VENV)/.test
	$(BIN)/python -m pytest -m slow

test-gpu: $(VENV)/.test  # needs a CUDA device; the gpu extra installs PyTorch
	$(PIP) --editable '.[gpu,dask]'
	$(BIN)/python -m pytest -m gpu tests/gpu

test-oldest: $(VENV)-oldest/.test  # the estimator with the oldest supported scikit-learn, whose test tools need that variable
	SCIPY_ARRAY_API=1 $(VENV)-oldest/bin/python -m pytest tests/estimator/test_estimator.py tests/estimator/test_model_file.py

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.test
	set -e; for script in benchmarks/[a-z]*.py benchmarks/_report.py; do $(BIN)/python $$script; done
	$(BIN)/python -m phinmf.report.demo --output docs/images --overwrite

paper: $(VENV)/.test $(VENV)/.music
	$(BIN)/python paper/reproduce.py

paper-quick: $(VENV)/.test
	$(BIN)/python paper/reproduce.py --quick

.PHONY: docs
docs: $(VENV)/.docs  # the site: docs/_build/html/index.html
	$(BIN)/python -m sphinx -W --keep-going -b html -d docs/_build/doctrees docs docs/_build/html

dist: $(VENV)/.test
	rm -rf dist
	$(BIN)/python -m build --outdir dist .

clean:
	rm -rf $(VENV) $(VENV)-oldest dist build out

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "phinmf needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	touch $@

$(VENV)/.test: $(VENV)/.installed
	$(PIP) --editable '.[test]'
	touch $@

$(VENV)-oldest/.test: $(VENV)/.installed
	test -x $(VENV)-oldest/bin/python || $(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip --disable-pip-version-check install --quiet --editable '.[test]' 'scikit-learn==1.6.*' 'pytest<9'
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

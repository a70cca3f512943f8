# Everything happens in .venv, made here; PACKAGE may name a built distribution instead of this folder.
PYTHON ?= python3
VENV ?= .venv
PACKAGE ?= .
BIN := $(VENV)/bin

.PHONY: quickstart test smoke lint clean

quickstart: $(VENV)/installed
	$(BIN)/python -m spacy project run all projects/quickstart

# Tests of one file share most of their kernels: what one of them has compiled, the next one finds. The order of the
# files is that of tests/conftest.py.
test: $(VENV)/installed
	$(BIN)/pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder --durations 15

smoke: $(VENV)/installed
	$(BIN)/pip install --quiet "$(PACKAGE)[benchmarks]"
	$(BIN)/pytest -m slow tests/projects/test_benchmarks.py

lint: $(VENV)/installed
	$(BIN)/pip install --quiet "$(PACKAGE)[lint]"
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(VENV)/installed: pyproject.toml $(shell find spacy_ssvm -name '*.py')
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --force-reinstall --no-deps "$(PACKAGE)"
	$(BIN)/pip install --quiet "$(PACKAGE)[test]"
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info

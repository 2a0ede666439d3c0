# make demo       install safdr into .venv and run the example
# make test       run the tests; GROUP=test-all adds torch, databases, a browser and the peers
# make lint       ruff, clang-format, mypy, the stub of the core, the words of the pages
# make docs       build the site in build/site
# make fuzz       check random inputs for an hour; SECONDS=60 for a minute, SEED=1 for other inputs
# make sanitize   run the contracts of the core with the address and undefined-behaviour sanitizers
# make paper      the paper's table on small data in build/paper; `python -m experiments` for all
# make clean      remove .venv and build

PYTHON ?= python3
GROUP ?= test
SECONDS ?= 3600
SEED ?= 0
PY := .venv/bin/python
CPP := $(shell find src -name '*.?pp')
SOURCES := pyproject.toml CMakeLists.txt $(CPP) $(shell find src -name '*.py')
stub = $(PY) -m nanobind.stubgen -q -m safdr._core -o $(1) && .venv/bin/ruff format -q $(1)
# Tests and searches run side by side: one BLAS thread each.
export OPENBLAS_NUM_THREADS := 1

.PHONY: demo test lint docs fuzz sanitize paper stub clean

demo: .venv/demo
	@$(PY) examples/demo.py
	@echo 'Try next: .venv/bin/safdr select -o report.html'

test: .venv/$(GROUP)
	$(PY) -m pytest -n 2 --dist worksteal

lint: .venv/$(GROUP) .venv/lint
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/clang-format --dry-run -Werror $(CPP)
	$(call stub,build/_core.pyi)
	@diff src/safdr/_core.pyi build/_core.pyi || { echo 'The stub is out of date: run make stub.'; exit 1; }
	.venv/bin/mypy
	$(PY) docs/check_words.py

docs: .venv/docs
	$(PY) -m sphinx -q -W --keep-going -b html -d build/doctrees docs build/site

fuzz: .venv/test
	$(PY) -m fuzz --seconds $(SECONDS) --seed $(SEED)

sanitize: .venv/$(GROUP)
	.ci/sanitize

paper: .venv/experiments
	$(PY) -m experiments small --out build/paper

stub: .venv/lint
	$(call stub,src/safdr/_core.pyi)

clean:
	rm -rf .venv build

.venv/bin/pip:
	@$(PYTHON) -m venv .venv
	@$(PY) -m pip install -q --upgrade pip

.venv/demo: .venv/bin/pip $(SOURCES)
	@echo 'Building the core and installing safdr: up to five minutes the first time …'
	@$(PY) -m pip install -q --group build
	@$(PY) -m pip install -q --no-build-isolation -e '.[cli,report]' -C build-dir=build/core
	@touch $@

.venv/%: pyproject.toml | .venv/demo
	$(PY) -m pip install -q --group $*
	@touch $@

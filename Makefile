# make demo          install into .venv, choose features on the breast-cancer data, print them
# make paper         the paper's table in small: few repeats, the data sets that are there, to build/paper
# make test          install for development into .venv, run the tests
# make lint          ruff, clang-format, the stub of the core, and mypy
# make stub          the signatures of the core, from what is compiled, to src/safdr/_core.pyi
# make sanitize      the kernel tests on a core built with AddressSanitizer and UndefinedBehaviorSanitizer
# make fuzz          random inputs for an hour, each checked by something slower (SECONDS=60 for a minute)
# make hunt          5 000 problems of penalised fits, certified in extended precision
# make bench         side-by-side timings, to benchmarks/results
# make kernel-count  instructions of the core for a fixed job, against the count kept
# make kernel-renew  keep the count of today
# make docs          the site, to build/site
# make release       sdist and wheel, to build/dist; both tried in an empty environment, without a compiler
# make oldest        the tests with the oldest versions that pyproject.toml allows; make newest: the newest
# make clean         remove .venv and build

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
CPP := $(wildcard src/safdr/_core/*.?pp src/safdr/_core/*/*.?pp)
STUB := src/safdr/_core.pyi
make-stub = $(PY) -m nanobind.stubgen -q -m safdr._core -o $(1) && $(VENV)/bin/ruff format -q $(1)
CORE := CMakeLists.txt pyproject.toml $(CPP)
KERNEL_TESTS := tests/engine/annealing tests/contracts/test_fits.py tests/engine/proof
# What the site makes of scripts and docstrings, beside its pages.
SITE := docs/site/api docs/site/gallery docs/site/generated
SECONDS ?= 3600
REPEATS ?= 3
SEED ?= 0

.PHONY: demo paper test lint stub sanitize fuzz hunt bench kernel-count kernel-renew docs release oldest newest clean

demo:
	@test -e $(VENV)/dev || $(MAKE) --no-print-directory $(VENV)/user
	@echo 'Searching …'
	@$(PY) examples/demo.py

# REPEATS=20 for the paper's number; the rows that are there stay.
paper:
	@test -e $(VENV)/dev || $(MAKE) --no-print-directory $(VENV)/experiments
	$(PY) -m experiments run --data small --repeats $(REPEATS) --out build/paper
	$(PY) -m experiments table --out build/paper

# Two processes leave BLAS one core each. Each starts with half of the files, so that what tests of a
# file share is rarely made twice; the one that is done first takes tests over from the other.
# Compiled Python is kept, even where the environment forbids it: tests start a dozen processes.
test: $(VENV)/dev
	PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 $(PY) -m pytest -n 2 --dist worksteal

lint: $(VENV)/dev
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/clang-format --dry-run -Werror $(CPP)
	$(call make-stub,build/_core.pyi)
	@diff $(STUB) build/_core.pyi || { echo 'The stub of the core is out of date: run make stub.'; exit 1; }
	$(VENV)/bin/mypy

stub: $(VENV)/dev
	$(call make-stub,$(STUB))

# Python itself is not sanitized, so the runtimes are loaded first, and what it still holds at exit is
# no leak. An empty environment that finds all packages by PYTHONPATH takes the sanitized core, since
# the editable install is not active there.
sanitize: $(VENV)/dev
	$(PY) -m pip install -q --no-build-isolation --no-deps --upgrade --target build/sanitized . \
	    -C cmake.define.SAFDR_SANITIZE=ON -C build-dir=build/sanitize
	$(PY) -m venv --clear --without-pip build/sanitize-venv
	LD_PRELOAD="$$($${CXX:-g++} -print-file-name=libasan.so) $$($${CXX:-g++} -print-file-name=libubsan.so)" \
	    ASAN_OPTIONS=detect_leaks=0 PYTHONPATH="$(CURDIR)/build/sanitized:$$($(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
	    build/sanitize-venv/bin/python -m pytest -n 2 $(KERNEL_TESTS)

# Other seeds with SEED=1000000, say.
fuzz: $(VENV)/dev
	$(PY) -m fuzz --seconds $(SECONDS) --seed $(SEED)

# Each case fits up to two dozen models twice.
hunt: $(VENV)/dev
	$(PY) -m fuzz fits --cases 5000 --seconds 14400 --seed $(SEED)

bench: $(VENV)/dev
	$(PY) -m benchmarks

kernel-count: $(VENV)/dev
	$(PY) -m benchmarks kernel

kernel-renew: $(VENV)/dev
	$(PY) -m benchmarks kernel --renew

# What stays of an earlier site is not built anew: the gallery runs what has changed.
docs: $(VENV)/docs
	OPENBLAS_NUM_THREADS=1 $(PY) -m sphinx -q -W --keep-going -b html -d build/doctrees -c docs . build/site
	$(PY) docs/check_site.py build/site

# The wheel is built from the sdist. The tests are the sdist's, away from the repository.
release:
	rm -rf build/dist build/release
	$(PYTHON) -m venv build/release
	build/release/bin/python -m pip install -q --upgrade pip build
	build/release/bin/python -m build --outdir build/dist .
	CC=false CXX=false build/release/bin/pip install -q --only-binary :all: --group test --group experiments \
	    "$$(echo build/dist/*.whl)[all]" mypy
	tar -xzf build/dist/*.tar.gz -C build/release
	cd build/release/safdr-* && rm -r src && ../bin/mypy --strict --config-file= tests/typed_use.py && \
	    OPENBLAS_NUM_THREADS=1 ../bin/python -m pytest -n 2 --dist worksteal tests
	ls -l build/dist
	@test -z "$$(find build/dist -name '*.whl' -size +3000k)" || { echo 'The wheel is larger than 3 MB.'; exit 1; }

# The experiments, which are no part of the package, ask for newer ones.
oldest:
	$(PYTHON) -m venv --clear build/oldest
	$(PYTHON) .ci/floors.py > build/oldest/floors.txt
	build/oldest/bin/python -m pip install -q --upgrade pip
	build/oldest/bin/pip install -q --group test '.[all,dask]' -c build/oldest/floors.txt
	OPENBLAS_NUM_THREADS=1 build/oldest/bin/python -m pytest -n 2 --dist worksteal -W ignore::DeprecationWarning tests \
	    --ignore tests/experiments --ignore tests/fuzz --ignore tests/test_benchmarks.py

newest:
	$(PYTHON) -m venv --clear build/newest
	build/newest/bin/python -m pip install -q --upgrade pip
	build/newest/bin/pip install -q --upgrade --group test --group experiments '.[all,dask]'
	OPENBLAS_NUM_THREADS=1 build/newest/bin/python -m pytest -n 2 --dist worksteal tests

clean:
	rm -rf $(VENV) build $(SITE)

$(VENV)/bin/python:
	@echo 'Making an environment in $(VENV) …'
	@$(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install -q --upgrade pip

$(VENV)/user: $(VENV)/bin/python $(CORE) $(wildcard src/safdr/*.py src/safdr/*/*.py)
	@echo 'Building the core and installing safdr into $(VENV): a minute or three, the first time …'
	@$(PY) -m pip install -q .
	@touch $@

$(VENV)/experiments: $(VENV)/user
	$(PY) -m pip install -q --group experiments
	@touch $@

$(VENV)/docs: $(VENV)/dev
	$(PY) -m pip install -q --group docs
	@touch $@

$(VENV)/dev: $(VENV)/bin/python $(CORE)
	$(PY) -m pip install -q --group dev
	$(PY) -m pip install -q --no-build-isolation -e '.[all]' -C build-dir=build/dev
	@touch $@

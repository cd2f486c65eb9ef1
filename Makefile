# Needs Python 3.11 or newer and make; everything else is installed into .venv.
#   make demo   sets up everything and runs a tsunami in a bay      make test   all checks that CI runs

VENV := .venv
BIN := $(VENV)/bin
PLAIN := $(VENV)/.plain
READY := $(VENV)/.ready
LOWEST := build/lowest

# A Python that is new enough and can make environments (Debian keeps ensurepip in python3-venv).
FIND_PYTHON := for p in python3.11 python3.12 python3.13 python3.14 python3 python; do \
	$$p -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done
PYTHON ?= $(shell $(FIND_PYTHON))

# A machine with an NVIDIA driver gets the GPU libraries as well.
comma := ,
CUDA := $(if $(shell command -v nvidia-smi 2>/dev/null),cuda)
EXTRAS ?= dev,docs,sim$(if $(CUDA),$(comma)$(CUDA))
LOWEST_EXTRAS := zarr vector spectra video

DEMO := examples/demo
PYTEST := $(BIN)/python -m pytest
PARALLEL := -n 2 --dist worksteal

# Two test processes with two threads each on two cores: a waiting thread must sleep, not spin.
export OMP_WAIT_POLICY ?= passive
export MPLBACKEND ?= agg

.PHONY: help setup demo test test-jit test-nojit test-simulator test-slow test-gpu test-browser test-lowest lint bench validate reference record constraints docs gallery clean
.NOTPARALLEL:

help:
	@echo "make demo        run the tsunami of $(DEMO) and draw it"
	@echo "make test        lint and every test that needs neither a GPU nor minutes"
	@echo "make test-slow   the tests that take minutes"
	@echo "make test-gpu    the tests that need an NVIDIA GPU"
	@echo "make test-browser the documentation in Chromium"
	@echo "make test-lowest the lowest versions that pyproject.toml allows, in an environment of their own"
	@echo "make lint        ruff, pyright, import-linter, sizes, vocabulary"
	@echo "make docs        build the documentation site in build/docs"
	@echo "make gallery     run the examples and store their pictures"
	@echo "make bench       measure the speed on this machine"
	@echo "make validate    compare with exact solutions and measurements"
	@echo "make record      rewrite the pinned states of tests/regression and print the set-ups that changed"
	@echo "make setup       only install into $(VENV)"

setup: $(READY)

# The package alone, for users; $(READY) adds what developers need.
$(PLAIN): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "error: no Python >= 3.11 with venv found"; \
		echo "write: make PYTHON=/path/to/python3.11   (Debian, Ubuntu: apt install python3-venv)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@echo "installing Eagre with the versions of constraints.txt into $(VENV)"
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check -c constraints.txt -e '.$(if $(CUDA),[$(CUDA)])'
	@touch $@

$(READY): $(PLAIN)
	@echo "installing Eagre and its extras $(EXTRAS) with the versions of constraints.txt into $(VENV)"
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check -c constraints.txt -e '.[$(EXTRAS)]'
	@touch $@

demo: $(PLAIN)
	$(BIN)/eagre run $(DEMO)/case.toml
	$(BIN)/eagre plot $(DEMO)/output/bay.nc --variable surface_elevation --time "14 min"
	$(BIN)/eagre plot $(DEMO)/output/gauges.csv
	$(BIN)/eagre plot $(DEMO)/output/maps.nc --variable max_depth
	$(BIN)/eagre plot $(DEMO)/output/maps.nc --variable arrival_time_rise_100mm --output $(DEMO)/output/arrival.png
	$(BIN)/eagre export $(DEMO)/output/maps.nc --variable max_depth --variable arrival_time_rise_100mm --overwrite
	$(BIN)/eagre animate $(DEMO)/output/bay.nc --variable surface_elevation

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check src tests tools examples benchmarks
	$(BIN)/python tools/check_sizes.py src tools examples
	$(BIN)/python tools/check_vocabulary.py
	$(BIN)/lint-imports
	$(BIN)/pyright

test: lint docs test-jit test-nojit test-simulator test-lowest

test-jit: $(READY)
	$(PYTEST) $(PARALLEL) -m "not slow and not gpu and not simulator and not browser"

test-nojit: $(READY)
	NUMBA_DISABLE_JIT=1 $(PYTEST) $(PARALLEL) -m "nojit and not slow and not gpu and not simulator and not browser"

# The CPU that kernels are compared with is plain Python here: compiling it would take 16 of 20 minutes.
test-simulator: $(READY)
	NUMBA_DISABLE_JIT=1 $(PYTEST) $(PARALLEL) -m "simulator and not slow"

test-slow: $(READY)
	$(PYTEST) $(PARALLEL) -m "slow and not gpu and not simulator and not browser"

# The lower bounds of pyproject.toml are true: a case with all outputs runs with exactly these versions.
test-lowest:
	rm -rf $(LOWEST)
	$(PYTHON) -m venv $(LOWEST)
	$(PYTHON) tools/lowest_versions.py $(LOWEST_EXTRAS) > $(LOWEST)/versions.txt
	$(LOWEST)/bin/python -m pip install --quiet --quiet --disable-pip-version-check -c $(LOWEST)/versions.txt \
		'.[$(subst $() ,$(comma),$(LOWEST_EXTRAS))]'
	cd $(LOWEST) && EAGRE_CACHE=$(CURDIR)/$(LOWEST)/cache bin/python ../../tools/smoke_run.py smoke

# The built site in Debian's Chromium: apt install chromium
test-browser: docs
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check -c constraints.txt -e '.[browser]'
	$(PYTEST) -m browser tests/site

test-gpu: $(READY)
	$(PYTEST) -m gpu

bench: $(READY)
	$(BIN)/eagre bench

validate: $(READY)
	$(BIN)/eagre validate

docs: $(READY)
	rm -rf docs/reference/api
	$(BIN)/python -m sphinx -W --keep-going -q -E -b html docs build/docs

gallery: $(READY)
	$(BIN)/python tools/make_gallery.py

# Write what docs/reference has from the source; a test fails while a page is stale.
reference: $(READY)
	$(BIN)/python tools/make_reference.py

# Rewrite the pinned states and launch shapes of tests/regression after an intended change of results.
record: $(READY)
	PYTHONPATH=tests $(BIN)/python tools/launch_record.py pin

# Pin anew what CI installs: everything that a fresh environment gets from pyproject.toml today.
constraints:
	rm -rf build/pins
	$(PYTHON) -m venv build/pins
	build/pins/bin/python -m pip install --quiet --disable-pip-version-check '.[dev,docs,sim]'
	{ echo "# What CI installs. Made by 'make constraints'; Python 3.11 and newer."; \
		build/pins/bin/python -m pip freeze --exclude eagre | grep '=='; } > constraints.txt
	rm -rf build/pins

clean:
	rm -rf $(VENV) build dist $(DEMO)/output .pytest_cache .ruff_cache .import_linter_cache

# Every target does its own set-up in .venv; the machine needs Python 3.11 or newer, pip and make.
# Another one is chosen by `make test PYTHON=python3.13`, on the path, under pyenv, or as a path.
# Some tests also need Chromium and its driver, or PostgreSQL, and are skipped where there are none.
PYTHON ?= python3
BIN := .venv/bin

# Where it is set, every process would compile all sources, and pytest all tests, again.
unexport PYTHONDONTWRITEBYTECODE

version_of = $(shell $(1) -c 'import sys; print(sys.version.split()[0])' 2>/dev/null)
places := $(PYTHON) $(wildcard $(HOME)/.pyenv/versions/*/bin/$(PYTHON))
interpreter := $(firstword $(foreach place,$(places),$(if $(call version_of,$(place)),$(place))) $(PYTHON))

.PHONY: demo test test-processes test-benchmarks test-versions faults lint kernels docs dist bench performance streams picture clean

ifneq ($(call version_of,$(BIN)/python),$(call version_of,$(interpreter)))
.PHONY: .venv/bin/python  # it is of another Python, and made again
endif

demo: .venv/.installed  ## learn Spambase online, watch the error fall, and write a report
	$(BIN)/vvm learn spambase --model spambase.vvm --report spambase.html
	@echo "Written: spambase.vvm, and spambase.html for your browser"

test: .venv/.developing  ## run every check, and all tests but those of test-processes
	$(MAKE) --no-print-directory -j 2 lint kernels
	$(BIN)/python -m pytest -n 2 --dist worksteal -q -m "not processes"

test-processes: .venv/.developing kernels  ## the tests that take processes of their own
	$(BIN)/python -m pytest -n 2 --dist worksteal -q -m "processes and not long"

test-benchmarks: .venv/.developing kernels  ## the benchmarks on pages that take long even on little
	$(BIN)/python -m pytest -n 2 --dist worksteal -q -m long tests/documents

test-versions: .venv/.developing  ## the wheel on every Python here, newest and oldest dependencies
	$(BIN)/python .ci/versions.py

faults: .venv/.developing  ## forged models, lying files, kills and full disks, for ten minutes
	$(BIN)/python benchmarks/faults --seconds 600

lint: .venv/.developing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

kernels: .venv/.developing  # compiled once, beside the checks, and not by both processes that test
	$(BIN)/vvm learn ionosphere --quiet
	$(BIN)/python -m tests.compile_engine

docs: .venv/.documenting  ## the site: build/docs/index.html
	$(BIN)/sphinx-build -W -q -b html -d build/doctrees docs build/docs
	$(BIN)/python .ci/site.py build/docs

dist: .venv/.releasing  ## wheel and sdist in build/dist, with what they should have
	rm -rf build/dist
	$(BIN)/python -m build --outdir build/dist >/dev/null
	$(BIN)/twine check --strict build/dist/*
	$(BIN)/python .ci/release.py build/dist

bench: .venv-bench/.installed  ## microseconds per row, beside the limit and other packages
	.venv-bench/bin/python benchmarks/bench.py --json build/speed/speed.json --pictures build/speed

performance: bench  ## docs/speed.md, from such a run
	mkdir -p docs/speed
	cp build/speed/speed.json build/speed/*.png docs/speed
	.venv-bench/bin/python benchmarks/bench.py --page docs/speed/speed.json

streams: .venv-bench/.installed  ## AutoVVM and baselines on many streams; half an hour at first
	.venv-bench/bin/python benchmarks/online.py --cache .venv-bench/predictions

picture: .venv/.developing  ## the picture in the README
	$(BIN)/python examples/picture.py docs/images/learning.png

clean:
	rm -rf .venv .venv-bench build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf docs/gallery docs/api/generated
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	$(interpreter) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --upgrade pip

.venv/.installed: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

.venv/.developing: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@ .venv/.installed

.venv/.documenting: .venv/.developing
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	touch $@

.venv/.releasing: .venv/.developing
	$(BIN)/python -m pip install --quiet --editable ".[release]"
	touch $@

.venv-bench/.installed: pyproject.toml
	$(interpreter) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --editable ".[bench]"
	touch $@

# Every target does its own set-up in .venv; the machine needs Python 3.11 or newer, pip and make.
# One test also needs Chromium and its driver, and is skipped where there are none.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint bench performance streams picture clean

demo: .venv/.installed  ## learn Spambase online, watch the error fall, and write a report
	$(BIN)/vvm learn spambase --model spambase.vvm --report spambase.html
	@echo "Written: spambase.vvm, and spambase.html for your browser"

test: lint  ## run every check and test
	$(BIN)/python -m pytest -n 2 --dist worksteal -q

lint: .venv/.developing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv-bench/.installed  ## microseconds per row, beside the limit and other packages
	.venv-bench/bin/python benchmarks/bench.py --json build/speed/speed.json --pictures build/speed

performance: bench  ## the README's section on speed, from such a run
	mkdir -p docs/speed
	cp build/speed/speed.json build/speed/*.png docs/speed
	.venv-bench/bin/python benchmarks/bench.py --readme docs/speed/speed.json

streams: .venv-bench/.installed  ## AutoVVM and its rivals on many streams; half an hour at first
	.venv-bench/bin/python benchmarks/online.py --cache .venv-bench/said

picture: .venv/.developing  ## the picture in the README
	$(BIN)/python examples/picture.py docs/images/learning.png

clean:
	rm -rf .venv .venv-bench build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip

.venv/.installed: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

.venv/.developing: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@ .venv/.installed

.venv-bench/.installed: pyproject.toml
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --editable ".[bench]"
	touch $@

# Each target makes its own virtual environment under .venv when it is missing or out of date.
PYTHON ?= python3
BIN := .venv/bin
# By the environment, so that the versions hold for building the package too.
INSTALL := PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test test-benchmarks check lint fuzz bench docs pictures release clean

demo: .venv/.demo
	$(BIN)/python examples/heart.py
	@echo
	$(BIN)/python examples/thrifty.py
	@echo
	$(BIN)/thriftwood demo --output demo --force

test: .venv/.dev .venv/.browser
	$(BIN)/python -m pytest -n auto -m "not benchmark"

# That every benchmark runs, each in small.
test-benchmarks: .venv/.dev
	$(BIN)/python -m pytest -n auto -m benchmark

# The daily loop: without browsers, clusters and documents, and with few drawn examples a law.
check: lint
	$(BIN)/python -m pytest -n auto -m "not slow"

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Random forests against every pruning, damaged files, interrupts and kills; findings in fuzz/found.
# GOALS=1 attacks until there is enough for a release, however long that takes; RESUME=1 goes on with
# the last run.
MINUTES ?= 30
JOBS ?= 2
fuzz: .venv/.dev
	$(BIN)/python -m fuzz --jobs $(JOBS) $(if $(GOALS),--goals,--minutes $(MINUTES)) $(if $(RESUME),--resume)

bench: .venv/.dev
	$(BIN)/python benchmarks/one_tradeoff.py
	$(BIN)/python benchmarks/whole_path.py
	$(BIN)/python benchmarks/shapes.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/first_call.py
	$(BIN)/python benchmarks/budget_forest.py
	$(BIN)/python benchmarks/boosters.py
	$(BIN)/python benchmarks/cascade.py
	$(BIN)/python benchmarks/thrifty.py
	$(BIN)/python benchmarks/real_prices.py
	$(BIN)/python benchmarks/counted_rows.py
	$(BIN)/python benchmarks/refit.py
	$(BIN)/python benchmarks/lazy.py
	$(BIN)/python benchmarks/export.py
	$(BIN)/python benchmarks/predict.py
	$(BIN)/python benchmarks/subsampling.py
	$(BIN)/python benchmarks/table1.py
	$(BIN)/python benchmarks/dantzig_wolfe.py
	$(BIN)/python benchmarks/scale_out.py

# The site: docs/_build/html/index.html. Whatever sphinx warns about is an error.
docs: .venv/.dev
	$(BIN)/python -m sphinx -W --keep-going -n -q -b html docs docs/_build/html

# Draws the pictures of the documents from the code that they show.
IN_GALLERY := $(filter-out examples/heart.py examples/picture.py, $(wildcard examples/*.py))
pictures: .venv/.dev .venv/.browser
	$(BIN)/python examples/heart.py --picture docs/images/heart.png
	$(BIN)/python tests/report_picture.py docs/images/report.png
	for script in $(IN_GALLERY); do \
		$(BIN)/python $$script --picture docs/images/gallery/$$(basename $$script .py).png || exit 1; \
	done

# Builds the wheel, the sdist and the recipe for conda-forge, and tries them where nothing else is
# installed. They are in dist/ then, to be uploaded by hand: docs/maintainers.md.
release: .venv/.release
	PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/python release/artefacts.py

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build demo docs/_build docs/_reference
	find src tests benchmarks examples docs -name __pycache__ -prune -exec rm -rf {} +

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Thriftwood needs Python 3.11 or newer: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }

.venv/.demo: .venv/bin/python pyproject.toml constraints.txt
	$(INSTALL) --editable '.[cli]'
	touch $@

.venv/.dev: .venv/bin/python pyproject.toml constraints.txt
	$(INSTALL) --editable '.[dev]'
	touch $@ .venv/.demo

.venv/.release: .venv/bin/python pyproject.toml constraints.txt
	$(INSTALL) --editable '.[release]'
	touch $@

# For the tests of report pages; they are skipped where there is none.
.venv/.browser: .venv/bin/python
	sh tests/install_browser.sh
	touch $@

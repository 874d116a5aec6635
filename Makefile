# Each target makes its own virtual environment under .venv when it is missing or out of date.
PYTHON ?= python3
BIN := .venv/bin
# By the environment, so that the versions hold for building the package too.
INSTALL := PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Threads of OpenMP that wait do not spin: two test processes have two cores.
export OMP_WAIT_POLICY ?= PASSIVE

.PHONY: demo test test-benchmarks check lint fuzz bench bench-record study study-quick study-page docs site pictures release test-versions audit hashes locked clean

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
	$(BIN)/python benchmarks/ranking.py
	$(BIN)/python benchmarks/counted_rows.py
	$(BIN)/python benchmarks/refit.py
	$(BIN)/python benchmarks/lazy.py
	$(BIN)/python benchmarks/export.py
	$(BIN)/python benchmarks/predict.py
	$(BIN)/python benchmarks/subsampling.py
	$(BIN)/python benchmarks/dantzig_wolfe.py
	$(BIN)/python benchmarks/scale_out.py

# How long calls take now, beside the last record of this machine: docs/speed.md. Best while it has
# nothing else to do.
bench-record: .venv/.dev
	$(BIN)/python benchmarks/record.py
	$(BIN)/python benchmarks/record.py --picture docs/images/speed.png

# Every method beside its peers, and the paper's table: hours. It goes on where it was interrupted;
# `python -m benchmarks.study --help` runs parts of it.
study: .venv/.study
	$(BIN)/python -m benchmarks.study all
	$(BIN)/python -m benchmarks.study page

# The same in tiny sizes, into a folder of its own: minutes.
study-quick: .venv/.dev
	$(BIN)/python -m benchmarks.study all --quick --results build/study

# Pictures and tables of docs/study.md from the results that are there.
study-page: .venv/.dev
	$(BIN)/python -m benchmarks.study page

# The site: docs/_build/html/index.html. Whatever sphinx warns about is an error.
docs: .venv/.dev
	$(BIN)/python -m sphinx -W --keep-going -n -q -b html docs docs/_build/html

# The site of this version beside those of others, in site/: what is published.
site: docs
	$(BIN)/python release/site.py

# Draws the pictures of the documents from the code that they show.
# That of MLflow is drawn where it is installed: `make test-versions` does that.
NOT_DRAWN := examples/heart.py examples/picture.py examples/mlflow_tracking.py
IN_GALLERY := $(filter-out $(NOT_DRAWN), $(wildcard examples/*.py))
pictures: .venv/.dev .venv/.browser
	$(BIN)/python examples/heart.py --picture docs/images/heart.png
	$(BIN)/python tests/report_picture.py docs/images/report.png
	$(BIN)/python docs/which_tool.py docs/images/which_tool.svg
	for script in $(IN_GALLERY); do \
		$(BIN)/python $$script --picture docs/images/gallery/$$(basename $$script .py).png || exit 1; \
	done

# Builds the wheel, the sdist and the recipe for conda-forge, and tries them where nothing else is
# installed. They are in dist/ then, to be uploaded by hand: docs/maintainers.md.
release: .venv/.release audit
	PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/python release/artefacts.py

# The quick tests with the lowest versions that are declared, the pinned ones and the newest.
test-versions:
	$(PYTHON) release/versions.py

# Known vulnerabilities of the pinned versions, where a service can be reached that knows them.
audit: .venv/.release
	$(BIN)/python release/audit.py

# After a change of constraints.txt.
hashes:
	$(PYTHON) release/hashes.py

# All that is pinned, from files whose hashes are known; on Linux and x86-64.
locked: .venv/bin/python
	$(BIN)/python -m pip install --quiet --require-hashes --no-deps -r requirements-hashed.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch .venv/.dev .venv/.demo .venv/.release

clean:
	rm -rf .venv .venvs .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build demo docs/_build docs/_notebooks docs/_reference
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

# Peers that only the study needs.
.venv/.study: .venv/.dev benchmarks/study/requirements.txt
	$(INSTALL) --requirement benchmarks/study/requirements.txt
	touch $@

# For the tests of report pages; they are skipped where there is none.
.venv/.browser: .venv/bin/python
	sh tests/install_browser.sh
	touch $@

# `make` alone lists the targets. Everything that is built or written goes to target/, build/ and .venv/.

PYTHON ?= python3
CARGO ?= cargo

# rustup's cargo, where the shell's start-up file has not been read.
export PATH := $(PATH):$(HOME)/.cargo/bin
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

BIN := .venv/bin
# One Python environment, whatever is active in the calling shell.
MATURIN := env -u CONDA_PREFIX VIRTUAL_ENV='$(CURDIR)/.venv' PIP_QUIET=1 PIP_DISABLE_PIP_VERSION_CHECK=1 \
	$(BIN)/maturin
# crates/py is a Python extension module: its tests are Python's.
RUST_TESTED := -p airpath-core -p airpath-fading -p airpath-prefetch -p airpath-analyze -p airpath-live -p airpath
# And what compiles the transports of others.
RUST_TESTED_ALL := $(RUST_TESTED) -p airpath-transports
PYTEST_FLAGS ?=
# In as many processes as tests/conftest.py says, which also says what stays together.
SIDE_BY_SIDE := -n auto --durations=20
# Property tests draw the same cases each time, so that a commit has one verdict (tests/conftest.py for Python's).
PROPTEST_RNG_SEED ?= 1
SOAK_FLAGS ?=
SWEEP_SOAK_FLAGS ?=
# Of the transfers between our TCP and the kernel's, such as --transfers 100.
TRANSFERS_FLAGS ?=
# Such as --seconds 60, and --times 20.
STUDIO_SOAK_FLAGS ?=
CRASH_FLAGS ?=
# Of the scripts for our receiver and sender and the kernel's, such as --scripts 100.
SCRIPTS_FLAGS ?=
# Of the captures that tshark analyses too, such as --captures 10.
CAPTURES_FLAGS ?=
# Nothing, to leave out the source distribution, which takes minutes to compile.
CHECK_WHEELS_FLAGS ?= --sdist
# --whole, for all of `make test`.
CHECK_BARE_FLAGS ?=
# `RELEASE=pgo`, of wheels and release: compiled twice, the second time by what benches/train.py used most.
RELEASE ?=
PGO := $(if $(filter pgo,$(RELEASE)),--pgo)
# For each fuzz target.
FUZZ_SECONDS ?= 600

RUST_SOURCES := $(shell find crates/{core,fading,prefetch,analyze,kit,live,py} -path '*/src/*.rs' -o -name Cargo.toml) \
	Cargo.toml $(wildcard Cargo.lock crates/core/build.rs crates/core/scenarios/*.toml)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: .venv/.built ## make .venv with the packages and their development tools in it

.venv/.created: requirements.lock
	@command -v $(PYTHON) > /dev/null || \
		{ echo 'airpath needs Python 3.11 or newer: no program $(PYTHON) here.' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "airpath needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) -V 2>&1 | cut -d' ' -f2):" \
		"name a newer one, as in: make build PYTHON=python3.12" >&2; exit 1; }
	@echo 'The Python environment goes to .venv; the first build downloads what it needs and takes some minutes.'
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	@touch $@

.PHONY: llvm-tools
llvm-tools:
	rustup component add llvm-tools

.venv/.built: .venv/.created pyproject.toml studies/pyproject.toml $(RUST_SOURCES)
	@command -v $(CARGO) > /dev/null || \
		{ echo 'airpath needs Rust (cargo): see https://rustup.rs' >&2; exit 1; }
	$(MATURIN) develop --release --extras dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable studies
	@touch $@

.PHONY: demo
demo: build ## regenerate Table 3 of Lundsten's thesis and compare it with the published values
	$(BIN)/airpath reproduce lundsten --table 3 --out build/demo --force

# Many processes start: each would compile every module again.
test test-all: export PYTHONDONTWRITEBYTECODE :=
test test-all: export PROPTEST_RNG_SEED := $(PROPTEST_RNG_SEED)

# What these leave out for want of a program is noted in a file; their last line tells it, and what to install.
test test-all bench images site: export AIRPATH_LEFT_OUT = $(CURDIR)/build/left-out-$@.txt
BEGIN = mkdir -p build && rm -f "$$AIRPATH_LEFT_OUT"
TELL_LEFT_OUT = $(PYTHON) tools/left_out.py "$$AIRPATH_LEFT_OUT"

# Takes what others leave of the processors.
IDLE := $(if $(shell command -v chrt),chrt --idle 0,nice -n 19)
# Rust's and Python's tests at once, Rust's on the terminal first: options of pytest, options of `cargo test` and of Rust's
# tests. Compiling comes before: beside it Python's tests take half as long again.
define BOTH
@$(BEGIN)
$(CARGO) test $(2) --no-run
$(if $(4),$(CARGO) test $(4) --no-run)
@$(BIN)/python -m pytest $(SIDE_BY_SIDE) $(1) $(PYTEST_FLAGS) > build/pytest.log 2>&1 & pytest=$$!; \
rust=0; $(IDLE) $(CARGO) test $(2) $(3) || rust=$$?; \
$(if $(4),$(IDLE) $(CARGO) test $(4) -- --include-ignored _at_length || rust=$$?;) \
tail --lines=+1 --follow --pid=$$pytest build/pytest.log; python=0; wait $$pytest || python=$$?; \
$(TELL_LEFT_OUT); exit $$((rust ? rust : python))
endef

.PHONY: test
# Where a property test does not say how many cases it draws: an eighth of proptest's, a quarter in test-all.
test: export PROPTEST_CASES ?= 32
test: build ## run the tests, Rust's and Python's at once, without the slow ones (four to eight minutes)
	$(call BOTH,-m 'not slow',$(RUST_TESTED),)

.PHONY: test-all
test-all: export PROPTEST_CASES ?= 64
# Tests whose names end with _at_length run in the build that `make build` has made, with its features.
test-all: build ## run all tests
	$(call BOTH,,$(RUST_TESTED_ALL),-- --include-ignored --skip _at_length,--release -p airpath-bench -p airpath-py --test at_length)

.PHONY: lint
lint: build ## check formatting, lints, types, links in Rust's documentation, figures in documents; changes nothing
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path fuzz/Cargo.toml --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	CUSTOM_LIBFUZZER_PATH=unused/unused.a $(CARGO) check --quiet --locked --manifest-path fuzz/Cargo.toml --target-dir target
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --quiet --no-deps -p airpath-core -p airpath
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python tools/docs_figures.py --check
	$(PYTHON) tools/dialect.py --top 0
	$(MAKE) lint-js

.PHONY: lint-js
lint-js: tools/js/node_modules/.package-lock.json ## check the types of the studio's front; needs node and npm
	tools/js/node_modules/.bin/tsc -p tools/js

# node is for this check alone: the front is shipped as it is written.
tools/js/node_modules/.package-lock.json: tools/js/package.json tools/js/package-lock.json
	@command -v npm > /dev/null || { echo "the studio's types are checked by TypeScript: no npm here." >&2; exit 1; }
	npm ci --prefix tools/js --ignore-scripts --no-audit --no-fund
	@touch $@

.PHONY: bench
bench: build ## measure speed against ns-2, overheads of a run, sweeps, the live link, and pages (ten minutes)
	@$(BEGIN)
	$(CARGO) build --profile dist -p airpath-bench
	$(PYTHON) benches/bench.py $(BENCH_FLAGS)
	$(BIN)/python benches/command.py
	$(BIN)/python benches/sweep.py
	$(PYTHON) benches/live.py
	$(BIN)/python benches/studio.py
	@$(TELL_LEFT_OUT)

.PHONY: trajectories
trajectories: build ## record the events of the bundled scenarios as the tests' reference, after an intended change
	PYTHONPATH=tests:tools $(BIN)/python tests/runs/test_trajectories.py

.PHONY: instructions
instructions: build ## count the instructions per packet and record them for `make test-all`
	$(BIN)/python benches/instructions.py --write

.PHONY: scale
scale: build ## measure the figures of docs/scale.md: costs, many UEs, rows, and estimates for larger machines
	$(CARGO) build --profile dist -p airpath-bench
	$(BIN)/python benches/scale.py

.PHONY: soak
soak: build ## for an hour: kill sweeps, load airpath live and the studio, compare airpath's TCP with the kernel's, captures with tshark
	$(BIN)/python tools/sweep_soak.py $(SWEEP_SOAK_FLAGS)
	$(BIN)/python tools/live_soak.py $(SOAK_FLAGS)
	$(BIN)/python tools/studio_soak.py $(STUDIO_SOAK_FLAGS)
	$(BIN)/python tools/transfers.py $(TRANSFERS_FLAGS)
	$(BIN)/python tools/packet_scripts.py $(SCRIPTS_FLAGS)
	$(BIN)/python tools/sender_scripts.py $(SCRIPTS_FLAGS)
	$(BIN)/python tools/beside_tshark.py $(CAPTURES_FLAGS)

.PHONY: crash
crash: build ## kill each command 200 times as it writes, also with full disks and failing fsync; needs cc
	$(BIN)/python tools/crash.py $(CRASH_FLAGS)

.PHONY: attack
attack: build ## give commands 2,000 damaged inputs and 200 signals, and count what breaks; ATTACK_FLAGS="--seed 2"
	$(BIN)/python tools/attack.py $(ATTACK_FLAGS)

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZ_SECONDS (default 600); needs cargo-fuzz and a C++ compiler
	$(PYTHON) fuzz/fuzz.py --seconds $(FUZZ_SECONDS)

.PHONY: coverage
coverage: llvm-tools ## print the share of Rust lines that fuzz/corpus and the tests reach; needs a C++ compiler
	$(PYTHON) fuzz/coverage.py

.PHONY: papers
papers: build ## regenerate every published table and figure of every paper, and search the free choices
	@for paper in $$($(BIN)/python -c 'from airpath_studies.papers import PAPERS; print(*PAPERS)'); do \
		$(BIN)/airpath reproduce "$$paper" --out "build/papers/$$paper" --force; done
	@for paper in $$($(BIN)/python -c 'from airpath_studies.explore.plan import explorations; print(*explorations())'); do \
		$(BIN)/airpath reproduce "$$paper" --explore --out "build/papers/$$paper" --force; done

.PHONY: docs-figures
docs-figures: build ## write the results of `make papers` into the documentation
	$(BIN)/python tools/docs_figures.py $(wildcard build/papers)

.PHONY: traces
traces: build ## make the sample traces in python/airpath/traces again
	@for scenario in python/airpath/traces/*.toml; do \
		$(BIN)/airpath run "$$scenario" --out build/traces --force > /dev/null; \
		$(BIN)/airpath export build/traces --format mm-trace --out "$${scenario%.toml}.trace" --force; done

.PHONY: images
images: build ## draw the pictures of the documents again; pages and the studio need chromium
	@$(BEGIN)
	$(BIN)/python docs/images/make.py
	$(BIN)/python tools/modules.py
	@$(TELL_LEFT_OUT)

WASM := target/wasm32-unknown-unknown/wasm/airpath_wasm.wasm
WASM_LIBRARY := rustc --print target-libdir --target wasm32-unknown-unknown

.PHONY: site
site: build ## build the site into build/site/html: documents, tutorials executed, lists from the code, models that run
	@$(BEGIN)
	@if test -d "$$($(WASM_LIBRARY))"; then $(MAKE) --no-print-directory wasm; \
	else rm -f $(WASM); printf '%s\t%s\n' 'models that run in pages, which show recorded runs' \
		'rustup target add wasm32-unknown-unknown' >> "$$AIRPATH_LEFT_OUT"; fi
	PYTHONPATH=tools $(BIN)/python -m website
	@echo 'Start at build/site/html/index.html'
	@$(TELL_LEFT_OUT)

.PHONY: wasm
wasm: $(WASM) ## compile the simulator to WebAssembly, for pages; needs Rust's target wasm32-unknown-unknown

$(WASM): $(RUST_SOURCES) crates/wasm/Cargo.toml $(wildcard crates/wasm/src/*.rs)
	@test -d "$$($(WASM_LIBRARY))" || \
		rustup target add wasm32-unknown-unknown || \
		{ echo "the page's simulator needs Rust's target wasm32-unknown-unknown: install it with rustup" \
		"(https://rustup.rs), or with Debian's libstd-rust-dev-wasm32 beside Debian's rustc" >&2; exit 1; }
	CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS='-C target-feature=+simd128' \
		$(CARGO) build --profile wasm --target wasm32-unknown-unknown -p airpath-wasm
	@touch $@

.PHONY: playground
playground: build wasm ## make the studio with the simulator in it, for any file server: build/playground
	$(BIN)/python tools/playground.py

# The same sources make the same files, but for the compiler.
wheels release: export RUSTFLAGS += --remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)=/cargo
wheels release: export SOURCE_DATE_EPOCH ?= $(or $(shell git log -1 --format=%ct 2> /dev/null),315532800)

.PHONY: wheels
wheels: build $(if $(PGO),llvm-tools) ## build the wheels and the source distribution into build/dist
	rm -rf build/dist
	$(MATURIN) build --profile dist $(PGO) --strip --compatibility pypi --out build/dist
	$(MATURIN) sdist --out build/dist
	cp LICENSE-MIT LICENSE-APACHE studies/  # flit takes none from outside
	$(BIN)/python -m flit_core.wheel --outdir build/dist studies

.PHONY: check-wheels
check-wheels: ## install what `make wheels` built into empty environments, and try it without a compiler
	$(PYTHON) tools/check_wheels.py $(CHECK_WHEELS_FLAGS)

.PHONY: check-bare
check-bare: build ## try the README's commands and some tests as on a machine with Rust, Python, make and no more
	$(BIN)/python tools/bare.py $(CHECK_BARE_FLAGS)

.PHONY: hooks
hooks: ## have git check the subjects of your commits
	git config core.hooksPath tools/hooks

TARGETS := x86_64-pc-windows-gnu aarch64-apple-darwin
.PHONY: check-targets
check-targets: build ## check all crates but live and the Python package for Windows and macOS; wants rustup
	rustup target add $(TARGETS)
	PYO3_CROSS=1 RUSTFLAGS='-D warnings' $(CARGO) check $(addprefix --target ,$(TARGETS)) \
		-p airpath-core -p airpath-analyze -p airpath -p airpath-py
	$(BIN)/mypy --config-file tools/elsewhere.ini --platform win32
	$(BIN)/mypy --config-file tools/elsewhere.ini --platform darwin

.PHONY: lock
lock: build ## update the pinned versions of Python's packages, with their hashes
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.13,<1'
	$(BIN)/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --upgrade --generate-hashes \
		--no-emit-index-url --no-header --quiet --output-file requirements.lock

.PHONY: audit
audit: ## check licences, sources and known flaws of airpath's dependencies; needs cargo-deny, and the network
	$(CARGO) deny check

# The wheel has the list of the crates that are compiled into it, by maturin.
.PHONY: release
release: wheels ## make the published files: wheel, sources, bills of materials, dependencies, checksums
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'cyclonedx-bom>=7.5,<8' 'uv>=0.13,<1'
	$(BIN)/uv pip compile pyproject.toml --quiet --universal --generate-hashes --no-emit-index-url --no-header | \
		$(BIN)/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible \
		--output-file build/dist/airpath-python.cdx.json -
	cd build/dist && sha256sum -- * > SHA256SUMS

.PHONY: docs
docs: ## build the documentation of the Rust core and of the crate for others
	$(CARGO) doc --no-deps -p airpath-core -p airpath
	@echo 'Start at target/doc/airpath_core/index.html, or at target/doc/airpath/index.html'

.PHONY: clean
clean: ## remove everything that was built
	rm -rf target build tools/js/node_modules .venv .pytest_cache .ruff_cache .mypy_cache
	find python -name '*.so' -delete
	find python studies tests benches -name __pycache__ -type d -prune -exec rm -rf {} +

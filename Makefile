# The commands of the house; `make help` lists them. Each installs what it needs on a bare Debian 12 (xtask/provide.sh).
SHELL := /bin/sh
export PATH := $(HOME)/.cargo/bin:$(PATH)
CARGO ?= cargo
PYTEST := .venv/bin/python -m pytest
# Rounds of kill -9: within `make test`, and of `make torture` (twice: the log as by default, and a small one).
KILL_ROUNDS ?= 100
TORTURE_ROUNDS ?= 1000

.PHONY: help run test bench torture fmt build check

help: ## This list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 10

run: build ## Builds, and starts a server with its data in ./data; Ctrl-C stops it
	@exec target/release/ferrymq serve --data-dir ./data

build: ## Builds target/release/ferrymq and target/release/ferrymq-bench
	@xtask/provide.sh build
	$(CARGO) build --release --bins

test: check ## Everything: format, lints, unit tests, conformance, foreign clients, kill -9; installs what it needs
	@xtask/provide.sh clients
	$(CARGO) build --release --bins
	$(PYTEST) interop/conformance
	$(PYTEST) interop --kill-rounds $(KILL_ROUNDS)

check: ## What needs no running server: format, lints, unit tests
	@xtask/provide.sh build checks
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) test --workspace --no-fail-fast

bench: build ## Compares with mosquitto: many publishers, five consumers
	target/release/ferrymq-bench compare xr-fan-in-5 --peer mosquitto

torture: build ## A long run of kill -9 under load: TORTURE_ROUNDS=1000
	@xtask/provide.sh clients
	.venv/bin/python interop/kill_loop.py --rounds $(TORTURE_ROUNDS)
	.venv/bin/python interop/kill_loop.py --rounds $(TORTURE_ROUNDS) --small-log

fmt: ## Formats the source
	$(CARGO) fmt --all

# The commands of this repository; each is a thin line over cmake or a script in tools/.
.DEFAULT_GOAL := help
.PHONY: help build test test-managers demo bench dist docs check format clean

JOBS ?= $(shell nproc)
export JOBS

help: ## show this
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 20

build: ## install what is missing and build into build/
	@tools/setup
	@cmake --preset default
	@cmake --build --preset default -j $(JOBS)
	@echo "built; to use it from this shell: source build/env.sh"

test: build ## build, then run every C++ and Python test
	@tools/test

test-managers: build ## jobs on a real Kubernetes, Slurm and YARN; builds the first once, 15 to 20 minutes of processor time
	@tools/setup managers
	@tools/test_managers

demo: build ## count words on a cluster of four processes (TEXTS=folder for your own)
	@tools/demo

bench: build ## build, then print the table of benchmarks
	@tools/setup bench
	@tools/bench

dist: ## packages in build/dist: wheels, .deb, container image; tries each on a clean Debian 12
	@tools/setup build dist
	@$(MAKE) --no-print-directory build
	@tools/dist --try

docs: ## the documentation as a site with a search, without a server: build/docs/site/index.html
	@tools/setup build docs
	@$(MAKE) --no-print-directory build
	@tools/docs

check: ## format, floors, build time, lint, clang build, tests under sanitizers
	@tools/setup build check
	@tools/check

format: ## format all C++ and Python
	@tools/setup check
	@tools/format

clean: ## remove build/
	rm -rf build

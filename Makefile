# What one types here. Each target installs the packages it needs (Debian and Ubuntu, as root or through sudo); a second
# run finds them and asks nothing of the network.

.PHONY: help demo test lint dist lab newcomer faults verdicts bench-draw bench-sessions bench-survey bench-lab bench-cost bench-paced
.DEFAULT_GOAL := help

help:      ## lists these targets
	@sed -n 's/^\([a-z-]*\):[^#]*## /  make \1\t/p' Makefile | expand -t 22

demo:      ## builds railscope and opens the live screen on a simulated eight-rail node
	@.ci/packages build
	.ci/env cargo run --release --locked --quiet -- demo

test:      ## runs all tests that need no RDMA and no virtual machine
	@.ci/packages build
	.ci/env cargo test --workspace --locked

lint:      ## checks formatting, lints, licences and unused dependencies
	@.ci/packages build
	.ci/lint

dist:      ## builds dist/railscope-VERSION-x86_64-linux.tar.gz, one binary for nodes without Rust
	@.ci/packages build dist
	.ci/dist

lab:       ## boots two virtual hosts with real RDMA rails and proves railscope on them (about five minutes)
	@.ci/packages build dist lab
	.ci/dist
	tests/lab/run target/dist/railscope

newcomer:  ## runs this README's two commands in fresh Debian 12 and Debian 13 roots (needs root)
	@.ci/packages newcomer
	tests/newcomer

faults:    ## breaks loads on simulated NICs: make faults STANDIN=FOLDER-OF-A-LIBIBVERBS
	@.ci/packages build dist standin
	.ci/dist
	tests/faults target/dist/railscope $(STANDIN)

verdicts:  ## asks diagnose about 1000 simulated nodes and prints the causes planted beside the causes named
	@.ci/packages build
	.ci/env cargo test --locked --test verdicts -- --nocapture

bench-lab: ## holds our READ load against ib_read_bw in two virtual hosts (some fifteen minutes)
	@.ci/packages build dist lab
	.ci/dist
	tests/lab/bench target/dist/railscope

bench-cost:  ## instructions and ns per READ, ours beside ib_read_bw: make bench-cost STANDIN=FOLDER-OF-A-LIBIBVERBS
	@.ci/packages build dist standin
	.ci/dist
	benches/cost target/dist/railscope $(STANDIN)

bench-paced:  ## measured against known rates, eight rails at once: make bench-paced STANDIN=FOLDER-OF-A-LIBIBVERBS
	@.ci/packages build dist standin
	.ci/dist
	benches/paced target/dist/railscope $(STANDIN)

bench-draw:  ## times pictures of 8 and of 64 rails, from a key to its picture, and the CPU of the whole program
	@.ci/packages build
	.ci/env cargo bench --locked --bench draw
	.ci/env cargo bench --locked --bench screen

bench-sessions:  ## measures a recording of a day: bytes per rail and sample, a full read, a seek, memory (some minutes)
	@.ci/packages build
	.ci/env cargo bench --locked --bench sessions

bench-survey:  ## times a survey of 64 rails on 8 nodes with 400 CPUs, from a tree on disk
	@.ci/packages build
	.ci/env cargo bench --locked --bench survey

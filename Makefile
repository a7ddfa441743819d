# Everything a person or CI does with this checkout. `make run` to try it, `make test` to trust it.
SHELL := /bin/bash
.DEFAULT_GOAL := build

# The checkout may belong to another user; git and go must not mind.
export GOFLAGS := $(filter-out -buildvcs=%,$(GOFLAGS)) -buildvcs=false
VERSION := $(shell git -c safe.directory='*' describe --tags --always --dirty 2>/dev/null || echo unknown)

.PHONY: run build test check test-go test-faults test-meili e2e bench fmt generate release

# Builds the one binary and starts it; an empty database gets the guide as demo content.
run: export GATEHOUSE_DEMO ?= 1
run: build
	exec bin/gatehouse serve

build:
	@scripts/require-tools.sh go
	go build -trimpath -ldflags '-X main.version=$(VERSION)' -o bin/gatehouse ./cmd/server

# check after installing what it needs and finds missing. The last line is the count.
test:
	@scripts/require-tools.sh go
	@scripts/install-packages.sh
	@scripts/install-npm.sh
	@scripts/check.sh

# The one gate: every scripts/check-*.sh, Go tests with the race detector, browser tests.
check:
	@scripts/check.sh

test-go:
	@scripts/check.sh go

# Everything that can go wrong, over the built binary: every scenario once and three random schedules. A schedule prints its
# seed; e2e/README.md says how to replay one.
test-faults:
	@scripts/check.sh faults

# The search engine's suite against a real server, in indexes of its own that are deleted afterwards:
# MEILI_URL=http://127.0.0.1:7700 MEILI_KEY=... make test-meili
test-meili:
	@test -n "$$MEILI_URL" || { echo "test-meili: set MEILI_URL to a Meilisearch server, and MEILI_KEY to its key"; exit 1; }
	go test -count=1 -run TestRealServer ./internal/infra/search/meili

e2e:
	@scripts/check.sh e2e

# Every figure of the guide's chapter on performance, with a PostgreSQL that keeps its promises on disk: some ten minutes
# on two quiet cores. Writes results and pictures into the folder bench, judges nothing. With PEER_URL=... another sender is
# measured against the same receiver in the same run; the chapter tells its other variables.
bench:
	go run ./e2e/load $(BENCH_FLAGS)

fmt:
	gofmt -w cmd internal mock-stack scripts e2e
	go tool templ fmt internal/web

# What is handed out: static binaries for linux on amd64 and arm64 in archives, bills of materials, SHA256SUMS; in dist/.
# Built twice, in two folders, and compared.
release:
	@scripts/require-tools.sh go
	go run ./scripts/release -out dist

# Paths in generated views are relative to the root, so views are always generated from here.
generate:
	go tool templ generate

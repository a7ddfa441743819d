package main

import (
	"github.com/gatehouse-hq/gatehouse/e2e/load/deliver"
	"github.com/gatehouse-hq/gatehouse/e2e/load/grown"
	"github.com/gatehouse-hq/gatehouse/e2e/load/peer"
	"github.com/gatehouse-hq/gatehouse/e2e/load/product"
	"github.com/gatehouse-hq/gatehouse/e2e/load/writers"
)

// parts is the whole run, in order.
func parts() []part {
	return []part{
		{"start", product.Start},
		{"throughput", deliver.Throughput},
		{"idle", deliver.Idle},
		{"backlog", deliver.Backlog},
		{"slow", deliver.Slow},
		{"hanging", deliver.Hanging},
		{"writers", writers.Commits},
		{"notes", product.Notes},
		{"grown", grown.Grown},
		{"fan", deliver.Fan},
		{"load", deliver.Load},
		{"peer", peer.Peer},
	}
}

//go:build !linux

package projections

import "go.etcd.io/bbolt"

// mapped leaves the pages of a file's mapping to the system.
type mapped struct{}

func (*mapped) trim(*bbolt.Tx, int64) {}

func (*mapped) drop(*bbolt.Tx) {}

func (*mapped) trimSome(*bbolt.Tx, int64) {}

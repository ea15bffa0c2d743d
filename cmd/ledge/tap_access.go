package main

import (
	"context"
	"crypto/tls"
	"maps"
	"slices"

	"ledge/domain"
)

// tapAccess is how the tap knows its clients; see store.Options. It is empty in open mode.
type tapAccess struct {
	tls   *tls.Config
	login func(ctx context.Context, user, password, token, address string) (domain.Identity, error)
	still func(domain.Identity) bool
}

// refusedFor is how often something was refused for one reason.
type refusedFor struct {
	reason string
	count  uint64
}

// refusalsIn sorts counts by their reasons.
func refusalsIn(counts map[string]uint64) (all []refusedFor) {
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, refusedFor{reason, counts[reason]})
	}
	return all
}

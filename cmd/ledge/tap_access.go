package main

import (
	"context"
	"crypto/tls"
	"maps"
	"slices"

	"ledge/domain"
	"ledge/store"
)

// tapAccess is how the tap knows its clients; see store.Options. It is empty in open mode.
type tapAccess struct {
	tls   *tls.Config
	login func(ctx context.Context, user, password, token, address string) (domain.Identity, error)
	still func(domain.Identity) bool
}

// tapRefusal is how many connections the tap has refused for one reason.
type tapRefusal struct {
	reason string
	count  uint64
}

func tapRefusals(s *store.Store) (all []tapRefusal) {
	counts := s.TapRefusals()
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, tapRefusal{reason, counts[reason]})
	}
	return all
}

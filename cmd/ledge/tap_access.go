package main

import (
	"context"
	"crypto/tls"

	"ledge/domain"
)

// tapAccess is how the tap knows its clients; see store.Options. It is empty in open mode.
type tapAccess struct {
	tls   *tls.Config
	login func(ctx context.Context, user, password, token, address string) (domain.Identity, error)
	still func(domain.Identity) bool
}

package store

import (
	"testing"

	"github.com/nats-io/nats.go"
)

func TestSizeOfMessage(t *testing.T) {
	for _, m := range []*nats.Msg{
		{Subject: "a.b", Header: nats.Header{"A": {"1"}}},
		{Subject: "a.b", Reply: "c", Header: nats.Header{"ce-id": {"17"}, "Ledge-Chain": {"00"}}, Data: []byte("body")},
	} {
		if got, want := sizeOfMessage(m), m.Size(); got != want {
			t.Errorf("%+v: got %d bytes, want %d", m, got, want)
		}
	}
}

func TestIsToken(t *testing.T) {
	for s, want := range map[string]bool{
		"cam-1": true, "A_z~9:;=": true, "": false, "a b": false, "a.b": false, "*": false, "é": false, "[": false, "@": false, "`": false, "{": false,
	} {
		if got := isToken(s); got != want {
			t.Errorf("%q: got %t", s, got)
		}
	}
}

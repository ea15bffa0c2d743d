package store_test

import (
	"strings"
	"testing"

	"ledge/store"
)

// TestOpenTapHidesThePassword holds that no error has the password of the address. Before, one that nobody listened at printed it.
func TestOpenTapHidesThePassword(t *testing.T) {
	for _, address := range []string{"nats://own:secret-word@127.0.0.1:1", "nats://own:secret-word@127.0.0.1:port", "nats://own:secret-word@127.0.0.1:1\x7f"} {
		_, err := store.OpenTap(t.Context(), address)
		if err == nil || strings.Contains(err.Error(), "secret-word") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

package server

import (
	"crypto/rand"
	"encoding/hex"

	"ledge/domain"
)

// newInstance returns the id of a run. It is new at each start: a loop that was going round then is met as a new one, and ended.
func newInstance() string {
	id := make([]byte, domain.HopLength/2)
	_, _ = rand.Read(id) // it never fails
	return hex.EncodeToString(id)
}

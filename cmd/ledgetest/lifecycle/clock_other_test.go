//go:build !linux || !amd64

package lifecycle

import "testing"

func TestClockSteps(t *testing.T) {
	t.Skip("gives a process a clock of its own, which needs Linux on amd64")
}

package main

import (
	"errors"
	"fmt"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/node"
	"ledge/projections"
)

// TestBrokenStateHasItsExitCode holds that what follows from a state file that cannot be used has the exit code of that, also if it is noticed
// first. Before, a failed fsync in an apply ended with 1.
func TestBrokenStateHasItsExitCode(t *testing.T) {
	broken := fmt.Errorf("apply LEDGE_READINGS 1 to 2: %w", &projections.Broken{File: "readings.db", Cause: errors.New("fsync failed")})
	p := &Program{node: &node.Node{}}
	for what, err := range map[string]error{"while it runs": p.findCause(broken), "at the start": node.WithCode(broken)} {
		if e, ok := errors.AsType[exit.Error](err); !ok || e.Code != exit.State {
			t.Errorf("%s: %v", what, err)
		}
	}
}

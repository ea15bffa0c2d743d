package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"ledge/projections"
)

// fillStep is how many devices are submitted at once.
const fillStep = 1000

// fill makes a data folder with n devices, as Ledge leaves it at a clean stop.
func fill(ctx context.Context, dir string, n int) (err error) {
	state, err := openState(dir)
	if err != nil {
		return err
	}
	l, err := openLog(ctx, dir, state)
	if err != nil {
		state.Close()
		return err
	}
	for left := n; left > 0 && err == nil; left -= fillStep {
		err = l.submit(ctx, l.devices(min(left, fillStep))...)
	}
	l.close()
	if cerr := state.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("fill %d devices: %w", n, err)
	}
	return nil
}

// emptyState opens a projection that has nothing yet; done closes and removes it.
func emptyState(dir string) (state *projections.DB, done func(), err error) {
	dir, err = os.MkdirTemp(dir, "state-*")
	if err != nil {
		return nil, nil, err
	}
	if state, err = openState(dir); err != nil {
		return nil, nil, err
	}
	return state, func() { state.Close(); os.RemoveAll(dir) }, nil
}

// copyLog copies the log of a data folder, which must be closed.
func copyLog(from, to string) error {
	return os.CopyFS(filepath.Join(to, "nats"), os.DirFS(filepath.Join(from, "nats")))
}

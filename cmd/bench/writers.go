package main

import (
	"context"
	"fmt"
	"path/filepath"

	"ledge/projections"
)

// appendWriters compares callers that each add one device and wait, with the projection in bbolt, with as many that
// append the same bytes to a file which is synced for all that wait.
func appendWriters(ctx context.Context, b *bench) error {
	dir, done, err := b.folder("writers")
	if err != nil {
		return err
	}
	defer done()
	state, err := openState(dir, projections.Events)
	if err != nil {
		return err
	}
	defer state.Close()
	l, err := openLog(ctx, dir, state)
	if err != nil {
		return err
	}
	defer l.close()
	size, err := l.eventBytes(ctx, dir)
	if err != nil {
		return err
	}
	file, err := createCommitFile(filepath.Join(dir, "raw"))
	if err != nil {
		return err
	}
	defer file.close()
	for _, n := range []int{1, 8, 32, 128} {
		w := work{workers: n, count: b.counts.ofClients(n), each: 1, limit: b.counts.limit}
		rows, err := compare(ctx, b.counts.rounds, l.writers(w), file.writers(w, size))
		if err != nil {
			return err
		}
		b.report.add(rows[0].against(rows[1], plural(n, "writer")))
	}
	return nil
}

func (l *eventLog) writers(w work) side {
	return func(ctx context.Context, _ int) (measured, error) {
		requests := l.devices(w.count)
		w.do = func(_, i int) error { return l.submit(ctx, requests[i]) }
		return w.run(ctx)
	}
}

func (c *commitFile) writers(w work, size int) side {
	event := make([]byte, size)
	w.do = func(_, _ int) error { return c.append(event) }
	return func(ctx context.Context, _ int) (measured, error) { return w.run(ctx) }
}

// ofClients is how many requests one measurement has.
func (c counts) ofClients(n int) int {
	if n == 1 {
		return c.requests / 4
	}
	return c.requests
}

func plural(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}

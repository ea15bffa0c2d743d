package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// appendGroups compares Submit of a group, whose projection keeps only its checkpoint, with one write and one fsync.
func appendGroups(ctx context.Context, b *bench) error {
	dir, done, err := b.folder("append")
	if err != nil {
		return err
	}
	defer done()
	l, err := openLog(ctx, dir, newCheckpoint())
	if err != nil {
		return err
	}
	defer l.close()
	size, err := l.eventBytes(ctx, dir)
	if err != nil {
		return err
	}
	raw, err := os.Create(filepath.Join(dir, "raw"))
	if err != nil {
		return err
	}
	defer raw.Close()
	for _, n := range []int{1, 10, 100, 1000} {
		groups := max(min(b.counts.groups, b.counts.groupEvents/n), 3)
		rows, err := compare(ctx, b.counts.rounds,
			func(ctx context.Context, _ int) (measured, error) { return l.groups(ctx, n, groups, b.counts).run(ctx) },
			func(ctx context.Context, _ int) (measured, error) {
				return writeSync(raw, make([]byte, n*size), n, groups, b.counts).run(ctx)
			})
		if err != nil {
			return err
		}
		b.report.add(rows[0].against(rows[1], fmt.Sprintf("events in groups of %d (%d bytes each)", n, size)))
	}
	return nil
}

// writeSync is the least that makes a group of events durable.
func writeSync(f *os.File, group []byte, events, count int, c counts) work {
	return work{workers: 1, count: count, each: events, limit: c.limit, do: func(_, _ int) error {
		if _, err := f.Write(group); err != nil {
			return err
		}
		return f.Sync()
	}}
}

func (l *eventLog) groups(ctx context.Context, n, groups int, c counts) work {
	requests := l.devices(n * groups)
	return work{workers: 1, count: groups, each: n, limit: c.limit, do: func(_, i int) error {
		return l.submit(ctx, requests[i*n:(i+1)*n]...)
	}}
}

// eventBytes is what one event takes on disk.
func (l *eventLog) eventBytes(ctx context.Context, dir string) (int, error) {
	const events = 1000
	before, err := blockBytes(dir)
	if err != nil {
		return 0, err
	}
	if err := l.submit(ctx, l.devices(events)...); err != nil {
		return 0, err
	}
	after, err := blockBytes(dir)
	return int(after-before) / events, err
}

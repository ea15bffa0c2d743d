package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

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

// commitFile is a file to append to, with one write and one fsync for all that wait.
type commitFile struct {
	file *os.File
	wake chan struct{}
	done sync.WaitGroup

	mu      sync.Mutex
	waiting []byte
	group   *commit
}

// commit is the fate of a group.
type commit struct {
	done chan struct{}
	err  error
}

func newCommit() *commit { return &commit{done: make(chan struct{})} }

func createCommitFile(path string) (*commitFile, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	c := &commitFile{file: f, wake: make(chan struct{}, 1), group: newCommit()}
	c.done.Go(c.run)
	return c, nil
}

// append returns when b is durable.
func (c *commitFile) append(b []byte) error {
	c.mu.Lock()
	c.waiting = append(c.waiting, b...)
	g := c.group
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
	<-g.done
	return g.err
}

func (c *commitFile) run() {
	var spare []byte
	for range c.wake {
		c.mu.Lock()
		b, g := c.waiting, c.group
		c.waiting, c.group = spare[:0], newCommit()
		c.mu.Unlock()
		if _, g.err = c.file.Write(b); g.err == nil {
			g.err = c.file.Sync()
		}
		close(g.done)
		spare = b
	}
}

// close is called after the last append.
func (c *commitFile) close() {
	close(c.wake)
	c.done.Wait()
	c.file.Close()
}

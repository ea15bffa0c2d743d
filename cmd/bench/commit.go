package main

import (
	"os"
	"sync"
)

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

// close is called when nobody appends any more.
func (c *commitFile) close() {
	close(c.wake)
	c.done.Wait()
	c.file.Close()
}

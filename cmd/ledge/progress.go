package main

import (
	"fmt"
	"io"
	"sync"

	"ledge/cmd/internal/logging"
)

// progress shows on a terminal how far a long command has come, in one line that is written again and again. Elsewhere it says
// nothing. Nil is one that is silent.
type progress struct {
	w    io.Writer
	what string

	mu    sync.Mutex
	shown string
}

func newProgress(w io.Writer, what string) *progress {
	if !logging.IsTerminal(w) {
		return nil
	}
	return &progress{w: w, what: what}
}

// at says that done of total bytes or events are done. If total is 0, they are bytes of a total that is not known.
func (p *progress) at(text string, done, total int64) {
	if p == nil {
		return
	}
	line := fmt.Sprintf("%s, %d MiB", text, done>>20)
	if total > 0 {
		line = fmt.Sprintf("%s, %d %%", text, done*100/total)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if line != p.shown {
		p.shown = line
		fmt.Fprintf(p.w, "\r\033[K%s: %s", p.what, line)
	}
}

// clear takes the line away.
func (p *progress) clear() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown != "" {
		p.shown = ""
		fmt.Fprint(p.w, "\r\033[K")
	}
}

// beside is a writer to w that takes the line away first: for what else is shown on the terminal.
func (p *progress) beside(w io.Writer) io.Writer {
	if p == nil {
		return w
	}
	return besideProgress{p, w}
}

// besideProgress writes to w what is shown beside a progress.
type besideProgress struct {
	p *progress
	w io.Writer
}

func (b besideProgress) Write(text []byte) (int, error) {
	b.p.clear()
	return b.w.Write(text)
}

// Unwrap returns the writer that besideProgress writes to.
func (b besideProgress) Unwrap() io.Writer { return b.w }

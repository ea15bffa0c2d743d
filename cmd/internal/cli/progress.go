package cli

import (
	"fmt"
	"io"
	"sync"

	"ledge/cmd/internal/logging"
)

// Progress shows on a terminal how far a long command has come, in one line that is written again and again. Elsewhere it says
// nothing. Nil is one that is silent.
type Progress struct {
	w    io.Writer
	what string

	mu    sync.Mutex
	shown string
}

// NewProgress returns a Progress of a command on w, or nil if w is not a terminal.
func NewProgress(w io.Writer, what string) *Progress {
	if !logging.IsTerminal(w) {
		return nil
	}
	return &Progress{w: w, what: what}
}

// At says that done of total bytes or events are done. If total is 0, they are bytes of a total that is not known.
func (p *Progress) At(text string, done, total int64) {
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

// Clear takes the line away.
func (p *Progress) Clear() {
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

// Beside returns a writer to w, for other text on the same terminal, that removes the line first.
func (p *Progress) Beside(w io.Writer) io.Writer {
	if p == nil {
		return w
	}
	return besideProgress{p, w}
}

// besideProgress writes other text to the terminal of a progress.
type besideProgress struct {
	p *Progress
	w io.Writer
}

func (b besideProgress) Write(text []byte) (int, error) {
	b.p.Clear()
	return b.w.Write(text)
}

// Unwrap returns the writer that besideProgress writes to.
func (b besideProgress) Unwrap() io.Writer { return b.w }

package main

import (
	"fmt"
	"io"
	"os"
)

// progress shows on a terminal how far a long command has come, in one line that is written again and again. Elsewhere it says
// nothing. Nil is one that is silent.
type progress struct {
	w     io.Writer
	what  string
	shown string
}

func newProgress(w io.Writer, what string) *progress {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	if st, err := f.Stat(); err != nil || st.Mode()&os.ModeCharDevice == 0 {
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
	if line != p.shown {
		p.shown = line
		fmt.Fprintf(p.w, "\r\033[K%s: %s", p.what, line)
	}
}

// clear takes the line away, so that others can be written.
func (p *progress) clear() {
	if p != nil {
		fmt.Fprint(p.w, "\r\033[K")
	}
}

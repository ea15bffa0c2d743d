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
	shown int64 // per cent, and what was shown with it
	text  string
}

func newProgress(w io.Writer, what string) *progress {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	if st, err := f.Stat(); err != nil || st.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return &progress{w: w, what: what, shown: -1}
}

// at says that done of total bytes of something are done.
func (p *progress) at(text string, done, total int64) {
	if p == nil {
		return
	}
	percent := int64(100)
	if total > 0 {
		percent = done * 100 / total
	}
	if percent == p.shown && text == p.text {
		return
	}
	p.shown, p.text = percent, text
	fmt.Fprintf(p.w, "\r\033[K%s: %s, %d %% of %d MiB", p.what, text, percent, total>>20)
}

// clear takes the line away, so that others can be written.
func (p *progress) clear() {
	if p != nil {
		fmt.Fprint(p.w, "\r\033[K")
	}
}

package check

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"ledge/cmd/internal/admin"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/secure"
	"ledge/store"
)

// Verify verifies all of the folder of a node that does not run, or has the running server verify its part.
func Verify(ctx context.Context, paths datadir.Paths, logger *slog.Logger, w io.Writer, at progressFunc) error {
	key, err := secure.FindSecretKey(paths.Data)
	if err != nil {
		return err
	}
	held, client, err := admin.Attach(paths.Data, false)
	if err != nil {
		return err
	}
	if client != nil {
		return verifyRunning(ctx, client, w, at)
	}
	defer held.Close()
	return (&Folder{Paths: paths, Key: key, Logger: logger, W: w, Progress: at}).Run(ctx)
}

// stream is a log that is whole.
type stream struct {
	Stream  string   `json:"stream"`
	Events  uint64   `json:"events"`
	First   uint64   `json:"first"`
	Last    uint64   `json:"last"`
	Chain   string   `json:"chain"`             // hex, of the last event
	Skipped []string `json:"skipped,omitempty"` // events that this version cannot decode
}

func newStream(r store.Report) *stream {
	v := &stream{r.Stream, r.Count, r.First, r.Last, hex.EncodeToString(r.Head[:]), nil}
	for _, s := range r.Skipped {
		v.Skipped = append(v.Skipped, s.String())
	}
	return v
}

// streamTaker is a writer that takes a log that is whole as such, not as text.
type streamTaker interface{ takeStream(*stream) }

// Report is the output of `ledge verify --json`, made of the output without --json.
type Report struct {
	Whole   bool      `json:"whole"`
	Streams []*stream `json:"streams"`
	Damages []string  `json:"damages"`
	Notes   []string  `json:"notes"`
}

func (v *Report) takeStream(s *stream) { v.Streams = append(v.Streams, s) }

// Write takes lines.
func (v *Report) Write(text []byte) (int, error) {
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if damage, ok := strings.CutPrefix(line, "damaged: "); ok {
			v.Damages = append(v.Damages, damage)
		} else {
			v.Notes = append(v.Notes, line)
		}
	}
	return len(text), nil
}

// NewReport returns an empty report. Give it to Verify as the writer.
func NewReport() *Report {
	return &Report{Streams: []*stream{}, Damages: []string{}, Notes: []string{}}
}

// printWhole prints a log that is whole, or hands it to a w that takes it as such.
func printWhole(w io.Writer, s *stream) {
	if w, ok := w.(streamTaker); ok {
		w.takeStream(s)
		return
	}
	printStream(w, s)
}

// printStream names the events that could not be decoded too. They are not damage: the state was folded without them.
func printStream(w io.Writer, s *stream) {
	fmt.Fprintf(w, "%s: whole, %d events, %d to %d, chain %s\n", s.Stream, s.Events, s.First, s.Last, s.Chain)
	if len(s.Skipped) > 0 {
		fmt.Fprintf(w, "%s: %d events could not be decoded; skipped:\n", s.Stream, len(s.Skipped))
	}
	for _, text := range s.Skipped {
		fmt.Fprintf(w, "  %s\n", text)
	}
}

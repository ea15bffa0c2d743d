package main

import (
	"encoding/hex"
	"strings"

	"ledge/store"
)

// verifiedStream is a log that is whole.
type verifiedStream struct {
	Stream  string   `json:"stream"`
	Events  uint64   `json:"events"`
	First   uint64   `json:"first"`
	Last    uint64   `json:"last"`
	Chain   string   `json:"chain"`             // hex, of the last event
	Skipped []string `json:"skipped,omitempty"` // events that this version cannot decode
}

func verifiedStreamOf(r store.Report) *verifiedStream {
	v := &verifiedStream{r.Stream, r.Count, r.First, r.Last, hex.EncodeToString(r.Head[:]), nil}
	for _, s := range r.Skipped {
		v.Skipped = append(v.Skipped, s.String())
	}
	return v
}

// streamTaker is a writer that takes a log that is whole as such, not as text.
type streamTaker interface{ takeStream(*verifiedStream) }

// verifyReport is what `ledge verify --json` prints, made of what it prints without.
type verifyReport struct {
	Whole   bool              `json:"whole"`
	Streams []*verifiedStream `json:"streams"`
	Damages []string          `json:"damages"`
	Notes   []string          `json:"notes"`
}

func (v *verifyReport) takeStream(s *verifiedStream) { v.Streams = append(v.Streams, s) }

// Write takes lines.
func (v *verifyReport) Write(text []byte) (int, error) {
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

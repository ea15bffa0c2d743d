package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"ledge/store"
)

// jsonFlag is --json of a command that prints one object. docs/reference/operating.md has the fields.
func jsonFlag(c *cobra.Command) *bool {
	return c.Flags().Bool("json", false, "print a JSON object; an error is one on standard error")
}

// printObject prints a value as JSON.
func printObject(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(value)
}

// printError prints an error, in the form that restic has for it where a command prints JSON.
func printError(w io.Writer, c *cobra.Command, err error, code int) {
	if flag := c.Flags().Lookup("json"); flag == nil || flag.Value.String() != "true" {
		fmt.Fprintf(w, "ledge: %v\n", err)
		return
	}
	_ = json.NewEncoder(w).Encode(struct {
		Type    string `json:"message_type"`
		Code    int    `json:"code"`
		Message string `json:"message"`
	}{"exit_error", code, err.Error()}) // there is no other place to say what fails
}

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

package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// CheckedWriter remembers the first error of the writer below it.
type CheckedWriter struct {
	W   io.Writer
	Err error
}

// Write implements io.Writer.
func (c *CheckedWriter) Write(b []byte) (int, error) {
	n, err := c.W.Write(b)
	if c.Err == nil {
		c.Err = err
	}
	return n, err
}

// NewTable returns a table with these columns. Write rows with tabs between the cells, and call Flush.
func NewTable(w io.Writer, columns ...string) *tabwriter.Writer {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(columns, "\t"))
	return t
}

// FormatDate formats a time in milliseconds since the Unix epoch, or returns none for 0.
func FormatDate(ms int64, none string) string {
	if ms == 0 {
		return none
	}
	return time.UnixMilli(ms).UTC().Format(time.RFC3339)
}

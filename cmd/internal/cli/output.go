package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// checkedWriter remembers the first error of the writer below it.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	if c.err == nil {
		c.err = err
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

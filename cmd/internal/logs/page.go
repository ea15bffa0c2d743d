package logs

import (
	"fmt"
	"io"
	"time"

	"ledge/domain/history"
)

// PrintPage prints a page of a history for people.
func PrintPage(w io.Writer, page history.Page) error {
	for _, e := range page.Entries {
		at := time.UnixMilli(e.Time).UTC().Format("2006-01-02T15:04:05.000Z")
		_, err := fmt.Fprintf(w, "%s  event %d  %s  by %s from %s\n", at, e.Sequence, e.Type, shownText(e.Actor), shownText(e.Origin))
		if err != nil {
			return err
		}
		for _, f := range e.Changes {
			fmt.Fprintf(w, "  %s: %s → %s\n", shownPath(f.Field), shownValue(f.Was), shownValue(f.Is))
		}
		if e.Omitted > 0 {
			fmt.Fprintf(w, "  %d bytes of values, which are more than a page has; ledge log prints them\n", e.Omitted)
		}
	}
	if page.Incomplete != "" {
		fmt.Fprintln(w, page.Incomplete)
	}
	if page.Before > 0 {
		fmt.Fprintf(w, "Older events: --before %d\n", page.Before)
	}
	return nil
}

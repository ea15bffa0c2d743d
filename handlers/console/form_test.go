package console

import (
	"strings"
	"testing"

	"ledge/handlers/entityfile"
)

// TestImportShown cuts long names and reasons: a page lists 200 devices, of which each may have 4 MiB.
func TestImportShown(t *testing.T) {
	long := strings.Repeat("x", 2*importText)
	d := importData{Rows: []entityfile.Row{{Entity: entityfile.Entity{Name: long}, Says: long}, {Entity: entityfile.Entity{Name: "short"}}}}
	d.summarize()
	shown := d.Shown
	if len(shown) != 2 || len(shown[0].Name) > importText+3 || len(shown[0].Says) > importText+3 || shown[1].Name != "short" {
		t.Errorf("got %d rows, names of %d bytes", len(shown), len(shown[0].Name))
	}
}

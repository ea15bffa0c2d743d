package main

import (
	"os"
	"path/filepath"
	"testing"
)

func mustWriteFile(tb testing.TB, name, text string) (path string) {
	tb.Helper()
	path = filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// unitsTOML is a file of units as EdgeX 2.3 has it.
const unitsTOML = `Source="a book"
[Units]
  [Units.temperature]
  Source="a thermometer"
  Values=["C", "F"]
  [Units."air flow"]
  Values=["m³/h"]
`

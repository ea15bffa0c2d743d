package storetest

import (
	"os"
	"testing"
)

// ZeroPages overwrites all pages of a file from one on with zeros.
func ZeroPages(tb testing.TB, path string, from int64) {
	tb.Helper()
	st, err := os.Stat(path)
	if err != nil {
		tb.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(make([]byte, st.Size()-4096*from), 4096*from); err != nil {
		tb.Fatal(err)
	}
}

package damage

import (
	"errors"
	"io/fs"
	"testing"
)

func isMissing(tb testing.TB, err error) bool {
	tb.Helper()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		tb.Fatal(err)
	}
	return err != nil
}

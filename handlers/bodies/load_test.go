package bodies

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestReadAtMost reads texts around the size of a block and around the bound, and one that breaks off.
func TestReadAtMost(t *testing.T) {
	for _, size := range []int{0, 1, blockBytes - 1, blockBytes, blockBytes + 1, 3 * blockBytes} {
		text := strings.Repeat("x", size)
		byBytes := iotest.OneByteReader(strings.NewReader(text))
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(text), "by bytes": byBytes} {
			got, ok, err := ReadAtMost(r, int64(size))
			if string(got) != text || !ok || err != nil {
				t.Errorf("%d bytes, %s: %d bytes, %t, %v", size, name, len(got), ok, err)
			}
		}
		if got, ok, err := ReadAtMost(strings.NewReader(text+"y"), int64(size)); ok || err != nil || got != nil {
			t.Errorf("%d bytes and one: %d bytes, %t, %v", size, len(got), ok, err)
		}
		broken := io.MultiReader(strings.NewReader(text), iotest.ErrReader(io.ErrUnexpectedEOF))
		if _, ok, err := ReadAtMost(broken, int64(size)); ok || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes and an error: %t, %v", size, ok, err)
		}
	}
}

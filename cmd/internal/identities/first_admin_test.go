package identities

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPasswordFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "password")
	for text, want := range map[string]string{"a b\r\nmore\n": "a b", "x": "x", "\nx": "", strings.Repeat("x", MaxPasswordFile+1): ""} {
		mustDo(t, os.WriteFile(name, []byte(text), 0o600))
		if got, err := ReadPasswordFile(name); got != want || (err != nil) != (want == "") {
			t.Errorf("%.20q: got %q, %v, want %q", text, got, err, want)
		}
	}
}

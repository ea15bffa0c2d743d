package static

import (
	"strings"
	"testing"
)

// TestAssetsAreSmall bounds the bytes of all assets that browsers load, compressed.
func TestAssetsAreSmall(t *testing.T) {
	const most = 150_000
	sum := 0
	for name, a := range all {
		if !strings.HasSuffix(name, ".LICENSE") {
			sum += len(a.gzipped)
		}
	}
	if sum > most {
		t.Errorf("the assets take %d bytes, want %d at most", sum, most)
	}
	t.Logf("the assets take %d bytes of %d", sum, most)
}

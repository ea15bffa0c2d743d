package fold

import (
	"bytes"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	a, b, c := "018bcfe5-6800-7abc-8def-0123456789ab", "018bcfe5-6800-7abc-8def-0123456789ac", "00000000-0000-0000-0000-000000000000"
	names := []string{
		"", "a", a, b, c, strings.ToUpper(a), strings.ReplaceAll(a, "-", "_"), a[:35] + "g", a + "0", a[1:],
		"0018bcfe56-800-7abc-8def-0123456789ab", strings.Repeat("x", 16), strings.Repeat("x", 17), "\x01" + strings.Repeat("x", 16), strings.Repeat("x", longestName),
	}
	seen := map[string]string{}
	for _, name := range names {
		key := appendName(nil, name)
		if got := NameIn(key); got != name {
			t.Errorf("%q came back as %q", name, got)
		}
		if same, taken := seen[string(key)]; taken {
			t.Errorf("%q and %q are both %x", name, same, key)
		}
		seen[string(key)] = name
		_, canonical := packed(name)
		if canonical != (name == a || name == b || name == c) || canonical && len(key) != packedLength {
			t.Errorf("%q: packed %t, in %d bytes", name, canonical, len(key))
		}
	}
	if bytes.Compare(appendName(nil, a), appendName(nil, b)) >= 0 {
		t.Error("packed names sort in another way")
	}
}

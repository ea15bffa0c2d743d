package devicesearch

import (
	"slices"
	"testing"
)

func TestNatural(t *testing.T) {
	want := []string{"", "2", "10", "a", "cam", "cam-", "cam-02", "cam-2", "cam-2-9", "cam-2-10", "cam-2a", "cam-10", "cam-99999999999999999999", "cam-100000000000000000000", "cam2", "d"}
	for i, a := range want {
		for j, b := range want {
			if got := Natural(a, b); got < 0 != (i < j) || got == 0 != (i == j) {
				t.Errorf("%q and %q: %d", a, b, got)
			}
		}
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	if slices.SortFunc(got, Natural); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

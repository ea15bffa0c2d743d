package jump

import (
	"slices"
	"strings"
	"testing"

	"ledge/domain"
)

// TestFindPlaces finds pages by words. Before, none of these found one.
func TestFindPlaces(t *testing.T) {
	for _, one := range []struct {
		role domain.Role
		text string
		want string // the paths, those by their labels before the others
	}{
		{domain.Admin, "token", "/users#tokens /users#add-token"}, {domain.Operator, "token", ""},
		{domain.Admin, "password", "/users#add-user /account"}, {domain.Viewer, "password", "/account"},
		{domain.Operator, "import", "/devices/+import /profiles/+upload"}, {domain.Viewer, "import", ""},
		{domain.Viewer, "openapi", "/system#apis"}, {domain.Viewer, "disk", "/system#disk"}, {domain.Viewer, "setting", "/system#settings"},
		{domain.Auditor, "verify record", "/verify"}, {domain.Operator, "verify", ""},
		{domain.Operator, "device imp", "/devices/+import /profiles/+upload"},
		{domain.Operator, "etting", ""}, {domain.Viewer, "imports", ""},
	} {
		var got []string
		for _, f := range slices.Concat(findPlaces(one.text, one.role, true), findPlaces(one.text, one.role, false)) {
			got = append(got, f.Path)
		}
		if text := strings.Join(got, " "); text != one.want {
			t.Errorf("%s, %q: got %q, want %q", one.role, one.text, text, one.want)
		}
	}
	if got := len(findPlaces("new", domain.Admin, false)); got != mostOfKind {
		t.Errorf("got %d places, want %d", got, mostOfKind)
	}
}

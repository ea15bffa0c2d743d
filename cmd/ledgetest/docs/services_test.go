package docs

import (
	"fmt"
	"strings"
	"testing"

	"ledge/cmd/internal/services"
	"ledge/cmd/ledgetest"
)

// TestServicesAreEverywhere holds that files that are not written in Go name each service of the table, with its port.
func TestServicesAreEverywhere(t *testing.T) {
	for path, form := range map[string]string{
		"deploy/prometheus/prometheus.yml": "'127.0.0.1:%d'",
		".ci/dist/image.go":                `"%d/tcp": {}`,
		"README.md":                        "| 127.0.0.1:%d |",
	} {
		text := ledgetest.MustRead(t, ledgetest.Repo(path))
		for _, one := range services.All {
			if want := fmt.Sprintf(form, one.Port); !strings.Contains(text, want) {
				t.Errorf("%s does not name %s: it has no %s", path, one.Name, want)
			}
		}
	}
}

package notifications

import (
	"fmt"
	"strings"
	"testing"

	"ledge/domain"
)

// The document has the types and schemes of the table of kinds.
func TestChannelKindsAreDocumented(t *testing.T) {
	var schemes []string
	for _, k := range domain.ChannelKinds() {
		scheme, _ := k.Field("scheme")
		schemes = append(schemes, scheme.Choices...)
	}
	for name, values := range map[string][]string{"type": domain.ChannelTypes(), "scheme": schemes} {
		if want := fmt.Sprintf("%s: {type: string, enum: [%s]", name, strings.Join(values, ", ")); !strings.Contains(string(document), want) {
			t.Errorf("openapi.yaml lacks %s", want)
		}
	}
}

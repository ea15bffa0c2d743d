package channels

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/domain"
)

// TestEachKindOfChannelIsServed holds that the program has a sender for each kind of channel, and docs/reference/delivery.md its fields.
func TestEachKindOfChannelIsServed(t *testing.T) {
	file, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", "delivery.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(file)
	for _, k := range domain.ChannelKinds() {
		if _, ok := kinds[k.Type]; !ok {
			t.Errorf("%s has no row in kinds", k.Type)
		}
		var fields []string
		for _, f := range k.Fields {
			fields = append(fields, f.Name)
		}
		if want := fmt.Sprintf("| `%s` | `%s` |\n", k.Type, strings.Join(fields, "`, `")); !strings.Contains(text, want) {
			t.Errorf("docs/reference/delivery.md lacks %s", want)
		}
	}
	if len(kinds) != len(domain.ChannelKinds()) {
		t.Errorf("%d kinds have senders, want %d", len(kinds), len(domain.ChannelKinds()))
	}
}

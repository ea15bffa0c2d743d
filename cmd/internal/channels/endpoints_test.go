package channels

import (
	"strings"
	"testing"
)

func TestShownTopic(t *testing.T) {
	if got := shownTopic(strings.Repeat("x", 10_000)); len(got) != topicShownBytes {
		t.Errorf("a long topic has %d bytes, want %d", len(got), topicShownBytes)
	}
	if got := shownTopic("a\xffb"); got != "a\uFFFDb" {
		t.Errorf("got %q", got)
	}
}

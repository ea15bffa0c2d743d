package handlerstest

import (
	"context"
	"strings"

	"ledge/domain"
)

// Transparency is a transparency log with one event, without keys and hashes. It fails as its log does.
type Transparency struct{ *Log }

// Checkpoint implements metadata.Transparency.
func (l Transparency) Checkpoint(context.Context) (string, error) {
	return "ledge/ABC\n1\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n— ledge/ABC AAAAAA==\n", l.Fail
}

// Resource implements metadata.Transparency.
func (l Transparency) Resource(_ context.Context, path string) ([]byte, error) {
	if path != "0/000.p/1" && path != "entries/000.p/1" {
		return nil, domain.Errorf(domain.NotFound, "there is no tile %.80q", path)
	}
	return []byte(strings.Repeat("a", 32)), l.Fail
}

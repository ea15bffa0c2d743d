package ledgetest

import (
	"bytes"
	"fmt"
	"os"
	"testing"
)

// Cancelling ends a context with the first write that finds a file gone, or another file in its place.
type Cancelling struct {
	bytes.Buffer
	File   string
	Old    *os.File // is open, so that no other file gets its inode; nil for none
	Cancel func()
}

func (c *Cancelling) Write(b []byte) (int, error) {
	now, err := os.Stat(c.File)
	old, oldErr := c.Old.Stat()
	if err != nil || oldErr != nil || !os.SameFile(now, old) {
		c.Cancel()
	}
	return c.Buffer.Write(b)
}

// StartWithFiles starts a node that may have so many files open.
func StartWithFiles(t *testing.T, dir string, files int) *Node {
	t.Helper()
	p := LaunchUnder(t, []string{"sh", "-c", fmt.Sprintf(`ulimit -n %d; exec "$@"`, files), "sh"}, dir)
	if err := p.WaitReady(); err != nil {
		t.Fatal(err, p.Log)
	}
	return p
}

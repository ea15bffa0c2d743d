//go:build !linux

package logging

import "io"

// isJournal reports false: only Linux has the journal of systemd.
func isJournal(io.Writer) bool { return false }

package logging

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// isJournal reports whether w is the connection to the journal of systemd, which names its device and inode in JOURNAL_STREAM. A process
// whose parent has redirected the log elsewhere may still have this variable.
func isJournal(w io.Writer) bool {
	info := infoOf(w)
	if info == nil {
		return false
	}
	at, ok := info.Sys().(*syscall.Stat_t)
	return ok && os.Getenv("JOURNAL_STREAM") == fmt.Sprintf("%d:%d", at.Dev, at.Ino)
}

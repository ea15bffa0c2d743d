package fold

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// failNextSync has the file lose what is written to it, and its fsyncs fail, as on a disk that is gone.
func failNextSync(t *testing.T, f *fed) {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	must(t, err)
	defer null.Close()
	must(t, unix.Dup3(int(null.Fd()), int(f.file.os.Fd()), unix.O_CLOEXEC))
}

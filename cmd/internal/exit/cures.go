package exit

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"ledge/store/osfile"
)

// cures are the advice for errors of the file system, which any command may meet at any file.
var cures = []struct {
	is   func(error) bool
	text string
}{
	{func(err error) bool { return errors.Is(err, fs.ErrPermission) }, "run ledge as the user that owns it, or choose another"},
	{osfile.IsFull, "free some space on its disk, and run the command again"},
	{func(err error) bool { return errors.Is(err, syscall.EROFS) }, "mount it for writing, or choose another"},
}

// Cured adds what to do next to an error that does not say so.
func Cured(err error) error {
	for _, one := range cures {
		if one.is(err) && !strings.Contains(err.Error(), "; ") {
			return fmt.Errorf("%w; %s", err, one.text)
		}
	}
	return err
}

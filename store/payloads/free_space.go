package payloads

import (
	"fmt"
	"io"
	"strconv"

	"ledge/domain"
	"ledge/store/osfile"
)

// checkFree returns a Full Error if less than the reserve is free. If the system does not tell, the write itself will fail.
func (f *Files) checkFree() error {
	free, err := f.o.FreeBytes(f.dir)
	if err == nil && free < uint64(max(f.o.ReserveBytes, 0)) {
		return f.full(strconv.FormatUint(free, 10))
	}
	return nil
}

// Refused counts the payloads that were refused because the disk is full, since Open.
func (f *Files) Refused() uint64 { return f.refused.Load() }

// full counts a refused payload and returns the Full Error.
func (f *Files) full(free string) error {
	f.refused.Add(1)
	return domain.Errorf(domain.Full, "the disk is full: %s bytes are free for payloads in %s, and the reserve is %d (four times the setting disk-reserve); free some space, lower the reserve, or raise max-bytes if it is set",
		free, f.dir, f.o.ReserveBytes)
}

// failed wraps an error of Put. A full disk is a Full Error.
func (f *Files) failed(err error) error {
	if final := f.Err(); final != nil {
		return final
	}
	if !osfile.IsFull(err) {
		return fmt.Errorf("keep payload: %w", err)
	}
	free, ferr := f.o.FreeBytes(f.dir)
	if ferr != nil {
		return f.full("too few")
	}
	return f.full(strconv.FormatUint(free, 10))
}

// checkFreeEvery is how many bytes are written between two checks of the free space.
const checkFreeEvery = 4 << 20

// spaceChecked is a writer that fails when the reserve is reached.
type spaceChecked struct {
	files *Files
	w     io.Writer
	since int   // bytes, since the last check
	taken int64 // bytes in all
}

func (w *spaceChecked) Write(p []byte) (int, error) {
	w.files.incoming.Add(int64(len(p)))
	w.taken += int64(len(p))
	if w.since += len(p); w.since >= checkFreeEvery {
		w.since = 0
		if err := w.files.checkFree(); err != nil {
			return 0, err
		}
	}
	return w.w.Write(p)
}

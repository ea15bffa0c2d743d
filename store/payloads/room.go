package payloads

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"syscall"

	"ledge/domain"
)

// room refuses where less than the reserve is free. Where the system does not tell, the write itself will.
func (f *Files) room() error {
	free, err := f.o.FreeBytes(f.dir)
	if err == nil && free < uint64(max(f.o.ReserveBytes, 0)) {
		return f.full(strconv.FormatUint(free, 10))
	}
	return nil
}

// Refused counts the payloads that were refused because the disk is full, since Open.
func (f *Files) Refused() uint64 { return f.refused.Load() }

// full refuses a payload.
func (f *Files) full(free string) error {
	f.refused.Add(1)
	return domain.Errorf(domain.Full, "the disk is full: %s bytes are free for payloads in %s, and the reserve is %d (setting disk-readings-reserve); free some space or lower the reserve",
		free, f.dir, f.o.ReserveBytes)
}

// failed says of an error of Put what it was about; a disk that is full is a Full Error.
func (f *Files) failed(err error) error {
	if final := f.Err(); final != nil {
		return final
	}
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("keep payload: %w", err)
	}
	free, ferr := f.o.FreeBytes(f.dir)
	if ferr != nil {
		return f.full("too few")
	}
	return f.full(strconv.FormatUint(free, 10))
}

// lookEvery is how many bytes are written between two looks at the room.
const lookEvery = 4 << 20

// watched writes while there is room.
type watched struct {
	files *Files
	w     io.Writer
	since int // bytes, since the last look
}

func (w *watched) Write(p []byte) (int, error) {
	if w.since += len(p); w.since >= lookEvery {
		w.since = 0
		if err := w.files.room(); err != nil {
			return 0, err
		}
	}
	return w.w.Write(p)
}

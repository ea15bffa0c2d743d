package osfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"unsafe"
)

// DirectAlign is what the position in the file, the address and the length of a direct read or write are multiples of, in bytes: no disk asks for
// more.
const DirectAlign = 4 << 10

// Misaligned returns by how many bytes p begins after an aligned address.
func Misaligned(p []byte) int { return int(uintptr(unsafe.Pointer(unsafe.SliceData(p))) % DirectAlign) }

// Aligned makes a buffer that begins at an aligned address.
func Aligned(size int) []byte {
	p := make([]byte, size+DirectAlign)
	return p[(DirectAlign-Misaligned(p))%DirectAlign:][:size]
}

// compared is how many bytes [OnDisk] compares at a time.
const compared = 1 << 20

// OnDisk compares a file that was synced, from an offset on, with the bytes that the disk itself has. The error of a difference names the place.
// It wraps errors.ErrUnsupported if the file system cannot read past the page cache.
func OnDisk(path string, from int64) error {
	cached, err := Open(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer cached.Close()
	disk, err := Open(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer disk.Close()
	if err := SetDirect(disk, true); err != nil {
		return fmt.Errorf("%s: %w: %w", path, errors.ErrUnsupported, err)
	}
	at := from - from%DirectAlign
	if _, err := disk.Seek(at, io.SeekStart); err != nil {
		return err
	}
	want, got := make([]byte, compared), Aligned(compared)
	for {
		n, err := cached.ReadAt(want, at)
		if n == 0 && errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		m, err := disk.Read(got)
		switch {
		case errors.Is(err, syscall.EINVAL):
			return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case !bytes.Equal(want[:n], got[:m]):
			return fmt.Errorf("%s: the disk has other bytes behind offset %d than memory", path, at)
		case n < len(want):
			return nil
		}
		at += int64(n)
	}
}

package payloads

import (
	"os"
	"unsafe"
)

// blockAlign is what the position in the file, the address and the length of a direct write are multiples of, in bytes: no
// disk asks for more.
const blockAlign = 4 << 10

// directLeast is how many bytes are written direct at a time, at least: fewer are not worth a wait for the disk.
const directLeast = 64 << 10

// output writes a file from its beginning to its end. What comes in large aligned pieces goes to the disk past the page
// cache, where the system and the file system can. DESIGN.md says why.
type output struct {
	file     *os.File
	at       int64 // bytes written
	isDirect bool
	refused  bool // direct writes were
}

func (o *output) Write(p []byte) (n int, err error) {
	if whole := len(p) / blockAlign * blockAlign; o.allowsDirect(p[:whole]) {
		n, err = o.write(p[:whole], true)
		o.refused = err != nil // if the disk is at fault, ordinary writes or the sync will say so
	}
	if n == len(p) {
		return n, nil
	}
	rest, err := o.write(p[n:], false)
	return n + rest, err
}

func (o *output) allowsDirect(p []byte) bool {
	return !o.refused && len(p) >= directLeast && o.at%blockAlign == 0 && misaligned(p) == 0
}

func (o *output) write(p []byte, direct bool) (n int, err error) {
	if o.isDirect != direct {
		if err := setDirect(o.file, direct); err != nil {
			return 0, err
		}
		o.isDirect = direct
	}
	n, err = o.file.Write(p)
	o.at += int64(n)
	return n, err
}

// misaligned is by how many bytes p begins after an aligned address.
func misaligned(p []byte) int { return int(uintptr(unsafe.Pointer(unsafe.SliceData(p))) % blockAlign) }

// makeAligned makes a buffer that begins at an aligned address.
func makeAligned(size int) []byte {
	p := make([]byte, size+blockAlign)
	return p[(blockAlign-misaligned(p))%blockAlign:][:size]
}

package payloads

import (
	"os"

	"ledge/store/osfile"
)

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
	if whole := len(p) / osfile.DirectAlign * osfile.DirectAlign; o.allowsDirect(p[:whole]) {
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
	return !o.refused && len(p) >= directLeast && o.at%osfile.DirectAlign == 0 && osfile.Misaligned(p) == 0
}

func (o *output) write(p []byte, direct bool) (n int, err error) {
	if o.isDirect != direct {
		if err := osfile.SetDirect(o.file, direct); err != nil {
			return 0, err
		}
		o.isDirect = direct
	}
	n, err = o.file.Write(p)
	o.at += int64(n)
	return n, err
}

package data

import (
	"encoding/binary"
	"io"
	"strings"

	"ledge/handlers/answers"
)

// The major types of CBOR (RFC 8949, 3.1), and its items that have no length.
const (
	majorUint     = 0
	majorNegative = 1
	majorBytes    = 2
	majorText     = 3

	openText  = 0x7f
	openList  = 0x9f
	openMap   = 0xbf
	cborFalse = 0xf4
	cborTrue  = 0xf5
	cborNull  = 0xf6
	cborFloat = 0xfb
	cborBreak = 0xff
)

// cborEncoder leaves the lengths of objects and lists open: nobody knows before how many readings are still there.
type cborEncoder struct{ out *answers.Output }

func (e cborEncoder) item(b byte) { _, _ = e.out.Write([]byte{b}) }

// head begins an item with its length or its number.
func (e cborEncoder) head(major byte, n uint64) {
	b := append(make([]byte, 0, 9), major<<5)
	switch {
	case n < 24:
		b[0] |= byte(n)
	case n < 1<<8:
		b[0] |= 24
		b = append(b, byte(n))
	case n < 1<<16:
		b[0] |= 25
		b = binary.BigEndian.AppendUint16(b, uint16(n))
	case n < 1<<32:
		b[0] |= 26
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	default:
		b[0] |= 27
		b = binary.BigEndian.AppendUint64(b, n)
	}
	_, _ = e.out.Write(b)
}

func (e cborEncoder) begin()          { e.item(openMap) }
func (e cborEncoder) end()            { e.item(cborBreak) }
func (e cborEncoder) list()           { e.item(openList) }
func (e cborEncoder) endList()        { e.item(cborBreak) }
func (e cborEncoder) key(name string) { e.text(name) }
func (e cborEncoder) last()           {}

// text writes what is no UTF-8 as U+FFFD, as JSON does.
func (e cborEncoder) text(s string) {
	s = strings.ToValidUTF8(s, "\ufffd")
	e.head(majorText, uint64(len(s)))
	e.out.Print(s)
}

func (e cborEncoder) number(n int64) {
	if n < 0 {
		e.head(majorNegative, uint64(-1-n))
		return
	}
	e.head(majorUint, uint64(n))
}

func (e cborEncoder) bytes(r io.Reader, size int64) {
	e.head(majorBytes, uint64(size))
	e.out.Fail(copyAll(e.out, r, size))
}

func (e cborEncoder) long(r io.Reader) {
	e.item(openText)
	e.out.Fail(eachPart(r, func(part []byte) { e.text(string(part)) }))
	e.item(cborBreak)
}

func (e cborEncoder) object(r io.Reader) { e.out.Fail(transcode(e, r)) }

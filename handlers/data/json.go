package data

import (
	"bytes"
	"encoding/base64"
	"io"

	"ledge/domain/fastjson"
	"ledge/handlers/answers"
)

// jsonEncoder writes as encoding/json does, and so EdgeX.
type jsonEncoder struct {
	out   *answers.Output
	comma bool // something stands before the next key or element

	scratch []byte
}

func (e *jsonEncoder) separate(more bool) {
	if e.comma {
		e.out.Print(",")
	}
	e.comma = more
}

// open writes what is not yet a whole value.
func (e *jsonEncoder) open(text string) {
	e.separate(false)
	e.out.Print(text)
}

func (e *jsonEncoder) close(text string) {
	e.comma = true
	e.out.Print(text)
}

func (e *jsonEncoder) begin()   { e.open("{") }
func (e *jsonEncoder) end()     { e.close("}") }
func (e *jsonEncoder) list()    { e.open("[") }
func (e *jsonEncoder) endList() { e.close("]") }

func (e *jsonEncoder) key(name string) {
	e.open(`"`)
	e.out.Print(name)
	e.out.Print(`":`)
}

func (e *jsonEncoder) text(s string) {
	e.separate(true)
	_, _ = e.out.Write(e.quoted(s))
}

// quoted returns s in quotes, until the next call.
func (e *jsonEncoder) quoted(s string) []byte {
	b, err := texts.Append(e.scratch[:0], &s)
	if err != nil {
		panic(err) // a string can always be written
	}
	e.scratch = b
	return b
}

var texts = fastjson.Of[string]()

func (e *jsonEncoder) number(n int64) {
	e.separate(true)
	e.out.Print(decimal(n))
}

func (e *jsonEncoder) bytes(r io.Reader, size int64) {
	e.separate(true)
	e.out.Print(`"`)
	w := base64.NewEncoder(base64.StdEncoding, e.out)
	e.out.Fail(copyAll(w, r, size))
	_ = w.Close() // an error of the output is kept there
	e.out.Print(`"`)
}

// copyAll copies size bytes; an error of w is its own.
func copyAll(w io.Writer, r io.Reader, size int64) error {
	n, err := io.Copy(w, io.LimitReader(r, size))
	if err == nil && n < size {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (e *jsonEncoder) long(r io.Reader) {
	e.separate(true)
	e.out.Print(`"`)
	e.out.Fail(eachPart(r, func(part []byte) {
		b := e.quoted(string(part))
		_, _ = e.out.Write(b[1 : len(b)-1])
	}))
	e.out.Print(`"`)
}

// object writes what is no UTF-8 as U+FFFD: an object that was posted to device-rest may have some, and no answer must.
func (e *jsonEncoder) object(r io.Reader) {
	e.separate(true)
	e.out.Fail(eachPart(r, func(part []byte) { _, _ = e.out.Write(bytes.ToValidUTF8(part, []byte("\ufffd"))) }))
}

// last ends with a newline, as EdgeX does.
func (e *jsonEncoder) last() { e.out.Print("\n") }

package devicerest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"ledge/domain"
)

// objectReader passes a stream on while it checks that all of it is one JSON object. What is none makes Read fail in
// place of io.EOF, or before it; Err keeps that error for callers whose reader loses it.
type objectReader struct {
	Err    error
	r      io.Reader
	parser *io.PipeWriter
	result chan error
}

// maxObjectDepth is that of encoding/json.
const maxObjectDepth = 10_000

func newObjectReader(r io.Reader, resource string) *objectReader {
	pr, pw := io.Pipe()
	o := &objectReader{r: r, parser: pw, result: make(chan error, 1)}
	go func() {
		err := parseObject(pr)
		if err != nil {
			err = domain.Errorf(domain.Invalid, "resource %q: the body is no JSON object: %v", resource, err)
		}
		o.result <- err
		_ = pr.CloseWithError(err) // a nil error makes writes fail with io.ErrClosedPipe, but nothing is left to write
	}()
	return o
}

func (o *objectReader) Read(p []byte) (int, error) {
	n, err := o.r.Read(p)
	if n > 0 {
		if _, o.Err = o.parser.Write(p[:n]); o.Err != nil {
			return 0, o.Err
		}
	}
	if err != io.EOF {
		return n, err
	}
	_ = o.parser.Close()
	o.Err = <-o.result
	o.result <- o.Err // for a Read after this one
	if o.Err != nil {
		return 0, o.Err
	}
	return n, io.EOF
}

// close ends the parser where the stream was not read to its end.
func (o *objectReader) close() { _ = o.parser.CloseWithError(io.ErrUnexpectedEOF) }

// parseObject reads r to its end.
func parseObject(r io.Reader) error {
	dec := json.NewDecoder(r)
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return errors.New("it does not begin with {")
	}
	for depth := 1; depth > 0; {
		t, err := dec.Token()
		if err != nil {
			return fmt.Errorf("after %d bytes: %w", dec.InputOffset(), err)
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth > maxObjectDepth {
			return fmt.Errorf("it is more than %d levels deep", maxObjectDepth)
		}
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("something follows it after %d bytes", dec.InputOffset())
	}
	return nil
}

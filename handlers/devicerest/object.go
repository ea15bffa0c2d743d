package devicerest

import (
	"io"

	"ledge/domain"
)

// objectReader passes a stream on while it checks that all of it is one JSON object, with the same few bytes of memory
// for every stream. What is none makes Read fail in place of io.EOF, or before it; Err keeps that error for callers whose
// reader loses it.
type objectReader struct {
	Err      error
	r        io.Reader
	resource string
	scanner  objectScanner
}

func newObjectReader(r io.Reader, resource string) *objectReader {
	return &objectReader{r: r, resource: resource}
}

func (o *objectReader) Read(p []byte) (int, error) {
	if o.Err != nil {
		return 0, o.Err
	}
	n, err := o.r.Read(p)
	fault := o.scanner.scan(p[:n])
	if fault == nil && err == io.EOF {
		fault = o.scanner.end()
	}
	if fault != nil {
		o.Err = domain.Errorf(domain.Invalid, "resource %q: the body is no JSON object: %v", o.resource, fault)
		return 0, o.Err
	}
	return n, err
}

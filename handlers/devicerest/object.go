package devicerest

import (
	"io"

	"ledge/domain"
)

// objectReader passes a stream on while it checks that all of it is one JSON object, or the value of a resource, with the same few bytes of memory
// for every stream. A fault makes Read fail in place of io.EOF, or before it; Err keeps that error for callers whose
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

// newValueReader is for the value of an Object: any JSON but null.
func newValueReader(r io.Reader, resource string) *objectReader {
	return &objectReader{r: r, resource: resource, scanner: objectScanner{any: true}}
}

func (o *objectReader) fault() string {
	if o.scanner.any {
		return "the body is no JSON value"
	}
	return "the body is no JSON object"
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
		o.Err = domain.Errorf(domain.Invalid, "resource %q: %s: %v", o.resource, o.fault(), fault)
		return 0, o.Err
	}
	return n, err
}

package handlerstest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"
)

type looseKey struct{}

// Loose marks a request that is answered with success although the document does not allow it.
func Loose(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), looseKey{}, true))
}

// IsLoose reports whether a request is marked so.
func IsLoose(r *http.Request) bool { return r.Context().Value(looseKey{}) != nil }

// Watch returns h with each exchange held to the document. Benchmarks are left alone.
func (c *Contract) Watch(tb testing.TB, h http.Handler) http.Handler {
	if _, ok := tb.(*testing.B); ok {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent := &tee{ReadCloser: r.Body}
		got := &recorder{ResponseWriter: w, status: http.StatusOK}
		original := r.Clone(r.Context()) // as it was before the handler
		r.Body = sent
		h.ServeHTTP(got, r)
		x := Exchange{
			Request: original, Sent: sent.read.Bytes(), Status: got.status, Header: w.Header(), Got: got.body.Bytes(),
			Loose: IsLoose(r),
		}
		if err := c.Check(x); err != nil {
			tb.Error(err)
		}
	})
}

// tee keeps what is read.
type tee struct {
	io.ReadCloser
	read bytes.Buffer
}

func (t *tee) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.read.Write(p[:n])
	return n, err
}

// recorder keeps what is written.
type recorder struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	r.body.Write(p)
	return r.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

package transport

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
)

// Failure is why a TLS handshake failed.
type Failure string

// The failures.
const (
	Alert       Failure = "client_alert" // the client ended it, mostly because it does not trust the CA of the server
	Certificate Failure = "client_certificate"
	Version     Failure = "version" // the client has only versions of TLS that are too old
	Timeout     Failure = "timeout"
	Gone        Failure = "gone"  // the client has closed the connection
	OtherCause  Failure = "other" // such as bytes that are not TLS
)

// localAlert is how crypto/tls reports an alert that the server has sent.
const localAlert = "local error"

// Causes are all failures.
var Causes = []Failure{Alert, Certificate, Version, Timeout, Gone, OtherCause}

// Failures counts failed handshakes. The zero value is ready, and nil counts nothing.
type Failures [6]atomic.Uint64

// Count returns the failed handshakes of one cause since the start.
func (f *Failures) Count(cause Failure) uint64 {
	for i, c := range Causes {
		if c == cause && f != nil {
			return f[i].Load()
		}
	}
	return 0
}

func (f *Failures) add(err error) {
	cause := causeOf(err)
	for i, c := range Causes {
		if c == cause && f != nil {
			f[i].Add(1)
		}
	}
}

func causeOf(err error) Failure {
	var network *net.OpError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &certificate):
		return Certificate
	case errors.Is(err, os.ErrDeadlineExceeded):
		return Timeout
	case errors.As(err, &network) && network.Op == "remote error": // as crypto/tls reports an alert
		return Alert
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), network != nil && network.Op != localAlert:
		return Gone
	case strings.Contains(err.Error(), "unsupported versions"): // crypto/tls has no type for it
		return Version
	}
	return OtherCause
}

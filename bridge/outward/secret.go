package outward

import "errors"

// Secrets give the credentials that are kept at a path, for one use of a channel. An error with ErrNoSecret in its chain says that
// there are none, any other that they may not be used so.
type Secrets interface {
	Use(path string, u Use) (map[string]string, error)
}

// Use is what credentials are wanted for.
type Use struct {
	Host string
	Port int
	// Insecure says that they would go out without TLS, or to a server whose certificate is not verified.
	Insecure bool
}

// ErrNoSecret says that nothing is kept at a path.
var ErrNoSecret = errors.New("there is no secret")

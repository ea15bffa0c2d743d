package callback

import (
	"cmp"
	"errors"
	"net/url"
	"strconv"

	"ledge/bridge/guard"
)

// CheckAddress returns why no service may be called back at a base address, as far as its host and port say so as they are
// written: the message names the host, the setting that forbids it and the cure. What is no URL is not checked. Ledge's own
// address passes here, because that is where device-rest is: a call to it is refused when it is made.
func (c *Callbacks) CheckAddress(base string) error {
	host, port, ok := hostAndPort(base)
	if !ok {
		return nil
	}
	if r, ok := errors.AsType[*guard.Refused](c.Guard.Allowed(host, port)); ok {
		return errors.New(r.Message)
	}
	return nil
}

func hostAndPort(base string) (host string, port int, ok bool) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return "", 0, false
	}
	standard := "80"
	if u.Scheme == "https" {
		standard = "443"
	}
	port, err = strconv.Atoi(cmp.Or(u.Port(), standard))
	return u.Hostname(), port, err == nil
}

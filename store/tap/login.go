package tap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"ledge/domain"
)

// checkWait is how long Options.Login may take for one client.
const checkWait = 5 * time.Second

// access is what a client that has logged in may do.
type access struct {
	class    class
	identity domain.Identity // empty in open mode
	token    string          // with which the client has logged in, "" for a password
}

// loginLine is what the CONNECT line of a client says of its login.
type loginLine struct {
	User  string `json:"user"`
	Pass  string `json:"pass"`
	Token string `json:"auth_token"`
}

// credentials are the fields of CONNECT that prove who a client is. The server behind the proxy does not need them.
var credentials = []string{"user", "pass", "auth_token", "jwt", "nkey", "sig"}

// connectFields returns the fields of a CONNECT line. It is not ok for another line.
func connectFields(line []byte) (text []byte, ok bool) {
	const connect = "CONNECT "
	if len(line) <= len(connect) || !strings.EqualFold(string(line[:len(connect)]), connect) {
		return nil, false
	}
	return line[len(connect):], true
}

// withoutCredentials returns a CONNECT line, with its end, that has no secrets.
func withoutCredentials(line []byte) []byte {
	text, _ := connectFields(line)
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(text, &fields) != nil {
		return append(line, "\r\n"...) // the server refuses it
	}
	for name := range fields {
		for _, secret := range credentials {
			if strings.EqualFold(name, secret) {
				delete(fields, name)
			}
		}
	}
	var out bytes.Buffer
	out.WriteString("CONNECT ")
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(fields) // it was decoded just now; Encode ends the line
	return append(bytes.TrimSpace(out.Bytes()), "\r\n"...)
}

// accessOf finds out who a client is, by its first line.
func (p *proxy) accessOf(s *session, line []byte) (access, error) {
	if p.check == nil {
		return access{class: classOf(line)}, nil
	}
	var login loginLine
	text, _ := connectFields(line)
	if json.Unmarshal(text, &login) != nil || login == (loginLine{}) {
		return access{}, refusal{byCredentials, violation, errors.New("no user and password, and no token")}
	}
	if login.Token == "" && isLedgeToken(login.Pass) {
		login = loginLine{Token: login.Pass}
	}
	ctx, cancel := s.limited(checkWait)
	defer cancel()
	identity, err := p.check(ctx, login.User, login.Pass, login.Token, s.client)
	if err != nil {
		return access{}, refusalOf(err)
	}
	a := access{identity: identity, token: login.Token}
	a.class, err = classFor(identity)
	return a, err
}

// isLedgeToken reports whether a password is a token of Ledge: NATS clients often have no field but the password.
func isLedgeToken(password string) bool {
	const secret = 26 // characters, see crypto/rand.Text
	rest, ok := strings.CutPrefix(password, "ledge_")
	i := strings.LastIndexByte(rest, '_')
	return ok && i > 0 && len(rest)-i-1 == secret
}

// limited is a context that ends after a time, or when the client is gone.
func (s *session) limited(limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	go func() {
		select {
		case <-s.gone:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// classFor returns the class of an identity. A role that may audit also reads history. Only posters are restricted to devices, and posters may not read.
func classFor(i domain.Identity) (class, error) {
	switch {
	case !i.Role.May(domain.MayRead):
		why := fmt.Errorf("role %s may not read; the tap needs %s", i.Role, domain.RolesThatMay(domain.MayRead))
		return 0, refusal{byRole, "permissions violation: " + why.Error(), why}
	case i.Role.May(domain.MayAudit):
		return ofHistory, nil
	}
	return ofTaps, nil
}

// admit gives a session its access, within the limits of the class.
func (p *proxy) admit(s *session, a access) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, here := p.sessions[s]; !here {
		return net.ErrClosed
	}
	same, c := 0, a.class
	for other := range p.sessions {
		if other.class == c && other.client == s.client {
			same++
		}
	}
	if p.count[c] >= p.most[c] || same >= (p.most[c]+1)/2 {
		why := fmt.Errorf("maximum connections exceeded: %d, and %d from %s", p.count[c], same, s.client)
		return refusal{byConnections, why.Error(), why}
	}
	p.count[s.class]--
	s.class, s.access = c, a
	p.count[c]++
	return nil
}

package mail

import (
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"ledge/bridge/outward"
)

// The schemes of a mail server's URL say how the way to it is encrypted. There is no opportunistic STARTTLS: whoever is on the way could take
// the offer out.
const (
	startTLS = "smtp"       // STARTTLS or nothing
	implicit = "smtps"      // TLS from the first byte
	plain    = "smtp+plain" // no TLS, and so no login
)

// ports are those of a URL that names none.
var ports = map[string]int{startTLS: 587, implicit: 465, plain: 25}

var policies = map[string]gomail.TLSPolicy{
	plain: gomail.NoTLS, startTLS: gomail.TLSMandatory,
	// There is nothing left to start; "opportunistic" has the library see for itself that the connection is encrypted.
	implicit: gomail.TLSOpportunistic,
}

const (
	// SecretPath is where the secret with username and password for the mail server is: one mail server has one login.
	SecretPath = "smtp"
)

// Server is a mail server, with the address that e-mail is from. The zero Server stands for a node without a mail server.
type Server struct {
	scheme, Host string
	Port         int
	from         mail.Address
}

// LogsIn reports whether the login is used. A connection without TLS would show it.
func (s Server) LogsIn() bool { return s.Host != "" && s.scheme != plain }

// ParseServer parses the URL of a mail server. The error is how to cure it.
func ParseServer(text string) (Server, error) {
	if text == "" {
		return Server{}, nil
	}
	u, err := url.Parse(text)
	if err != nil || ports[u.Scheme] == 0 || u.Hostname() == "" {
		return Server{}, errors.New("use a URL such as smtp://mail.example.org:587?from=ledge@example.org, with the scheme smtp, smtps or smtp+plain")
	}
	if u.User != nil {
		return Server{}, errors.New("leave out the login; post it to /api/v2/secret of the notifications service, at the path " + SecretPath)
	}
	if u.Path != "" && u.Path != "/" || u.Fragment != "" {
		return Server{}, errors.New("leave out what follows the port, but for ?from=")
	}
	from, err := parseFrom(u.RawQuery)
	if err != nil {
		return Server{}, err
	}
	s := Server{u.Scheme, u.Hostname(), ports[u.Scheme], from}
	if u.Port() != "" {
		if s.Port, err = strconv.Atoi(u.Port()); err != nil || s.Port < 1 || s.Port > 65535 {
			return Server{}, errors.New("use a TCP port from 1 to 65535")
		}
	}
	return s, nil
}

// parseFrom returns the address that e-mail is from, the only parameter of the URL of a mail server.
func parseFrom(query string) (mail.Address, error) {
	parameters, err := url.ParseQuery(strings.ReplaceAll(query, "+", "%2B")) // a plus is a part of an address
	if err != nil {
		return mail.Address{}, errors.New("write what follows ? as from=ledge@example.org")
	}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		if name != "from" {
			return mail.Address{}, fmt.Errorf("leave out the parameter %q; only from is known", name)
		}
	}
	if len(parameters["from"]) > 1 {
		return mail.Address{}, errors.New("the parameter from is there twice; leave one out")
	}
	from, err := mail.ParseAddress(parameters.Get("from"))
	if err != nil {
		return mail.Address{}, fmt.Errorf("from %q is not an address; add the sender of e-mail, such as ?from=ledge@example.org", parameters.Get("from"))
	}
	return *from, nil
}

// Options configure a [Sender].
type Options struct {
	// Dial connects; it is required.
	Dial outward.Dial
	// Server is the server (setting smtp-server). Without one nothing can be sent. The name before its address is the notification's sender.
	Server Server
	// Roots are the authorities to trust; nil for the system's.
	Roots *x509.CertPool
	// Secrets have username and password at SecretPath. Without such a secret, or with an empty password, there is no login.
	Secrets outward.Secrets
	// Timeout bounds a message from the connecting to the server's answer: 10 s where it is zero.
	Timeout time.Duration
	// Now dates the messages; nil means time.Now.
	Now func() time.Time
}

// login returns the account; it is empty where there is none to be used.
func (o Options) login() (username, password string, err error) {
	if o.Secrets == nil || !o.Server.LogsIn() {
		return "", "", nil
	}
	secret, err := o.Secrets.Use(SecretPath, o.use())
	if errors.Is(err, outward.ErrNoSecret) {
		return "", "", nil
	}
	if err != nil {
		return "", "", err
	}
	if secret["username"] == "" {
		return "", "", fmt.Errorf("the secret %q has no username; post it again with one", SecretPath)
	}
	return secret["username"], secret["password"], nil
}

func (o Options) use() outward.Use { return outward.Use{Host: o.Server.Host, Port: o.Server.Port} }

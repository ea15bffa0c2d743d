package mail

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"strconv"
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

// Server is a mail server. The zero Server is none.
type Server struct {
	scheme, Host string
	Port         int
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
		return Server{}, errors.New("use a URL such as smtp://mail.example.org:587, smtps://mail.example.org:465 or smtp+plain://127.0.0.1:25")
	}
	if u.User != nil {
		return Server{}, errors.New("leave out the login; post it to /api/v2/secret of the notifications service, at the path " + SecretPath)
	}
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return Server{}, errors.New("leave out what follows the port")
	}
	s := Server{u.Scheme, u.Hostname(), ports[u.Scheme]}
	if u.Port() != "" {
		if s.Port, err = strconv.Atoi(u.Port()); err != nil || s.Port < 1 || s.Port > 65535 {
			return Server{}, errors.New("use a TCP port from 1 to 65535")
		}
	}
	return s, nil
}

// CheckSender returns how to cure the address that e-mail is from.
func CheckSender(text string) error {
	if _, err := mail.ParseAddress(text); err != nil {
		return errors.New("is no address; write it as ledge@example.org")
	}
	return nil
}

// Options configure a [Sender].
type Options struct {
	// Dial connects; it is required.
	Dial outward.Dial
	// Server is the server (setting smtp-server). Without one nothing can be sent.
	Server Server
	// Sender is the address that messages are from (setting smtp-sender). The name before it is the notification's sender.
	Sender string
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

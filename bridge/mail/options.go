package mail

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"ledge/bridge/outward"
)

// The ways to encrypt.
const (
	TLSNone          = "none"
	TLSOpportunistic = "opportunistic" // STARTTLS where the server offers it, as EdgeX does
	TLSMandatory     = "mandatory"     // STARTTLS or nothing
	TLSImplicit      = "implicit"      // from the first byte, as on port 465
)

var policies = map[string]gomail.TLSPolicy{
	TLSNone: gomail.NoTLS, TLSOpportunistic: gomail.TLSOpportunistic, TLSMandatory: gomail.TLSMandatory,
	// There is nothing left to start; "opportunistic" has the library see for itself that the connection is encrypted.
	TLSImplicit: gomail.TLSOpportunistic,
}

// Options configure a [Sender]; the settings are those that its errors name.
type Options struct {
	// Dial connects; it is required.
	Dial outward.Dial
	// Host and Port are the server (settings smtp-host and smtp-port). Without a host nothing can be sent.
	Host string
	Port int
	// Sender is the address that messages are from (setting smtp-sender). The name before it is the notification's sender.
	Sender string
	// Subject is that of every message (setting smtp-subject).
	Subject string
	// TLS is one of the ways to encrypt (setting smtp-tls); SkipVerify trusts every certificate (setting smtp-skip-verify).
	TLS        string
	SkipVerify bool
	// Roots are the authorities to trust; nil for the system's.
	Roots *x509.CertPool
	// Secrets have username and password at SecretPath (setting smtp-secret-path). Without a path, or with an empty password, there
	// is no login.
	Secrets    outward.Secrets
	SecretPath string
	// Timeout bounds a message from the connecting to the server's answer: 30 s where it is zero.
	Timeout time.Duration
	// Now dates the messages; nil means time.Now.
	Now func() time.Time
}

// Check returns an error that names the setting that is wrong. Of Dial and Secrets it says nothing.
func (o Options) Check() error {
	_, err := o.check()
	return err
}

// check returns the address of the sender.
func (o Options) check() (*mail.Address, error) {
	if _, ok := policies[o.TLS]; !ok {
		return nil, fmt.Errorf("setting smtp-tls: %q is unknown; use one of none, opportunistic, mandatory, implicit", o.TLS)
	}
	if o.Host == "" {
		return nil, nil
	}
	if o.Port < 1 || o.Port > 65535 {
		return nil, fmt.Errorf("setting smtp-port: %d: use a TCP port from 1 to 65535", o.Port)
	}
	if strings.ContainsFunc(o.Subject, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, errors.New("setting smtp-subject: use one line of text")
	}
	sender, err := mail.ParseAddress(o.Sender)
	if err != nil {
		return nil, fmt.Errorf("setting smtp-sender: %q is no address; write it as ledge@example.org", o.Sender)
	}
	return sender, nil
}

// login returns the account; it is empty where there is none to be used.
func (o Options) login() (username, password string, err error) {
	if o.SecretPath == "" || o.Secrets == nil {
		return "", "", nil
	}
	secret, err := o.Secrets.Use(o.SecretPath, o.use())
	if errors.Is(err, outward.ErrNoSecret) {
		return "", "", fmt.Errorf("there is no secret %q for the mail server; post it to /api/v2/secret with username and password, or empty the setting smtp-secret-path", o.SecretPath)
	}
	if err != nil {
		return "", "", refusedUse(err)
	}
	if secret["username"] == "" {
		return "", "", fmt.Errorf("the secret %q has no username; post it again with one", o.SecretPath)
	}
	return secret["username"], secret["password"], nil
}

// use is what the account is used for. Encryption counts where it is certain and the certificate verified.
func (o Options) use() outward.Use {
	encrypted := o.TLS == TLSMandatory || o.TLS == TLSImplicit
	return outward.Use{Host: o.Host, Port: o.Port, Insecure: !encrypted || o.SkipVerify}
}

func refusedUse(err error) error {
	return fmt.Errorf("%w; a mail server that asks for no login needs no secret: empty the setting smtp-secret-path", err)
}

// CheckSecret returns why the mail server may not have the account. A secret that is not there yet is no reason.
func (s *Sender) CheckSecret() error {
	if s.o.SecretPath == "" || s.o.Secrets == nil {
		return nil
	}
	if _, err := s.o.Secrets.Use(s.o.SecretPath, s.o.use()); err != nil && !errors.Is(err, outward.ErrNoSecret) {
		return fmt.Errorf("type: %w", refusedUse(err))
	}
	return nil
}

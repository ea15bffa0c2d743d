package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"ledge/bridge/outward"
)

// Sender sends e-mail, with a connection for each message. Send may be called from several goroutines.
type Sender struct {
	o Options
}

// New returns a Sender.
func New(o Options) *Sender {
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Sender{o}
}

// Send sends m to the recipients and returns what the server answered. The error is nil where all of them get it.
func (s *Sender) Send(ctx context.Context, t Target, m outward.Message) (response string, err error) {
	if s.o.Server.Host == "" {
		return "", final(errors.New("there is no mail server; name one in the setting smtp-server"))
	}
	msg, err := s.compose(t, m)
	if err != nil {
		return "", final(err)
	}
	username, password, err := s.o.login()
	if err != nil {
		return "", final(err)
	}
	timed, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	response, err = s.deliver(timed, msg, username, password)
	if err == nil {
		return response, nil
	}
	refused, answered := errors.AsType[refusals](err)
	left, lost := refused.of(t.Recipients)
	if timed.Err() != nil {
		err = fmt.Errorf("%w: %w", timed.Err(), err)
	}
	return response, &outward.Error{
		Err:   errors.New(outward.Cut(fmt.Sprintf("mail server %s: %v", s.o.Server.Host, err))),
		Final: outward.Permanent(err) || lasting(err) || errors.Is(err, gomail.ErrNoSupportedAuthDiscovered),
		Reply: answered, Left: left, Refused: lost,
	}
}

func final(err error) error { return &outward.Error{Err: err, Final: true} }

// lasting reports whether the server refuses for good: with a reply of 5xx (RFC 5321, 4.2.1).
func lasting(err error) bool {
	reply, ok := errors.AsType[*textproto.Error](err)
	return ok && reply.Code >= 500
}

func (s *Sender) deliver(ctx context.Context, msg *gomail.Msg, username, password string) (response string, err error) {
	var conn net.Conn
	defer func() {
		if conn != nil {
			conn.Close() // the library leaves it open where it fails
		}
	}()
	stop := func() bool { return true }
	defer func() { stop() }()
	client, err := s.client(username, password, func(dialled context.Context, network, address string) (net.Conn, error) {
		c, err := s.dial(dialled, network, address)
		if err == nil {
			conn = c
			stop = context.AfterFunc(ctx, func() { c.Close() }) // the library's own deadlines are for single steps
		}
		return c, err
	})
	if err != nil {
		return "", err
	}
	session, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return "", err
	}
	response, err = transact(session, msg)
	if _, replied := errors.AsType[*textproto.Error](err); err == nil || replied {
		_ = session.Quit() // what was taken is taken
	}
	return response, err
}

func (s *Sender) client(username, password string, dial gomail.DialContextFunc) (*gomail.Client, error) {
	options := []gomail.Option{ // the context ends before the library's time is up
		gomail.WithPort(s.o.Server.Port), gomail.WithTimeout(2 * s.o.Timeout), gomail.WithDialContextFunc(dial),
		gomail.WithTLSPolicy(policies[s.o.Server.scheme]), gomail.WithTLSConfig(s.trust()),
	}
	if password != "" {
		// It takes the safest that the server offers, and none that shows the password on a connection without TLS.
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(username), gomail.WithPassword(password))
	}
	return gomail.NewClient(s.o.Server.Host, options...)
}

func (s *Sender) trust() *tls.Config {
	return &tls.Config{ServerName: s.o.Server.Host, MinVersion: tls.VersionTLS12, RootCAs: s.o.Roots}
}

func (s *Sender) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := s.o.Dial(ctx, network, address)
	if err != nil || s.o.Server.scheme != implicit {
		return conn, err
	}
	secured := tls.Client(conn, s.trust())
	if err := secured.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secured, nil
}

// refusals are the recipients that the server refuses.
type refusals []refusal

// refusal is the server's reply to the number of a recipient.
type refusal struct {
	number int
	err    error
}

func (r refusals) Error() string {
	texts := make([]string, len(r))
	for i, one := range r {
		texts[i] = one.err.Error()
	}
	return strings.Join(texts, "; ")
}

// of returns the recipients that the server may take later, and those that it refuses for good.
func (r refusals) of(recipients []string) (left, lost []string) {
	for _, one := range r {
		switch name := recipients[one.number]; {
		case lasting(one.err):
			lost = append(lost, name)
		default:
			left = append(left, name)
		}
	}
	return left, lost
}

// Unwrap returns the replies, those that may change first: one of them makes another try worth it.
func (r refusals) Unwrap() []error {
	var passing, others []error
	for _, one := range r {
		if lasting(one.err) {
			others = append(others, one.err)
		} else {
			passing = append(passing, one.err)
		}
	}
	return append(passing, others...)
}

// transact hands the message over, to those recipients that the server takes.
func transact(c *smtp.Client, msg *gomail.Msg) (response string, err error) {
	from, err := msg.GetSender(false)
	if err != nil {
		return "", err
	}
	to, err := msg.GetRecipients()
	if err != nil {
		return "", err
	}
	if err := c.Mail(from); err != nil {
		return "", fmt.Errorf("sender %s: %w", from, err)
	}
	var refused refusals
	for i, r := range to {
		err := c.Rcpt(r)
		if _, replied := errors.AsType[*textproto.Error](err); err != nil && !replied {
			return "", err
		}
		if err != nil {
			refused = append(refused, refusal{i, fmt.Errorf("recipient %s: %w", r, err)})
		}
	}
	if len(refused) == len(to) {
		return "", refused
	}
	if response, err = data(c, msg); err != nil || len(refused) == 0 {
		return response, err
	}
	return response, fmt.Errorf("taken for %d of %d recipients: %w", len(to)-len(refused), len(to), refused)
}

// data sends the message itself; where that breaks off, the server drops what it has.
func data(c *smtp.Client, msg *gomail.Msg) (response string, err error) {
	w, err := c.Data()
	if err != nil {
		return "", err
	}
	if _, err := msg.WriteTo(w); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	if closed, ok := w.(*smtp.DataCloser); ok {
		response = closed.ServerResponse()
	}
	return outward.Cut(strings.TrimSpace("250 " + response)), nil
}

package bus

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Texts translates between messages and the texts that clients of Redis and MQTT send, which have the envelope of EdgeX.
type Texts struct {
	Decode func(subject string, text []byte) Message
	Encode func(Message) []byte
}

// upstream is the NATS connection of a client that speaks another protocol. The server checks its login, and holds the messages that wait
// for it, within the limits of NATS clients. All methods but run are called by one goroutine.
type upstream struct {
	*output
	bus   *Bus
	from  *bufio.Reader
	inbox string        // begins the subjects of acknowledgements
	asked int           // how many acknowledgements were asked for
	acks  chan received // of the newest
	pongs chan struct{}

	mu      sync.Mutex     // guards the fields below
	names   map[int]string // of the subscriptions, by their ids
	fresh   map[int]string // of subscriptions that the server has not confirmed
	confirm func() error   // tells the client of the fresh ones, before their first message
	last    int            // the last id of a subscription
}

// received is a message for a client.
type received struct {
	name string // of the subscription
	Message
}

// inboxID is the id of the subscription of acknowledgements.
const inboxID = 1

// serveOther serves clients of a protocol at a listener until the bus is closed, with TLS if the bus has TLS. serve returns when a client
// has left.
func serveOther(b *Bus, l net.Listener, protocol string, serve func(*upstream)) {
	if b.o.TLS != nil {
		l = tls.NewListener(l, b.o.TLS)
	}
	b.others = append(b.others, l)
	b.gate.working.Go(func() {
		select {
		case <-b.gate.ready: // earlier clients wait
		case <-b.alive.Done():
			return
		}
		b.gate.acceptAll(l, func(conn net.Conn) {
			s := b.gate.enter(conn, protocol)
			if s == nil {
				return
			}
			b.gate.working.Go(func() {
				defer b.gate.leave(s)
				if u, err := openUpstream(b, s); err == nil {
					serve(u)
				}
			})
		})
	})
}

// openUpstream greets the server. The client has until loginWait to log in.
func openUpstream(b *Bus, s *session) (*upstream, error) {
	until := s.since.Add(loginWait)
	_ = s.outside.SetReadDeadline(until)
	_ = s.inside.SetDeadline(until)
	u := &upstream{
		output: newOutput(s), bus: b, from: bufio.NewReader(s.inside), inbox: nats.InboxPrefix + rand.Text() + ".",
		acks: make(chan received, 1), pongs: make(chan struct{}, 1), names: map[int]string{}, last: inboxID,
	}
	introduced := make(chan error, 1) // the server writes before it reads, and the connection has no buffer
	b.gate.working.Go(func() { introduced <- s.introduce() })
	_, err := u.from.ReadString('\n') // INFO
	return u, cmp.Or(err, <-introduced)
}

// login logs the client in. A password without a user name is a token. The error says why the server refuses the client.
func (u *upstream) login(user, password string) error {
	var connect struct {
		User      string `json:"user,omitempty"`
		Password  string `json:"pass,omitempty"`
		Token     string `json:"auth_token,omitempty"`
		Headers   bool   `json:"headers"`
		NoWaiting bool   `json:"no_responders"`
		Verbose   bool   `json:"verbose"`
		Protocol  int    `json:"protocol"`
	}
	connect.Headers, connect.NoWaiting, connect.Protocol = true, true, 1
	if connect.User, connect.Password = user, password; user == "" {
		connect.Password, connect.Token = "", password
	}
	text, err := json.Marshal(connect)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(u.s.inside, "CONNECT %s\r\nSUB %s* %d\r\nPING\r\n", text, u.inbox, inboxID); err != nil {
		return err
	}
	line, err := u.from.ReadString('\n')
	if err == nil && strings.HasPrefix(line, "PONG") {
		_ = u.s.outside.SetReadDeadline(time.Time{})
		return u.s.inside.SetDeadline(time.Time{})
	}
	if why := u.bus.gate.whyRefused(u.s); why != nil {
		return why
	}
	return errors.Join(err, errors.New(strings.TrimSpace(line)))
}

// run hands the messages of the subscriptions to deliver until the connection or deliver fails. It closes the session.
func (u *upstream) run(deliver func(received) error) {
	defer u.s.close()
	for {
		line, err := u.from.ReadString('\n')
		if err != nil {
			return
		}
		op := strings.Fields(line)
		switch {
		case len(op) >= 4 && (op[0] == "MSG" || op[0] == "HMSG"):
			err = u.take(op, deliver)
		case op[0] == "PING":
			_, err = io.WriteString(u.s.inside, "PONG\r\n")
		case op[0] == "PONG":
			err = u.confirmed()
		case op[0] == "-ERR":
			reason := strings.TrimSpace(line[len("-ERR"):])
			u.bus.o.Logger.Warn(u.s.protocol+" client cut off by the server", "client", u.s.client, "reason", reason)
			return
		}
		if err != nil {
			return
		}
	}
}

// take reads a message of the server: MSG subject id [reply] bytes, or HMSG subject id [reply] bytes-of-the-header bytes.
func (u *upstream) take(op []string, deliver func(received) error) error {
	size, err := strconv.Atoi(op[len(op)-1])
	if err != nil {
		return err
	}
	text := make([]byte, size+len("\r\n"))
	if _, err := io.ReadFull(u.from, text); err != nil {
		return err
	}
	m := received{Message: Message{Subject: op[1], Data: text[:size]}}
	if op[0] == "HMSG" {
		of, err := strconv.Atoi(op[len(op)-2])
		if err != nil || of > size {
			return errors.Join(err, errors.New("the header is too long"))
		}
		header, err := nats.DecodeHeadersMsg(text[:of])
		if err != nil {
			return err
		}
		m.Header, m.Data = header, text[of:size]
	}
	id, err := strconv.Atoi(op[2])
	if err != nil {
		return err
	}
	if id == inboxID {
		select {
		case <-u.acks: // nobody waits for an older one
		default:
		}
		u.acks <- m
		return nil
	}
	u.mu.Lock()
	name, ok := u.names[id]
	u.mu.Unlock()
	if m.name = name; !ok {
		return nil // the subscription has ended
	}
	return deliver(m)
}

func (u *upstream) sendMessage(m Message, reply string) error {
	var text bytes.Buffer
	if len(m.Header) == 0 {
		fmt.Fprintf(&text, "PUB %s %s %d\r\n", m.Subject, reply, len(m.Data))
	} else {
		header := bytes.NewBufferString("NATS/1.0\r\n")
		if err := http.Header(m.Header).Write(header); err != nil {
			return err
		}
		header.WriteString("\r\n")
		fmt.Fprintf(&text, "HPUB %s %s %d %d\r\n%s", m.Subject, reply, header.Len(), header.Len()+len(m.Data), header)
	}
	text.Write(m.Data)
	text.WriteString("\r\n")
	u.bus.memory.reserve(m.Subject, int64(text.Len()))
	_, err := u.s.inside.Write(text.Bytes())
	return err
}

// publishAcknowledged publishes a message, and returns when the stream has it, after ackWait at most. Then the stream may have it too.
func (u *upstream) publishAcknowledged(m Message) error {
	ctx, cancel := u.s.limited(ackWait)
	defer cancel()
	u.asked++
	reply := u.inbox + strconv.Itoa(u.asked)
	if err := u.sendMessage(m, reply); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case ack := <-u.acks:
			if ack.Subject != reply {
				continue
			}
			if status := http.Header(ack.Header).Get("Status"); status != "" {
				return errors.New("the stream " + edgexStream + " is missing")
			}
			var answer struct {
				Error *jetstream.APIError `json:"error"`
			}
			if err := json.Unmarshal(ack.Data, &answer); err != nil {
				return err
			}
			if answer.Error != nil {
				return errors.New(answer.Error.Description)
			}
			return nil
		}
	}
}

// subscribe makes subscriptions to the subjects of each name. When the server has them it calls confirm, and returns. Messages of these
// names are delivered after that.
func (u *upstream) subscribe(subjects map[string][]string, confirm func() error) error {
	var text strings.Builder
	u.mu.Lock()
	u.fresh, u.confirm = map[int]string{}, confirm
	for name, list := range subjects {
		for _, subject := range list {
			u.last++
			u.fresh[u.last] = name
			fmt.Fprintf(&text, "SUB %s %d\r\n", subject, u.last)
		}
	}
	n := len(u.names) + len(u.fresh)
	u.mu.Unlock()
	if n > subscriptionsMost-1 {
		return fmt.Errorf("%w: %d of at most %d", errSubscriptions, n, subscriptionsMost-1)
	}
	text.WriteString("PING\r\n")
	if _, err := io.WriteString(u.s.inside, text.String()); err != nil {
		return err
	}
	select {
	case <-u.pongs:
		return nil
	case <-u.s.alive.Done():
		return context.Cause(u.s.alive)
	}
}

var errSubscriptions = errors.New("too many subscriptions")

// confirmed notes that the server has the fresh subscriptions.
func (u *upstream) confirmed() error {
	u.mu.Lock()
	maps.Copy(u.names, u.fresh)
	u.fresh = nil
	u.mu.Unlock()
	err := u.confirm()
	u.pongs <- struct{}{}
	return err
}

// unsubscribe ends the subscriptions of a name.
func (u *upstream) unsubscribe(name string) error {
	var text strings.Builder
	u.mu.Lock()
	for id, of := range u.names {
		if of == name {
			delete(u.names, id)
			fmt.Fprintf(&text, "UNSUB %d\r\n", id)
		}
	}
	u.mu.Unlock()
	if text.Len() == 0 {
		return nil
	}
	_, err := io.WriteString(u.s.inside, text.String())
	return err
}

// subscriptions returns the names of the subscriptions.
func (u *upstream) subscriptions() map[string]bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	names := map[string]bool{}
	for _, name := range u.names {
		names[name] = true
	}
	return names
}

// output writes to a client. A client that does not read for [writeWait] is cut off.
type output struct {
	s  *session
	mu sync.Mutex // guards to
	to *bufio.Writer
}

func newOutput(s *session) *output {
	return &output{s: s, to: bufio.NewWriterSize(s.outside, lineMost)}
}

// write calls text with the writer. Without now, the text may wait for the next call.
func (o *output) write(text func(io.Writer) error, now bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	_ = o.s.outside.SetWriteDeadline(time.Now().Add(writeWait))
	err := text(o.to)
	if err == nil && now {
		err = o.to.Flush()
	}
	return err
}

// Read reads from the client at the rate of its address.
func (s *session) Read(b []byte) (int, error) {
	n, err := s.outside.Read(b)
	if n > 0 && s.rate.WaitN(s.alive, n) != nil {
		return 0, io.EOF
	}
	return n, err
}

// subjectMost is the most bytes of a subject: the command line of NATS has 4 KiB.
const subjectMost = 1 << 10

var errSubject = errors.New("EdgeX's message bus is below edgex, in levels of printable characters")

// checkSubject refuses a subject that clients of other protocols may not publish on. With wildcards, * stands for one level, and > for all
// further levels.
func checkSubject(subject string, wildcards bool) error {
	levels := strings.Split(subject, ".")
	ok := levels[0] == edgexStream && len(levels) > 1 && len(subject) <= subjectMost
	for i, level := range levels {
		switch level {
		case "":
			ok = false
		case "*":
			ok = ok && wildcards
		case ">":
			ok = ok && wildcards && i == len(levels)-1
		}
	}
	if !ok || strings.ContainsFunc(subject, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return errSubject
	}
	return nil
}

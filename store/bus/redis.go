package bus

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"ledge/domain"
)

// redisServer takes the messages that EdgeX services publish with Redis Pub/Sub, as they do by default. It speaks as much of RESP2 as
// their clients need to publish, and they cannot subscribe. Its clients are sessions of the gate, within the limits of NATS clients.
type redisServer struct {
	bus      *Bus
	listener net.Listener
	// decode returns the message of a text that a client has published on a channel.
	decode func(channel string, text []byte) Message
}

// ServeRedis serves Redis clients at a listener until the bus is closed, with TLS if the bus has TLS. decode returns the message of a text
// that a client has published on a channel.
func ServeRedis(b *Bus, l net.Listener, decode func(channel string, text []byte) Message) {
	if b.o.TLS != nil {
		l = tls.NewListener(l, b.o.TLS)
	}
	b.redis = &redisServer{b, l, decode}
	b.gate.working.Go(func() {
		select {
		case <-b.gate.ready: // earlier clients wait
			b.gate.acceptAll(l, b.redis.enter)
		case <-b.alive.Done():
		}
	})
}

// enter serves a new connection.
func (r *redisServer) enter(conn net.Conn) {
	s := r.bus.gate.addRedis(conn)
	if s == nil {
		return
	}
	if r.bus.o.Login == nil {
		if err := r.bus.gate.admit(s, access{}); err != nil {
			r.bus.gate.refuse(s, err)
			_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = io.WriteString(conn, "-ERR max number of clients reached: "+oneLine(err)+"\r\n")
			r.bus.gate.leave(s)
			return
		}
	}
	r.bus.gate.working.Go(func() { r.serve(s) })
}

// serve answers the commands of a client, one after the other: replies of many commands do not wait in memory.
func (r *redisServer) serve(s *session) {
	g := r.bus.gate
	defer g.leave(s)
	in := g.isIn(s)
	if !in {
		_ = s.outside.SetReadDeadline(s.since.Add(loginWait))
	}
	from, to := bufio.NewReaderSize(slowReader{s}, lineMost), bufio.NewWriterSize(s.outside, lineMost)
	for {
		most := commandMost
		if !in {
			most = earlyMost
		}
		args, err := readCommand(from, most)
		var reply string
		switch {
		case err == nil:
			reply, err = r.answer(s, &in, args)
		case errors.Is(err, errProtocol):
			reply = "-ERR " + oneLine(err)
		default:
			return
		}
		_ = s.outside.SetWriteDeadline(time.Now().Add(writeWait))
		_, _ = to.WriteString(reply + "\r\n")
		if (err != nil || from.Buffered() == 0) && to.Flush() != nil || err != nil {
			return
		}
	}
}

// slowReader reads from a client at the rate of its address.
type slowReader struct{ s *session }

// Read implements io.Reader.
func (r slowReader) Read(b []byte) (int, error) {
	n, err := r.s.outside.Read(b)
	if n > 0 && r.s.rate.WaitN(r.s.alive, n) != nil {
		return 0, io.EOF
	}
	return n, err
}

// login lets a client in. A password without a user name is a token.
func (r *redisServer) login(s *session, user, password string) error {
	token := ""
	if user == "" {
		password, token = "", password
	}
	found, err := r.bus.identify(s, user, password, token)
	if role := found.identity.Role; err == nil && !role.May(domain.MayUseBus) {
		const says = "role %s may not use EdgeX's message bus; Redis clients need %s"
		err = refusal{byRole, fmt.Errorf(says, role, domain.RolesThatMay(domain.MayUseBus))}
	}
	if err == nil {
		err = r.bus.gate.admit(s, found)
	}
	if err != nil {
		r.bus.gate.refuse(s, err)
		return err
	}
	return s.outside.SetReadDeadline(time.Time{})
}

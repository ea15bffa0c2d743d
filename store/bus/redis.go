package bus

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
)

// redisClient serves a client of Redis Pub/Sub, which EdgeX services use by default. It speaks as much of RESP2 as they need.
type redisClient struct {
	*upstream
	texts Texts
	in    bool // whether it has logged in
	from  *bufio.Reader
}

// ServeRedis serves Redis clients at a listener until the bus is closed, with TLS if the bus has TLS.
func ServeRedis(b *Bus, l net.Listener, texts Texts) {
	serveOther(b, l, overRedis, func(u *upstream) {
		r := &redisClient{upstream: u, texts: texts, from: bufio.NewReaderSize(u.s, lineMost)}
		r.serve()
	})
}

// serve answers the commands of a client, one after the other: replies of many commands do not wait in memory.
func (r *redisClient) serve() {
	if r.bus.o.Login == nil {
		if err := r.enter("", ""); err != nil {
			_ = r.reply(fmt.Sprintf("-ERR max number of clients reached: %s\r\n", oneLine(err)), true)
			return
		}
	}
	for {
		most := commandMost
		if !r.in {
			most = earlyMost
		}
		args, err := readCommand(r.from, most)
		var reply string
		switch {
		case err == nil:
			reply, err = r.answer(args)
		case errors.Is(err, errProtocol):
			reply = "-ERR " + oneLine(err) + "\r\n"
		default:
			return
		}
		if r.reply(reply, err != nil || r.from.Buffered() == 0) != nil || err != nil {
			return
		}
	}
}

// enter logs the client in, and delivers messages from now on.
func (r *redisClient) enter(user, password string) error {
	if err := r.login(user, password); err != nil {
		return err
	}
	r.in = true
	r.bus.gate.working.Go(func() { r.run(r.deliver) })
	return nil
}

// deliver sends a message of a subscription.
func (r *redisClient) deliver(m received) error {
	text := r.texts.Encode(m.Message)
	kind, pattern := "*4\r\n$8\r\npmessage\r\n", bulkOf(m.name[1:])
	if m.name[0] == byChannel {
		kind, pattern = "*3\r\n$7\r\nmessage\r\n", ""
	}
	return r.reply(kind+pattern+bulkOf(m.Subject)+bulkOf(text), r.upstream.from.Buffered() == 0)
}

// bulkOf is a bulk string of RESP.
func bulkOf[T string | []byte](text T) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }

// reply writes replies. Without now they may wait for the next one.
func (r *redisClient) reply(text string, now bool) error {
	return r.write(func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}, now)
}

package mqtt

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"sync"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
	"github.com/eclipse/paho.mqtt.golang/packets"

	"ledge/bridge/outward"
)

// quiesce is how long a closing connection takes to say so to the broker.
const quiesce = 250 * time.Millisecond

// mqtt311 is the number of MQTT 3.1.1 in the protocol. Without it paho asks again with 3.1, also after a refusal.
const mqtt311 = 4

// connection is one to a broker, for as long as it lasts: a lost one is not opened again.
type connection struct {
	key    key
	client paho.Client
	ready  chan struct{} // closed when it is connected or err says why not
	err    error
	lost   chan struct{} // closed when it is of no use any more
	once   sync.Once

	uses  int // these two are the Sender's, under its lock
	timer *time.Timer
}

// connect opens the connection, for at most timeout, while ctx goes on.
func (s *Sender) connect(k key, a account, publisher string) *connection {
	c := &connection{key: k, ready: make(chan struct{}), lost: make(chan struct{})}
	address := net.JoinHostPort(k.host, strconv.Itoa(k.port))
	o := paho.NewClientOptions().AddBroker("tcp://" + address).SetClientID(publisher).SetProtocolVersion(mqtt311).
		SetUsername(a.username).SetPassword(a.password).SetCleanSession(true).
		SetAutoReconnect(false). // what was under way would be sent again by paho as well as by who gets the error
		SetKeepAlive(k.keepAlive).SetPingTimeout(s.o.Timeout).SetConnectTimeout(s.o.Timeout).SetWriteTimeout(s.o.Timeout).
		SetConnectionLostHandler(func(_ paho.Client, err error) {
			s.o.Logger.Warn("broker lost", "host", k.host, "port", k.port, "client", publisher, "error", err)
			s.drop(c)
		}).
		SetCustomOpenConnectionFn(func(*url.URL, paho.ClientOptions) (net.Conn, error) { return s.dial(address, a.tls) })
	c.client = paho.NewClient(o)
	s.running.Go(func() {
		token := c.client.Connect() // it is bounded by the timeouts above
		<-token.Done()
		if c.err = token.Error(); c.err != nil {
			c.err = &outward.Error{Err: fmt.Errorf("connect to the broker at %s: %w", address, c.err), Final: outward.Permanent(c.err) || refused(c.err)}
			s.drop(c)
		}
		close(c.ready)
	})
	return c
}

// refused says that the broker will not have this client, whenever it asks.
func refused(err error) bool {
	return errors.Is(err, packets.ErrorRefusedBadProtocolVersion) || errors.Is(err, packets.ErrorRefusedIDRejected) ||
		errors.Is(err, packets.ErrorRefusedBadUsernameOrPassword) || errors.Is(err, packets.ErrorRefusedNotAuthorised)
}

// dial opens a connection with TLS, where there is a configuration for it.
func (s *Sender) dial(address string, trust *tls.Config) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(s.ctx, s.o.Timeout)
	defer cancel()
	conn, err := s.o.Dial(ctx, "tcp", address)
	if err != nil || trust == nil {
		return conn, err
	}
	secured := tls.Client(conn, trust)
	if err := secured.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secured, nil
}

// publish returns when the broker has acknowledged the message, or, for QoS 0, when it is out.
func (c *connection) publish(ctx context.Context, t Target, body []byte) error {
	select {
	case <-c.ready:
	case <-ctx.Done():
		return fmt.Errorf("connect to the broker at %s:%d: %w", t.Host, t.Port, ctx.Err())
	}
	if c.err != nil {
		return c.err
	}
	token := c.client.Publish(t.Topic, t.QoS, t.Retained, body)
	select {
	case <-token.Done():
	case <-c.lost: // paho does not promise to complete a token then
		select {
		case <-token.Done():
		default:
			return errors.New("the connection to the broker was lost before it acknowledged the message")
		}
	case <-ctx.Done():
		return fmt.Errorf("the broker has not acknowledged the message: %w", ctx.Err())
	}
	if err := token.Error(); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return nil
}

// usable reports whether a message may still go out on it, as far as is known.
func (c *connection) usable() bool {
	select {
	case <-c.lost:
		return false
	case <-c.ready:
		return c.err == nil && c.client.IsConnectionOpen()
	default:
		return true // it is being opened
	}
}

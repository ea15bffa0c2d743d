package admin

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
)

// doAPI asks for the REST APIs on the rest of the connection, after one answer.
const doAPI = "api"

// API returns a client of the REST APIs at the socket. The host of a URL is the name of a service, as in
// http://core-metadata/api/v2/device/all. Requests are done in the name of the user of this process, with the role admin.
func (c *Client) API() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dialAPI(ctx) },
		DisableKeepAlives: true, // the socket has few connections
	}}
}

// dialAPI connects to the socket and has it serve HTTP.
func (c *Client) dialAPI(ctx context.Context) (net.Conn, error) {
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	a, err := askAPI(conn)
	if err == nil {
		err = a.err()
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// askAPI reads no byte behind the answer, which is one line.
func askAPI(conn net.Conn) (a Answer, err error) {
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return a, err
	}
	text, err := json.Marshal(Request{Do: doAPI})
	if err != nil {
		return a, err
	}
	_, unsent := conn.Write(text) // without a line end, which would be before the first request
	line, err := bufio.NewReaderSize(oneByte{conn}, 16).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &a)
	}
	if err != nil {
		return a, fmt.Errorf("ask the running server: %w: %w", ErrAway, cmp.Or(unsent, err))
	}
	return a, conn.SetDeadline(time.Time{})
}

// oneByte reads a byte at a time.
type oneByte struct{ net.Conn }

func (o oneByte) Read(p []byte) (int, error) { return o.Conn.Read(p[:min(len(p), 1)]) }

// dial connects to the socket of the server that has the data folder.
func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	path, folder, err := socketPath(c.dir)
	if err != nil {
		return nil, err
	}
	defer folder.Close() // nil is an error that says nothing
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		socket := filepath.Join(c.dir, datadir.AdminSocketFile)
		const says = "ask the running server at %s: %w: %w; run as the user of the server, or stop it first"
		return nil, fmt.Errorf(says, socket, ErrAway, err)
	}
	if err := checkServer(c.dir, conn.(*net.UnixConn)); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// err returns the error of an answer, with its exit code.
func (a Answer) err() error {
	switch {
	case a.Away:
		return fmt.Errorf("%w: %s", ErrAway, a.Error)
	case a.Code > 0:
		return exit.With(a.Code, errors.New(a.Error))
	case a.Error != "":
		return errors.New(a.Error)
	}
	return nil
}

// serveAPI serves HTTP on a connection until its client closes it or the socket is closed.
func (s *Socket) serveAPI(c net.Conn, h http.Handler) error {
	if err := c.SetDeadline(time.Time{}); err != nil {
		return err
	}
	l := &oneConn{conn: make(chan net.Conn, 1), closed: make(chan struct{}), at: c.LocalAddr()}
	l.conn <- c
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: timeout, IdleTimeout: timeout,
		BaseContext: func(net.Listener) context.Context { return s.ctx },
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				l.Close()
			}
		},
	}
	defer context.AfterFunc(s.ctx, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), timeout)
		defer cancel()
		_ = srv.Shutdown(ctx) // a request that takes longer is cut off
		srv.Close()
	})()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		return err
	}
	<-l.closed
	return nil
}

// bufferedConn is a connection whose first bytes are in a buffer.
type bufferedConn struct {
	net.Conn
	buffer *bufio.Reader
}

func (c bufferedConn) Read(p []byte) (int, error) { return c.buffer.Read(p) }

// oneConn is a listener with one connection.
type oneConn struct {
	conn   chan net.Conn
	closed chan struct{}
	once   sync.Once
	at     net.Addr
}

// Accept implements net.Listener.
func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *oneConn) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *oneConn) Addr() net.Addr { return l.at }

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
)

const (
	devicePath   = "/api/v2/device"
	deviceByName = devicePath + "/name/"
)

// connection is one client: a kept connection with one request at a time. It does as little as it can, because it
// shares the processors with the server that is measured.
type connection struct {
	net.Conn
	in *bufio.Reader
}

// clients opens connections that fail when ctx ends.
func clients(ctx context.Context, address string, n int) (list []*connection, done func(), err error) {
	var d net.Dialer
	closeAll := func() {
		for _, c := range list {
			c.Close()
		}
	}
	for range n {
		c, err := d.DialContext(ctx, "tcp", address)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		list = append(list, &connection{c, bufio.NewReader(c)})
	}
	stop := context.AfterFunc(ctx, closeAll)
	return list, func() { stop(); closeAll() }, nil
}

// call sends a request and returns the answer's body, which must come with the status wanted.
func (c *connection) call(request []byte, want int) ([]byte, error) {
	if _, err := c.Write(request); err != nil {
		return nil, err
	}
	return c.answer(want)
}

// post sends a request with its body, which may be long, and holds that it succeeds.
func (c *connection) post(head, body []byte) error {
	if _, err := c.Write(head); err != nil {
		return err
	}
	_, err := c.call(body, http.StatusOK)
	return err
}

func (c *connection) answer(want int) ([]byte, error) {
	answer, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != want {
		err = fmt.Errorf("got %s, want %d: %s", answer.Status, want, body)
	}
	return body, err
}

// httpRequest is a request as it goes over the wire.
func httpRequest(method, path string, body []byte) []byte {
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n", method, path)
	if len(body) > 0 {
		head += fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	return append([]byte(head+"\r\n"), body...)
}

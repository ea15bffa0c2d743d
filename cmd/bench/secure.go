package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os/exec"
	"strings"
)

// secureTarget is the least share of open mode's rate that secure mode must reach.
const secureTarget = 0.8

// serveSecure compares secure mode with open mode: the same binary, the same clients, each on kept connections. In secure mode
// the connections use TLS and each request carries a token.
func serveSecure(ctx context.Context, b *bench) error {
	servers, done, err := b.startModes(ctx)
	if err != nil {
		return err
	}
	defer done()
	h := &httpSides{b, servers, known}
	if err := h.addKnown(ctx); err != nil {
		return err
	}
	one, many := h.counts.ofClients(1), h.counts.requests
	for _, l := range []load{
		h.gets(1, 2*one, secureTarget), h.gets(8, 2*many, secureTarget), h.gets(32, 2*many, secureTarget),
		h.adds(1, one, 1, secureTarget), h.adds(8, many, 1, secureTarget), h.adds(32, many, 1, secureTarget),
	} {
		if err := h.compare(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// startModes starts Ledge in secure mode and in open mode, in this order, in folders of their own.
func (b *bench) startModes(ctx context.Context) (both [2]*process, done func(), err error) {
	var stops []func()
	done = func() {
		for i := len(stops) - 1; i >= 0; i-- {
			stops[i]()
		}
	}
	for i, mode := range []string{"secure", "open"} {
		dir, remove, err := b.folder(mode)
		if err != nil {
			done()
			return both, nil, err
		}
		stops = append(stops, remove)
		var flags []string
		if mode == "secure" {
			flags = []string{"--secure", "--host", "127.0.0.1", "--nats-host", "127.0.0.1"}
		}
		if both[i], err = b.startLedge(ctx, dir, flags...); err == nil {
			stops = append(stops, both[i].stop)
		}
		if err == nil && mode == "secure" {
			err = both[i].login(ctx, b.ledge, dir)
		}
		if err != nil {
			done()
			return both, nil, err
		}
	}
	return both, done, nil
}

// login makes a token for the process, and trusts the certificate of its folder.
func (p *process) login(ctx context.Context, ledge, dir string) error {
	command := func(args ...string) (string, error) {
		out, err := exec.CommandContext(ctx, ledge, append(args, "--data-dir", dir)...).Output()
		if err != nil {
			return "", fmt.Errorf("ledge %s: %w", strings.Join(args, " "), err)
		}
		return strings.TrimSpace(string(out)), nil
	}
	ca, err := command("ca")
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(ca)) {
		return fmt.Errorf("ledge ca printed no certificate: %.200s", ca)
	}
	p.tls = &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS13}
	p.token, err = command("token", "create", "bench", "--role", "operator")
	return err
}

// clients opens connections to an address of the process, with TLS where it is in secure mode.
func (p *process) clients(ctx context.Context, address string, n int) (list []*connection, done func(), err error) {
	list, done, err = clients(ctx, address, n)
	if err != nil || p.tls == nil {
		return list, done, err
	}
	for _, c := range list {
		secured := tls.Client(c.Conn, p.tls)
		if err := secured.HandshakeContext(ctx); err != nil {
			done()
			return nil, nil, fmt.Errorf("TLS with %s: %w", address, err)
		}
		c.use(secured)
	}
	return list, done, nil
}

// use has the connection speak through another one on top of it.
func (c *connection) use(conn net.Conn) {
	c.Conn = conn
	c.in.Reset(conn)
}

// authorized returns the requests with the token of the process, if it has one.
func (p *process) authorized(requests [][]byte) [][]byte {
	if p.token == "" {
		return requests
	}
	header := []byte("\r\nAuthorization: Bearer " + p.token + "\r\n")
	for i, r := range requests {
		requests[i] = bytes.Replace(r, []byte("\r\n"), header, 1)
	}
	return requests
}

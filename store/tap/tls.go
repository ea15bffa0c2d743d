package tap

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// tlsHandshake is the first byte of a TLS connection.
const tlsHandshake = 0x16

// upgrade has the client begin TLS, as INFO has told it to. Nothing is written to the client meanwhile.
func (s *session) upgrade() error {
	if !s.proxy.secured() {
		return nil
	}
	select {
	case <-s.greeting:
	case <-s.gone:
		return net.ErrClosed
	}
	if s.proxy.tls == nil {
		return nil
	}
	s.writing <- struct{}{}
	defer func() { <-s.writing }()
	_ = s.raw.SetDeadline(time.Now().Add(loginWait))
	defer func() { _ = s.raw.SetDeadline(time.Time{}) }()
	first := make([]byte, 1)
	if _, err := io.ReadFull(s.raw, first); err != nil {
		return net.ErrClosed
	}
	if first[0] != tlsHandshake {
		return refusal{byTLS, "Secure Connection - TLS Required", errors.New("it does not use TLS")}
	}
	conn := tls.Server(&begun{s.raw, first}, s.proxy.tls)
	ctx, cancel := s.limited(loginWait)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		return refusal{byTLS, "", fmt.Errorf("TLS handshake: %w", err)}
	}
	s.outside = conn
	return nil
}

// begun is a connection of which the first bytes were read already.
type begun struct {
	net.Conn
	read []byte
}

func (b *begun) Read(p []byte) (int, error) {
	if len(b.read) > 0 {
		n := copy(p, b.read)
		b.read = b.read[n:]
		return n, nil
	}
	return b.Conn.Read(p)
}

// requireTLS adds to the server's INFO line that the client must begin TLS. Another line stays as it is.
func requireTLS(line []byte) []byte {
	text, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("INFO "))
	fields := map[string]json.RawMessage{}
	if !ok || json.Unmarshal(text, &fields) != nil {
		return line
	}
	fields["tls_required"] = json.RawMessage("true")
	text, _ = json.Marshal(fields) // of what was decoded just now
	return fmt.Appendf(nil, "INFO %s\r\n", text)
}

package tap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// session is the connection of a client, with the connection inside the server that it is connected to.
type session struct {
	proxy       *proxy
	raw, inside net.Conn
	outside     net.Conn // raw, or the TLS connection on it; changed only while writing is held
	client      string
	since       time.Time
	greeting    chan struct{} // closed when the client was greeted

	class  class  // under the proxy's lock, as are access and cid
	access access // empty until the client has logged in
	cid    uint64 // of the connection in the server

	// writing is held while an answer is written: a client that reads nothing is not heard either, or its
	// questions would pile up answers in the server. The next two fields are changed only while it is held.
	writing chan struct{}
	said    messages // how far the server's answers have come
	last    []byte   // what the client is told at the end, after the message that is being written

	gone    chan struct{}
	closing sync.Once
}

func newSession(p *proxy, outside, inside net.Conn, client string) *session {
	return &session{
		proxy: p, raw: outside, outside: outside, inside: inside, client: client, since: time.Now(),
		writing: make(chan struct{}, 1), gone: make(chan struct{}), greeting: make(chan struct{}),
	}
}

// writeWait is how long a client may take to read 32 KiB.
const writeWait = 10 * time.Second

func (s *session) close() {
	s.closing.Do(func() {
		close(s.gone)
		s.raw.Close()
		s.inside.Close()
	})
}

func (s *session) leave() {
	s.close()
	s.proxy.mu.Lock()
	s.proxy.leave(s)
	s.proxy.mu.Unlock()
	s.proxy.working.Done()
}

// toClient copies from the server to the client. The first line tells which connection of the server this is.
func (s *session) toClient() {
	defer s.leave()
	buffer := make([]byte, 32<<10)
	for first := true; ; first = false {
		n, err := s.inside.Read(buffer)
		if err != nil {
			return
		}
		said := buffer[:n]
		if first {
			said = s.greeted(said)
		}
		if err := s.write(said); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				s.proxy.log.Warn("tap cut off: it reads nothing", "client", s.client, "after", writeWait)
			}
			return
		}
		if first {
			close(s.greeting)
		}
	}
}

func (s *session) write(b []byte) error {
	s.writing <- struct{}{}
	defer func() { <-s.writing }()
	if s.last == nil {
		s.said.pass(b, false)
		return s.send(b)
	}
	if b = b[:s.said.pass(b, true)]; s.said.between() {
		b = append(b, s.last...)
	}
	if err := s.send(b); err != nil || !s.said.between() {
		return err
	}
	return errToldLast
}

var errToldLast = errors.New("the client was told that it is refused")

func (s *session) send(b []byte) error {
	_ = s.outside.SetWriteDeadline(time.Now().Add(writeWait))
	_, err := s.outside.Write(b)
	return err
}

// farewell writes the last line to the client. If a message of the server is partly written, it writes the rest of it first.
func (s *session) farewell(line []byte) {
	s.writing <- struct{}{}
	if s.said.between() {
		_ = s.send(line)
		<-s.writing
		return
	}
	s.last = line
	<-s.writing
	select {
	case <-s.gone:
	case <-time.After(writeWait):
	}
}

// greeted notes the number of the server's connection, which its INFO gives, and returns what the client is told.
func (s *session) greeted(line []byte) []byte {
	var info struct {
		CID uint64 `json:"client_id"`
	}
	_ = json.Unmarshal(bytes.TrimPrefix(bytes.TrimSpace(line), []byte("INFO ")), &info)
	s.proxy.mu.Lock()
	s.cid = info.CID
	s.proxy.mu.Unlock()
	if s.proxy.tls != nil {
		return requireTLS(line)
	}
	return line
}

// fromClient copies from the client to the server, after the login.
func (s *session) fromClient() {
	defer s.leave()
	buffer := make([]byte, controlLine)
	said, err := s.arrive(buffer)
	if err != nil {
		if !errors.Is(err, net.ErrClosed) {
			s.refuse(err)
		}
		return
	}
	var lines payloads
	for pace := newPace(s.class); ; {
		if err := lines.check(said); err != nil {
			s.refuse(err)
			return
		}
		if _, err := s.inside.Write(said); err != nil {
			return
		}
		pace.wait(len(said), s.gone)
		s.writing <- struct{}{} // waits for the answer that is being written
		<-s.writing
		n, err := s.outside.Read(buffer)
		if err != nil {
			return
		}
		said = buffer[:n]
	}
}

// arrive returns the first bytes for the server, after the client has logged in.
func (s *session) arrive(buffer []byte) (said []byte, err error) {
	if err := s.upgrade(); err != nil {
		return nil, err
	}
	n, err := s.firstLine(buffer)
	if err != nil {
		return nil, err
	}
	line, rest, _ := bytes.Cut(buffer[:n], []byte("\n"))
	line = bytes.TrimSpace(line)
	if err := s.proxy.login(s, line); err != nil {
		return nil, err
	}
	if s.proxy.check == nil {
		return buffer[:n], nil
	}
	return append(withoutCredentials(line), rest...), nil
}

// firstLine reads to the end of the first line, or further.
func (s *session) firstLine(buffer []byte) (n int, err error) {
	_ = s.outside.SetReadDeadline(time.Now().Add(loginWait))
	defer func() { _ = s.outside.SetReadDeadline(time.Time{}) }()
	for n < len(buffer) {
		more, err := s.outside.Read(buffer[n:])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return n, refusalOf(fmt.Errorf("no login within %s: %w", loginWait, err))
		}
		if err != nil {
			return n, net.ErrClosed
		}
		if n += more; bytes.IndexByte(buffer[:n], '\n') >= 0 {
			return n, nil
		}
	}
	return n, fmt.Errorf("maximum control line exceeded: %d bytes", len(buffer))
}

package store

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

func newSession(d *proxy, outside, inside net.Conn, client string) *session {
	return &session{
		proxy: d, raw: outside, outside: outside, inside: inside, client: client, since: time.Now(),
		writing: make(chan struct{}, 1), gone: make(chan struct{}), greeting: make(chan struct{}),
	}
}

// tapWriteWait is how long a client may take to read 32 KiB.
const tapWriteWait = 10 * time.Second

func (v *session) close() {
	v.closing.Do(func() {
		close(v.gone)
		v.raw.Close()
		v.inside.Close()
	})
}

func (v *session) leave() {
	v.close()
	v.proxy.mu.Lock()
	v.proxy.leave(v)
	v.proxy.mu.Unlock()
	v.proxy.working.Done()
}

// answers copies from the server to the client. The first line tells which connection of the server this is.
func (v *session) answers() {
	defer v.leave()
	buffer := make([]byte, 32<<10)
	for first := true; ; first = false {
		n, err := v.inside.Read(buffer)
		if err != nil {
			return
		}
		said := buffer[:n]
		if first {
			said = v.greeted(said)
		}
		if err := v.write(said); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				v.proxy.log.Warn("tap cut off: it reads nothing", "client", v.client, "after", tapWriteWait)
			}
			return
		}
		if first {
			close(v.greeting)
		}
	}
}

func (v *session) write(b []byte) error {
	v.writing <- struct{}{}
	defer func() { <-v.writing }()
	if v.last == nil {
		v.said.pass(b, false)
		return v.send(b)
	}
	if b = b[:v.said.pass(b, true)]; v.said.between() {
		b = append(b, v.last...)
	}
	if err := v.send(b); err != nil || !v.said.between() {
		return err
	}
	return errToldLast
}

var errToldLast = errors.New("the client was told that it is refused")

func (v *session) send(b []byte) error {
	_ = v.outside.SetWriteDeadline(time.Now().Add(tapWriteWait))
	_, err := v.outside.Write(b)
	return err
}

// farewell writes the last line to the client. If a message of the server is partly written, it writes the rest of it first.
func (v *session) farewell(line []byte) {
	v.writing <- struct{}{}
	if v.said.between() {
		_ = v.send(line)
		<-v.writing
		return
	}
	v.last = line
	<-v.writing
	select {
	case <-v.gone:
	case <-time.After(tapWriteWait):
	}
}

// greeted notes the number of the server's connection, which its INFO gives, and returns what the client is told.
func (v *session) greeted(line []byte) []byte {
	var info struct {
		CID uint64 `json:"client_id"`
	}
	_ = json.Unmarshal(bytes.TrimPrefix(bytes.TrimSpace(line), []byte("INFO ")), &info)
	v.proxy.mu.Lock()
	v.cid = info.CID
	v.proxy.mu.Unlock()
	if v.proxy.tls != nil {
		return requireTLS(line)
	}
	return line
}

// asks copies from the client to the server, after the login.
func (v *session) asks() {
	defer v.leave()
	buffer := make([]byte, tapControlLine)
	said, err := v.arrive(buffer)
	if err != nil {
		if !errors.Is(err, net.ErrClosed) {
			v.refuse(err)
		}
		return
	}
	var lines payloads
	for pace := newPace(v.class); ; {
		if err := lines.check(said); err != nil {
			v.refuse(err)
			return
		}
		if _, err := v.inside.Write(said); err != nil {
			return
		}
		pace.wait(len(said), v.gone)
		v.writing <- struct{}{} // waits for the answer that is being written
		<-v.writing
		n, err := v.outside.Read(buffer)
		if err != nil {
			return
		}
		said = buffer[:n]
	}
}

// arrive returns the first bytes for the server, after the client has logged in.
func (v *session) arrive(buffer []byte) (said []byte, err error) {
	if err := v.upgrade(); err != nil {
		return nil, err
	}
	n, err := v.firstLine(buffer)
	if err != nil {
		return nil, err
	}
	line, rest, _ := bytes.Cut(buffer[:n], []byte("\n"))
	line = bytes.TrimSpace(line)
	if err := v.proxy.login(v, line); err != nil {
		return nil, err
	}
	if v.proxy.check == nil {
		return buffer[:n], nil
	}
	return append(withoutCredentials(line), rest...), nil
}

// firstLine reads to the end of the first line, or further.
func (v *session) firstLine(buffer []byte) (n int, err error) {
	_ = v.outside.SetReadDeadline(time.Now().Add(tapLoginWait))
	defer func() { _ = v.outside.SetReadDeadline(time.Time{}) }()
	for n < len(buffer) {
		more, err := v.outside.Read(buffer[n:])
		if err != nil {
			return n, net.ErrClosed
		}
		if n += more; bytes.IndexByte(buffer[:n], '\n') >= 0 {
			return n, nil
		}
	}
	return n, fmt.Errorf("maximum control line exceeded: %d bytes", len(buffer))
}

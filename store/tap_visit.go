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

// visit is one client's connection and the one inside the server that it is joined with.
type visit struct {
	door        *door
	raw, inside net.Conn
	outside     net.Conn // raw, or the TLS connection on it; changed only while writing is held
	client      string
	local       bool // it has come to the listener for Ledge's own commands
	since       time.Time
	greeting    chan struct{} // closed when the client was greeted

	class  class  // under the door's lock, as are access and cid
	access access // empty until the client has logged in
	cid    uint64 // of the connection in the server

	// writing is held while an answer is written: a client that reads nothing is not heard either, or its
	// questions would pile up answers in the server.
	writing chan struct{}
	gone    chan struct{}
	closing sync.Once
}

func newVisit(d *door, outside, inside net.Conn, client string) *visit {
	return &visit{
		door: d, raw: outside, outside: outside, inside: inside, client: client, since: time.Now(),
		writing: make(chan struct{}, 1), gone: make(chan struct{}), greeting: make(chan struct{}),
	}
}

// tapWriteWait is how long a client may take to read 32 KiB.
const tapWriteWait = 10 * time.Second

func (v *visit) close() {
	v.closing.Do(func() {
		close(v.gone)
		v.raw.Close()
		v.inside.Close()
	})
}

func (v *visit) leave() {
	v.close()
	v.door.mu.Lock()
	v.door.leave(v)
	v.door.mu.Unlock()
	v.door.working.Done()
}

// answers passes on what the server says. It says first which connection this is.
func (v *visit) answers() {
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
				v.door.log.Warn("tap cut off: it reads nothing", "client", v.client, "after", tapWriteWait)
			}
			return
		}
		if first {
			close(v.greeting)
		}
	}
}

func (v *visit) write(b []byte) error {
	v.writing <- struct{}{}
	defer func() { <-v.writing }()
	_ = v.outside.SetWriteDeadline(time.Now().Add(tapWriteWait))
	_, err := v.outside.Write(b)
	return err
}

// greeted notes the number of the server's connection, which its INFO gives, and returns what the client is told.
func (v *visit) greeted(line []byte) []byte {
	var info struct {
		CID uint64 `json:"client_id"`
	}
	_ = json.Unmarshal(bytes.TrimPrefix(bytes.TrimSpace(line), []byte("INFO ")), &info)
	v.door.mu.Lock()
	v.cid = info.CID
	v.door.mu.Unlock()
	if v.door.tls != nil && !v.local {
		return requireTLS(line)
	}
	return line
}

// asks passes on what the client says, after its login.
func (v *visit) asks() {
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

// arrive returns the first of what the server is told, once the client has logged in.
func (v *visit) arrive(buffer []byte) (said []byte, err error) {
	if err := v.upgrade(); err != nil {
		return nil, err
	}
	n, err := v.firstLine(buffer)
	if err != nil {
		return nil, err
	}
	line, rest, _ := bytes.Cut(buffer[:n], []byte("\n"))
	line = bytes.TrimSpace(line)
	if err := v.door.login(v, line); err != nil {
		return nil, err
	}
	if v.door.check == nil {
		return buffer[:n], nil
	}
	return append(withoutCredentials(line), rest...), nil
}

// firstLine reads until the end of the first line, and maybe more.
func (v *visit) firstLine(buffer []byte) (n int, err error) {
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

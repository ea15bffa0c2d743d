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
	door            *door
	outside, inside net.Conn
	client          string
	since           time.Time

	class class  // under the door's lock, as is cid
	cid   uint64 // of the connection in the server

	// writing is held while an answer is written: a client that reads nothing is not heard either, or its
	// questions would pile up answers in the server.
	writing chan struct{}
	gone    chan struct{}
	closing sync.Once
}

func newVisit(d *door, outside, inside net.Conn, client string) *visit {
	return &visit{
		door: d, outside: outside, inside: inside, client: client, since: time.Now(),
		writing: make(chan struct{}, 1), gone: make(chan struct{}),
	}
}

// tapWriteWait is how long a client may take to read 32 KiB.
const tapWriteWait = 10 * time.Second

func (v *visit) close() {
	v.closing.Do(func() {
		close(v.gone)
		v.outside.Close()
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
		if first {
			v.greeted(buffer[:n])
		}
		if err := v.write(buffer[:n]); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				v.door.log.Warn("tap cut off: it reads nothing", "client", v.client, "after", tapWriteWait)
			}
			return
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

// greeted notes the number of the server's connection, which its INFO gives.
func (v *visit) greeted(line []byte) {
	var info struct {
		CID uint64 `json:"client_id"`
	}
	_ = json.Unmarshal(bytes.TrimPrefix(bytes.TrimSpace(line), []byte("INFO ")), &info)
	v.door.mu.Lock()
	v.cid = info.CID
	v.door.mu.Unlock()
}

// asks passes on what the client says, after its login.
func (v *visit) asks() {
	defer v.leave()
	buffer := make([]byte, tapControlLine)
	n, err := v.firstLine(buffer)
	if err == nil {
		err = v.door.login(v, bytes.TrimSpace(buffer[:bytes.IndexByte(buffer[:n], '\n')]))
	}
	if err != nil {
		if !errors.Is(err, net.ErrClosed) {
			v.refuse(err)
		}
		return
	}
	var lines payloads
	for pace := newPace(v.class); ; {
		if err := lines.check(buffer[:n]); err != nil {
			v.refuse(err)
			return
		}
		if _, err := v.inside.Write(buffer[:n]); err != nil {
			return
		}
		pace.wait(n, v.gone)
		v.writing <- struct{}{} // waits for the answer that is being written
		<-v.writing
		if n, err = v.outside.Read(buffer); err != nil {
			return
		}
	}
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

// refuse tells the client why, in the words that NATS clients know.
func (v *visit) refuse(why error) {
	v.door.log.Warn("tap refused", "client", v.client, "reason", why)
	_ = v.write(fmt.Appendf(nil, "-ERR '%s'\r\n", why))
}

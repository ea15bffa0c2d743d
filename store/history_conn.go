package store

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"ledge/store/natsblock"
)

// historyConn is Ledge's own connection in one account of the tap server. It receives the requests for history and sends the
// answers. It speaks the NATS protocol itself, because the Go client cannot send a status line, nor headers as the log has them.
type historyConn struct {
	dial   func() (net.Conn, error)
	user   string
	secret string
	listen []string // subjects
	take   func(d *historyConn, subject, reply string, body []byte)

	ready   chan struct{} // closed when the server has heard the first time what is listened to
	isReady sync.Once

	mu     sync.Mutex // of what follows; also held while something is written
	conn   net.Conn
	out    *bufio.Writer
	pong   chan struct{}
	closed bool

	header []byte         // of the answer that is being written
	scan   natsblock.Scan // with the messages that were read for it
}

// mostRequest is the size limit of a request, in bytes.
const mostRequest = 4 << 10

// run takes requests until the connection is closed. A connection that breaks is made again after a pause, which end cuts short.
func (d *historyConn) run(end <-chan struct{}) {
	for d.open() {
		_ = d.read(d.conn)
		pause(10*time.Millisecond, end)
	}
}

// open connects. It reports false if the connection was closed meanwhile.
func (d *historyConn) open() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	conn, err := d.dial()
	if err != nil {
		return false // the server is stopping
	}
	d.conn, d.out, d.pong = conn, bufio.NewWriterSize(conn, 64<<10), make(chan struct{}, 1)
	go d.greet(d.out)
	return true
}

// greet logs in. The pipe to the server has no buffer, so another goroutine must read meanwhile.
func (d *historyConn) greet(out *bufio.Writer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fmt.Fprintf(out, "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"echo\":false,\"name\":\"ledge-history\",\"user\":%q,\"pass\":%q}\r\n", d.user, d.secret)
	for i, subject := range d.listen {
		fmt.Fprintf(out, "SUB %s %d\r\n", subject, i+1)
	}
	_, _ = out.WriteString("PING\r\n")
	_ = out.Flush()
}

// awaitReady returns when the server delivers requests.
func (d *historyConn) awaitReady() error {
	select {
	case <-d.ready:
		return nil
	case <-time.After(apiWait):
		return fmt.Errorf("the tap server does not answer within %s", apiWait)
	}
}

// read takes what the server sends until the connection breaks.
func (d *historyConn) read(conn net.Conn) error {
	defer conn.Close()
	in := bufio.NewReaderSize(conn, 64<<10)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		words := bytes.Fields(line)
		if len(words) == 0 {
			continue
		}
		switch string(words[0]) {
		case "PING":
			go d.say("PONG\r\n")
		case "PONG":
			d.isReady.Do(func() { close(d.ready) })
			select {
			case d.pong <- struct{}{}:
			default:
			}
		case "MSG", "HMSG":
			if err := d.message(in, words); err != nil {
				return err
			}
		case "-ERR":
			return fmt.Errorf("tap server: %s", line)
		}
	}
}

// message reads a message of which the first line is known: MSG subject sid [reply] size, or HMSG subject sid [reply] header size.
func (d *historyConn) message(in *bufio.Reader, words [][]byte) error {
	head, plain := 0, 4
	size, err := strconv.Atoi(string(words[len(words)-1]))
	if err != nil || size < 0 {
		return fmt.Errorf("tap server: message of %s bytes", words[len(words)-1])
	}
	if len(words[0]) == len("HMSG") {
		if head, err = strconv.Atoi(string(words[len(words)-2])); err != nil || head > size {
			return fmt.Errorf("tap server: header of %s bytes", words[len(words)-2])
		}
		plain++
	}
	if len(words) == plain || size > mostRequest { // no reply is wanted, or it is no request
		_, err := io.CopyN(io.Discard, in, int64(size)+2)
		return err
	}
	subject, reply := string(words[1]), string(words[3])
	body := make([]byte, size+2)
	if _, err := io.ReadFull(in, body); err != nil {
		return err
	}
	d.take(d, subject, reply, body[head:size])
	return nil
}

// say writes a line.
func (d *historyConn) say(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, _ = d.out.WriteString(line)
	_ = d.out.Flush()
}

// send sends a message; the next flush brings it on its way. An error is for the next read to find.
func (d *historyConn) send(subject string, header, data []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	line := make([]byte, 0, 128)
	if len(header) > 0 {
		line = append(append(append(line, "HPUB "...), subject...), ' ')
		line = append(strconv.AppendInt(line, int64(len(header)), 10), ' ')
	} else {
		line = append(append(append(line, "PUB "...), subject...), ' ')
	}
	line = append(strconv.AppendInt(line, int64(len(header)+len(data)), 10), "\r\n"...)
	_, _ = d.out.Write(line)
	_, _ = d.out.Write(header)
	_, _ = d.out.Write(data)
	_, _ = d.out.WriteString("\r\n")
}

func (d *historyConn) flush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = d.out.Flush()
}

// delivered returns when the server has handed out all that was sent, or the connection is broken.
func (d *historyConn) delivered() {
	d.mu.Lock()
	pong := d.pong
	select {
	case <-pong: // of one that was given up
	default:
	}
	_, _ = d.out.WriteString("PING\r\n")
	err := d.out.Flush()
	d.mu.Unlock()
	if err == nil {
		select {
		case <-pong:
		case <-time.After(apiWait):
		}
	}
}

func (d *historyConn) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.conn != nil {
		d.conn.Close()
	}
}

package tap

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"
)

// responder is Ledge's own connection in one account of the tap server. It receives the requests for history and sends the
// answers. It speaks the NATS protocol itself, because the Go client cannot send a status line, nor headers as the log has them.
type responder struct {
	dial   func() (net.Conn, error)
	user   string
	secret string
	listen []string // subjects
	take   func(conn *responder, subject, reply string, body []byte)

	ready   chan struct{} // closed when the server has heard the first time what is listened to
	isReady sync.Once

	mu     sync.Mutex // of what follows; also held while something is written
	conn   net.Conn
	out    *bufio.Writer
	pong   chan struct{}
	closed bool

	header []byte // of the answer that is being written
}

// replyWait is how long the tap server may take to answer.
const replyWait = 10 * time.Second

// requestBytes is the size limit of a request, in bytes.
const requestBytes = 4 << 10

// run takes requests until the connection is closed. A connection that breaks is made again after a pause, which end cuts short.
func (r *responder) run(end <-chan struct{}) {
	for r.open() {
		_ = r.read(r.conn)
		pause(10*time.Millisecond, end)
	}
}

// open connects. It reports false if the connection was closed meanwhile.
func (r *responder) open() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	conn, err := r.dial()
	if err != nil {
		return false // the server is stopping
	}
	r.conn, r.out, r.pong = conn, bufio.NewWriterSize(conn, 64<<10), make(chan struct{}, 1)
	go r.greet(r.out)
	return true
}

// greet logs in. The pipe to the server has no buffer, so another goroutine must read meanwhile.
func (r *responder) greet(out *bufio.Writer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(out, "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"echo\":false,\"name\":\"ledge-history\",\"user\":%q,\"pass\":%q}\r\n", r.user, r.secret)
	for i, subject := range r.listen {
		fmt.Fprintf(out, "SUB %s %d\r\n", subject, i+1)
	}
	_, _ = out.WriteString("PING\r\n")
	_ = out.Flush()
}

// awaitReady returns when the server delivers requests.
func (r *responder) awaitReady() error {
	select {
	case <-r.ready:
		return nil
	case <-time.After(replyWait):
		return fmt.Errorf("the tap server does not answer within %s", replyWait)
	}
}

// read takes what the server sends until the connection breaks.
func (r *responder) read(conn net.Conn) error {
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
			go r.say("PONG\r\n")
		case "PONG":
			r.isReady.Do(func() { close(r.ready) })
			select {
			case r.pong <- struct{}{}:
			default:
			}
		case "MSG", "HMSG":
			if err := r.message(in, words); err != nil {
				return err
			}
		case "-ERR":
			return fmt.Errorf("tap server: %s", line)
		}
	}
}

// message reads a message of which the first line is known: MSG subject sid [reply] size, or HMSG subject sid [reply] header size.
func (r *responder) message(in *bufio.Reader, words [][]byte) error {
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
	if len(words) == plain || size > requestBytes { // no reply is wanted, or it is no request
		_, err := io.CopyN(io.Discard, in, int64(size)+2)
		return err
	}
	subject, reply := string(words[1]), string(words[3])
	body := make([]byte, size+2)
	if _, err := io.ReadFull(in, body); err != nil {
		return err
	}
	r.take(r, subject, reply, body[head:size])
	return nil
}

// say writes a line.
func (r *responder) say(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = r.out.WriteString(line)
	_ = r.out.Flush()
}

// send sends a message; the next flush brings it on its way. An error is for the next read to find.
func (r *responder) send(subject string, header, data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	line := make([]byte, 0, 128)
	if len(header) > 0 {
		line = append(append(append(line, "HPUB "...), subject...), ' ')
		line = append(strconv.AppendInt(line, int64(len(header)), 10), ' ')
	} else {
		line = append(append(append(line, "PUB "...), subject...), ' ')
	}
	line = append(strconv.AppendInt(line, int64(len(header)+len(data)), 10), "\r\n"...)
	_, _ = r.out.Write(line)
	_, _ = r.out.Write(header)
	_, _ = r.out.Write(data)
	_, _ = r.out.WriteString("\r\n")
}

func (r *responder) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.out.Flush()
}

// delivered returns when the server has handed out all that was sent, or the connection is broken.
func (r *responder) delivered() {
	r.mu.Lock()
	pong := r.pong
	select {
	case <-pong: // of one that was given up
	default:
	}
	_, _ = r.out.WriteString("PING\r\n")
	err := r.out.Flush()
	r.mu.Unlock()
	if err == nil {
		select {
		case <-pong:
		case <-time.After(replyWait):
		}
	}
}

func (r *responder) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.conn != nil {
		r.conn.Close()
	}
}

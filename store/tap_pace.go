package store

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/time/rate"
)

// pace slows down a client that says more than it needs to: the server would spend its time on that.
type pace struct{ limiter *rate.Limiter }

// What a client may say in a second, and at once, in bytes. A tap subscribes and answers pings; the others ask for history.
const (
	tapRate     = 8 << 10
	historyRate = 1 << 20
	paceBurst   = 4 * time.Second
)

func newPace(c class) *pace {
	most := historyRate
	if c == ofTaps {
		most = tapRate
	}
	return &pace{rate.NewLimiter(rate.Limit(most), most*int(paceBurst/time.Second))}
}

// wait returns when n bytes more are within the rate, or when the client is gone.
func (p *pace) wait(n int, gone <-chan struct{}) {
	now := time.Now()
	var ahead time.Duration
	for n > 0 { // the limiter takes no more at a time than its burst
		part := min(n, p.limiter.Burst())
		ahead = p.limiter.ReserveN(now, part).DelayFrom(now)
		n -= part
	}
	pause(ahead, gone)
}

// payloads finds the payloads in what a client says, and refuses a large one before the server makes room for it: no client may
// publish more than a question. The server's own limit holds for an account, and so for Ledge's connections in it too.
type payloads struct {
	line []byte // as far as it has come
	left int    // of the payload
}

// check looks through the next bytes.
func (p *payloads) check(b []byte) error {
	for len(b) > 0 {
		if p.left > 0 {
			n := min(p.left, len(b))
			p.left, b = p.left-n, b[n:]
			continue
		}
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		if p.line, b = append(p.line, line...), rest; len(p.line) > tapControlLine {
			return fmt.Errorf("maximum control line exceeded: %d bytes", tapControlLine)
		}
		if !whole {
			return nil
		}
		n, err := payloadOf(p.line)
		if err != nil {
			return err
		}
		p.line, p.left = p.line[:0], n
	}
	return nil
}

// payloadOf returns the length of what follows a line, with its end of line; 0 for a line that the server will refuse.
func payloadOf(line []byte) (int, error) {
	fields := bytes.Fields(line)
	if len(fields) < 3 || !bytes.EqualFold(fields[0], []byte("PUB")) && !bytes.EqualFold(fields[0], []byte("HPUB")) {
		return 0, nil
	}
	switch n, err := strconv.Atoi(string(fields[len(fields)-1])); {
	case n > tapPayload: // also where err says that it is out of range
		return 0, fmt.Errorf("maximum payload violation: %d bytes, and a client of the tap port may send %d", n, tapPayload)
	case err == nil && n >= 0:
		return n + len("\r\n"), nil
	}
	return 0, nil
}

package tap

import (
	"bytes"
	"fmt"
	"strconv"
)

// messages follows what the server says to a client, to find where one message ends and the next begins.
type messages struct {
	line []byte // as far as it has come
	left int    // bytes of the payload that have not come yet, with its end of line
}

// between reports whether all that has come are whole messages.
func (m *messages) between() bool { return m.left == 0 && len(m.line) == 0 }

// pass follows the next bytes. It returns after how many of them it has stopped: at the first end of a message if once is set, else after all.
func (m *messages) pass(b []byte, once bool) (n int) {
	for n < len(b) {
		if m.left > 0 {
			part := min(m.left, len(b)-n)
			m.left -= part
			n += part
		} else {
			line, _, whole := bytes.Cut(b[n:], []byte("\n"))
			m.line = append(m.line, line...)
			n += len(line)
			if !whole {
				return n
			}
			n++
			m.left, m.line = payloadAfter(m.line), m.line[:0]
		}
		if once && m.between() {
			return n
		}
	}
	return n
}

// payloadAfter returns the length of what follows a line of the server, with its end of line.
func payloadAfter(line []byte) int {
	if !bytes.HasPrefix(line, []byte("MSG ")) && !bytes.HasPrefix(line, []byte("HMSG ")) {
		return 0
	}
	line = bytes.TrimSpace(line)
	n, err := strconv.Atoi(string(line[bytes.LastIndexByte(line, ' ')+1:]))
	if err != nil {
		return 0
	}
	return n + len("\r\n")
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
		if p.line, b = append(p.line, line...), rest; len(p.line) > controlLine {
			return fmt.Errorf("maximum control line exceeded: %d bytes", controlLine)
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
	case n > clientPayload: // also where err says that it is out of range
		return 0, fmt.Errorf("maximum payload violation: %d bytes, and a client of the tap port may send %d", n, clientPayload)
	case err == nil && n >= 0:
		return n + len("\r\n"), nil
	}
	return 0, nil
}

package store

import (
	"bytes"
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

package connections

import (
	"errors"
	"net"
)

// headerConn is a connection as net/http reads it, above TLS. It limits the lines of each request's header.
type headerConn struct {
	net.Conn
	below *conn

	readHeader
}

// readHeader is what is known of the header that is read. Only net/http's goroutine of the connection uses it.
type readHeader struct {
	refused bool // net/http reads on after an error in the middle of a line
	ended   bool
	newLine bool // nothing came since the last line's end
	lines   int
	bytes   int
	name    [len(transferEncoding)]byte // of the line, in lower case, as far as there is room
	named   int
	length  bool // there is a Content-Length
	coding  bool // there is a Transfer-Encoding
}

const contentLength, transferEncoding = "content-length:", "transfer-encoding:"

var errHeader = errors.New("the header of the request is too long, or too many long ones are under way")

// Read implements net.Conn.
func (h *headerConn) Read(b []byte) (int, error) {
	if h.refused {
		return 0, errHeader
	}
	n, err := h.Conn.Read(b)
	if h.ended || h.take(b[:n]) {
		return n, err
	}
	h.refused = true
	return 0, errHeader
}

// take looks at the next bytes of a header. What is behind the header is not looked at.
func (h *headerConn) take(text []byte) bool {
	before := h.bytes
	for _, b := range text {
		h.bytes++
		switch {
		case b == '\n' && h.newLine:
			h.end()
			return true
		case b == '\n':
			h.newLine = true
			if h.lines++; h.lines > mostHeaderLines {
				return false
			}
			h.named = 0
		case b != '\r':
			h.newLine = false
			h.note(b)
		}
	}
	return before > shortHeader || h.bytes <= shortHeader || h.below.limiter.longHeader(h.below)
}

// note takes the next byte of a line.
func (h *headerConn) note(b byte) {
	if h.named == len(h.name) {
		return
	}
	if 'A' <= b && b <= 'Z' {
		b += 'a' - 'A'
	}
	h.name[h.named] = b
	h.named++
	h.length = h.length || string(h.name[:h.named]) == contentLength
	h.coding = h.coding || string(h.name[:h.named]) == transferEncoding
}

func (h *headerConn) end() {
	h.below.twoLengths = h.length && h.coding
	h.ended = true
	h.below.limiter.mu.Lock()
	h.below.limiter.endHeader(h.below)
	h.below.limiter.mu.Unlock()
}

// restart is called between two requests.
func (h *headerConn) restart() { h.readHeader = readHeader{} }

// CloseWrite tells the client that no more comes.
func (h *headerConn) CloseWrite() error {
	if c, ok := h.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return nil
}

// NetConn returns the connection below.
func (h *headerConn) NetConn() net.Conn { return h.Conn }

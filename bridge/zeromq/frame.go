package zeromq

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Flags of a ZMTP 3 frame (https://rfc.zeromq.org/spec/23/).
const (
	flagMore    = 1
	flagLong    = 2
	flagCommand = 4
)

const maxPingContext = 16 // bytes (https://rfc.zeromq.org/spec/37/)

type frame struct {
	more, command bool
	body          []byte
}

// frameReader reads frames whose bodies are at most max bytes long. Nothing is allocated for a
// frame before its claimed size was compared with max.
type frameReader struct {
	r    *bufio.Reader
	max  int
	buf  []byte          // kept from frame to frame while it is short
	hold func(int) error // claims the bytes of a long frame, and gives them back; may be nil
	held int
}

const shortFrame = 1 << 10

// next returns the next frame. Its body is valid until the following call.
func (fr *frameReader) next() (frame, error) {
	if fr.held > 0 {
		_ = fr.hold(-fr.held) // only more can be refused
		fr.held, fr.buf = 0, nil
	}
	flags, err := fr.r.ReadByte()
	if err != nil {
		return frame{}, err
	}
	if flags > flagMore|flagLong|flagCommand || flags&(flagMore|flagCommand) == flagMore|flagCommand {
		return frame{}, fmt.Errorf("frame with invalid flags %#02x", flags)
	}
	size, err := fr.size(flags&flagLong != 0)
	if err != nil {
		return frame{}, err
	}
	if size > uint64(fr.max) {
		return frame{}, fmt.Errorf("frame of %d bytes; at most %d are accepted", size, fr.max)
	}
	if err := fr.grow(int(size)); err != nil {
		return frame{}, err
	}
	body := fr.buf[:size]
	if _, err := io.ReadFull(fr.r, body); err != nil {
		return frame{}, err
	}
	return frame{more: flags&flagMore != 0, command: flags&flagCommand != 0, body: body}, nil
}

func (fr *frameReader) grow(size int) error {
	if cap(fr.buf) >= size {
		return nil
	}
	if fr.hold != nil && size > shortFrame {
		if err := fr.hold(size); err != nil {
			return err
		}
		fr.held = size
	}
	fr.buf = make([]byte, size)
	return nil
}

func (fr *frameReader) size(long bool) (uint64, error) {
	var b [8]byte
	at := 7
	if long {
		at = 0
	}
	_, err := io.ReadFull(fr.r, b[at:])
	return binary.BigEndian.Uint64(b[:]), err
}

// parseCommand splits the body of a command frame into the command's name and its data.
func parseCommand(body []byte) (name string, data []byte, err error) {
	if len(body) == 0 || len(body) < 1+int(body[0]) {
		return "", nil, errors.New("malformed command")
	}
	n := 1 + int(body[0])
	return string(body[1:n]), body[n:], nil
}

// commandFrame encodes a command on the wire.
func commandFrame(name string, data []byte) []byte {
	size := 1 + len(name) + len(data)
	f := appendHeader(make([]byte, 0, 9+size), flagCommand, size)
	f = append(f, byte(len(name)))
	f = append(f, name...)
	return append(f, data...)
}

func appendHeader(b []byte, flags byte, size int) []byte {
	if size < 256 {
		return append(b, flags, byte(size))
	}
	return binary.BigEndian.AppendUint64(append(b, flags|flagLong), uint64(size))
}

// pong answers the data of a PING: a time to live of two bytes, then a context to echo.
func pong(ping []byte) ([]byte, error) {
	if len(ping) < 2 {
		return nil, errors.New("malformed PING")
	}
	context := ping[2:]
	return commandFrame("PONG", context[:min(len(context), maxPingContext)]), nil
}

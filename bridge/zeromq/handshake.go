package zeromq

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	greetingBytes = 64
	maxReadyBytes = 8 << 10
)

// greeting is what a ZMTP 3.0 peer with the NULL mechanism sends first.
func greeting() []byte {
	g := make([]byte, greetingBytes)
	g[0], g[9], g[10] = 0xff, 0x7f, 3
	copy(g[12:32], "NULL")
	return g
}

func readyFrame(socketType string) []byte {
	const key = "Socket-Type"
	meta := append([]byte{byte(len(key))}, key...)
	meta = binary.BigEndian.AppendUint32(meta, uint32(len(socketType)))
	return commandFrame("READY", append(meta, socketType...))
}

// shake performs the publisher's side of a handshake. Its error says what is wrong with the
// peer and, where something can be done about it, what.
func shake(w io.Writer, r *bufio.Reader) error {
	if _, err := w.Write(greeting()); err != nil {
		return fmt.Errorf("send greeting: %w", err)
	}
	if err := readGreeting(r); err != nil {
		return err
	}
	if _, err := w.Write(readyFrame("PUB")); err != nil {
		return fmt.Errorf("send READY: %w", err)
	}
	return readReady(r)
}

// readGreeting judges the first twelve bytes before it waits for the rest, because older peers
// send no more than that.
func readGreeting(r io.Reader) error {
	var g [greetingBytes]byte
	if _, err := io.ReadFull(r, g[:12]); err != nil {
		return fmt.Errorf("read greeting: %w", err)
	}
	if g[0] != 0xff || g[9] != 0x7f {
		return fmt.Errorf("not a ZMTP peer (it began with %q)", g[:10])
	}
	if g[10] < 3 {
		return fmt.Errorf("ZMTP revision %d is older than 3; upgrade the subscriber to libzmq 4 or newer", g[10])
	}
	if _, err := io.ReadFull(r, g[12:]); err != nil {
		return fmt.Errorf("read greeting: %w", err)
	}
	if mechanism := bytes.TrimRight(g[12:32], "\x00"); string(mechanism) != "NULL" {
		return fmt.Errorf("security mechanism %q is not supported; configure the subscriber without CURVE or PLAIN", mechanism)
	}
	return nil
}

func readReady(r *bufio.Reader) error {
	f, err := (&frameReader{r: r, max: maxReadyBytes}).next()
	if err != nil {
		return fmt.Errorf("read READY: %w", err)
	}
	if !f.command {
		return errors.New("a message came before READY")
	}
	name, data, err := parseCommand(f.body)
	if err != nil {
		return fmt.Errorf("read READY: %w", err)
	}
	if name != "READY" {
		return fmt.Errorf("command %.20q came before READY", name)
	}
	return checkSocketType(data)
}

func checkSocketType(meta []byte) error {
	for len(meta) > 0 {
		name, value, rest, ok := cutProperty(meta)
		if !ok {
			return errors.New("malformed metadata in READY")
		}
		if meta = rest; !strings.EqualFold(name, "Socket-Type") {
			continue
		}
		if value != "SUB" && value != "XSUB" {
			return fmt.Errorf("socket type %.20q cannot subscribe; connect a SUB or XSUB socket", value)
		}
		return nil
	}
	return errors.New("READY without Socket-Type")
}

// cutProperty takes the first property off a handshake's metadata: a name with a length of one
// byte, a value with a length of four.
func cutProperty(meta []byte) (name, value string, rest []byte, ok bool) {
	n := 1 + int(meta[0])
	if len(meta) < n+4 {
		return "", "", nil, false
	}
	size := uint64(binary.BigEndian.Uint32(meta[n:]))
	after := meta[n+4:]
	if size > uint64(len(after)) {
		return "", "", nil, false
	}
	return string(meta[1:n]), string(after[:size]), after[size:], true
}

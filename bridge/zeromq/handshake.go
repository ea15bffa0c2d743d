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

// The security mechanisms.
const (
	nullMechanism  = "NULL"
	curveMechanism = "CURVE"
)

// Where parts of a greeting end.
const (
	versionEnd   = 12
	mechanismEnd = 32
)

// greeting is what a ZMTP 3.0 peer sends first. With CURVE the publisher is the server.
func greeting(mechanism string) []byte {
	g := make([]byte, greetingBytes)
	g[0], g[9], g[10] = 0xff, 0x7f, 3
	copy(g[versionEnd:mechanismEnd], mechanism)
	if mechanism == curveMechanism {
		g[mechanismEnd] = 1
	}
	return g
}

// socketTypeIs is the metadata of a handshake.
func socketTypeIs(socketType string) []byte {
	const key = "Socket-Type"
	meta := append([]byte{byte(len(key))}, key...)
	meta = binary.BigEndian.AppendUint32(meta, uint32(len(socketType)))
	return append(meta, socketType...)
}

// handshake is the publisher's side of one. It finds out who the peer is.
type handshake struct {
	r         *bufio.Reader
	audiences *audiences
	server    *curveKeys // nil without CURVE
	computing turns

	who     identity
	session *session // nil without CURVE
}

// shake performs the handshake. Its error says what is wrong with the peer and, where something can be done about it, what. The mechanism
// is sent when the peer's is known. So each peer is offered the one that it speaks, if a channel admits that, and is refused for
// the right reason otherwise: libzmq closes without a word when it sees another mechanism than its own.
func (h *handshake) shake(w io.Writer) error {
	if err := write(w, "greeting", greeting("")[:versionEnd]); err != nil {
		return err
	}
	mechanism, err := readGreeting(h.r)
	if err != nil {
		return err
	}
	null, curve := h.audiences.offers(h.who.address)
	curve = curve && h.server != nil
	offered := nullMechanism
	if curve && (mechanism == curveMechanism || !null) {
		offered = curveMechanism
	}
	if err := write(w, "greeting", greeting(offered)[versionEnd:]); err != nil {
		return err
	}
	if mechanism != offered {
		return refuse(ReasonMechanism, "security mechanism %q is not that of the channels of this socket, which is %s", mechanism, offered)
	}
	if offered == curveMechanism {
		return h.shakeCurve(w)
	}
	if err := write(w, "READY", commandFrame("READY", socketTypeIs("PUB"))); err != nil {
		return err
	}
	meta, err := h.command("READY")
	if err != nil {
		return err
	}
	return checkSocketType(meta)
}

func write(w io.Writer, what string, b []byte) error {
	if _, err := w.Write(b); err != nil {
		return fmt.Errorf("send %s: %w", what, err)
	}
	return nil
}

// readGreeting returns the peer's security mechanism. It judges the first twelve bytes before it waits for the rest, because older
// peers send no more than that.
func readGreeting(r io.Reader) (mechanism string, err error) {
	var g [greetingBytes]byte
	if _, err := io.ReadFull(r, g[:versionEnd]); err != nil {
		return "", fmt.Errorf("read greeting: %w", err)
	}
	if g[0] != 0xff || g[9] != 0x7f {
		return "", fmt.Errorf("not a ZMTP peer (it began with %q)", g[:10])
	}
	if g[10] < 3 {
		return "", fmt.Errorf("ZMTP revision %d is older than 3; upgrade the subscriber to libzmq 4 or newer", g[10])
	}
	if _, err := io.ReadFull(r, g[versionEnd:]); err != nil {
		return "", fmt.Errorf("read greeting: %w", err)
	}
	return string(bytes.TrimRight(g[versionEnd:mechanismEnd], "\x00")), nil
}

// command reads the one command that may come now, and returns its data.
func (h *handshake) command(want string) ([]byte, error) {
	f, err := (&frameReader{r: h.r, max: maxReadyBytes}).next()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", want, err)
	}
	if !f.command {
		return nil, fmt.Errorf("a message came before %s", want)
	}
	name, data, err := parseCommand(f.body)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", want, err)
	}
	if name != want {
		return nil, fmt.Errorf("command %.20q came before %s", name, want)
	}
	return data, nil
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

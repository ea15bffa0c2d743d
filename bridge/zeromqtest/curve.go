// Package zeromqtest is a SUB peer with CURVE (https://rfc.zeromq.org/spec/26/), for tests and the benchmark. It shares no code with
// bridge/zeromq, and each of its steps can be altered.
package zeromqtest

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"golang.org/x/crypto/nacl/box"

	"ledge/domain/z85"
)

// Keys are a key pair of CURVE.
type Keys struct{ Public, Private [32]byte }

// NewKeys returns a new key pair.
func NewKeys() Keys {
	public, private, err := box.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	return Keys{*public, *private}
}

// Text is the public key in Z85.
func (k Keys) Text() string { return z85.Encode(k.Public[:]) }

// Sub is a peer. Its fields may be changed before the step that uses them.
type Sub struct {
	Conn   net.Conn
	Server [32]byte // its long-term key
	Client Keys     // long-term
	Short  Keys
	Vouch  Keys // who vouches for Short; nil value: Client
	Nonce  uint64
	Alter  func(command string, body []byte) []byte // of HELLO and INITIATE, before they are sent; may be nil
	Meta   string

	r             *bufio.Reader
	serverShort   [32]byte
	cookie        []byte
	shared        [32]byte
	serverCounter uint64
}

// Connect returns a peer that has not sent anything.
func Connect(address string, server [32]byte, client Keys) (*Sub, error) {
	conn, err := net.Dial("tcp", address) //nolint:noctx // to this machine
	if err != nil {
		return nil, err
	}
	return &Sub{
		Conn: conn, Server: server, Client: client, Vouch: client, Short: NewKeys(), r: bufio.NewReaderSize(conn, 64<<10),
		Meta: "\x0bSocket-Type\x00\x00\x00\x03SUB\x08Identity\x00\x00\x00\x00",
	}, nil
}

// Dial connects a peer and completes the handshake.
func Dial(address string, server [32]byte, client Keys) (*Sub, error) {
	s, err := Connect(address, server, client)
	if err != nil {
		return nil, err
	}
	if err := s.Shake(); err != nil {
		s.Conn.Close()
		return nil, err
	}
	return s, nil
}

// Shake performs the handshake.
func (s *Sub) Shake() error {
	for _, step := range []func() error{s.Greet, s.Hello, s.Welcome, s.Initiate, s.Ready} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// Greet exchanges the greetings.
func (s *Sub) Greet() error {
	mine := append([]byte("\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x03\x01CURVE"), make([]byte, 47)...)
	if _, err := s.Conn.Write(mine); err != nil {
		return err
	}
	theirs := make([]byte, 64)
	if _, err := io.ReadFull(s.r, theirs); err != nil {
		return fmt.Errorf("greeting: %w", err)
	}
	if !bytes.Equal(theirs[12:33], append([]byte("CURVE"), append(make([]byte, 15), 1)...)) {
		return fmt.Errorf("mechanism %q", theirs[12:33])
	}
	return nil
}

func (s *Sub) counter() []byte {
	s.Nonce++
	return binary.BigEndian.AppendUint64(nil, s.Nonce)
}

func nonce(parts ...[]byte) *[24]byte { return (*[24]byte)(bytes.Join(parts, nil)) }

// Hello sends HELLO.
func (s *Sub) Hello() error {
	n := s.counter()
	body := append(append([]byte("\x05HELLO\x01\x00"), make([]byte, 72)...), s.Short.Public[:]...)
	body = append(body, n...)
	return s.command("HELLO", box.Seal(body, make([]byte, 64), nonce([]byte("CurveZMQHELLO---"), n), &s.Server, &s.Short.Private))
}

// Welcome reads WELCOME.
func (s *Sub) Welcome() error {
	body, err := s.expect("\x07WELCOME", 168)
	if err != nil {
		return err
	}
	plain, ok := box.Open(nil, body[16:], nonce([]byte("WELCOME-"), body[:16]), &s.Server, &s.Short.Private)
	if !ok {
		return errors.New("WELCOME cannot be decrypted")
	}
	s.serverShort, s.cookie = [32]byte(plain), plain[32:]
	box.Precompute(&s.shared, &s.serverShort, &s.Short.Private)
	return nil
}

// Initiate sends INITIATE.
func (s *Sub) Initiate() error {
	long := make([]byte, 16)
	_, _ = rand.Read(long) // never fails
	vouch := box.Seal(long, append(s.Short.Public[:], s.Server[:]...), nonce([]byte("VOUCH---"), long), &s.serverShort, &s.Vouch.Private)
	plain := append(append(s.Client.Public[:], vouch...), s.Meta...)
	n := s.counter()
	body := append(append([]byte("\x08INITIATE"), s.cookie...), n...)
	return s.command("INITIATE", box.SealAfterPrecomputation(body, plain, nonce([]byte("CurveZMQINITIATE"), n), &s.shared))
}

// Ready reads READY.
func (s *Sub) Ready() error {
	body, err := s.expect("\x05READY", 0)
	if err != nil {
		return err
	}
	meta, err := s.open("CurveZMQREADY---", body)
	if want := "\x0bSocket-Type\x00\x00\x00\x03PUB"; err == nil && string(meta) != want {
		return fmt.Errorf("metadata %q", meta)
	}
	return err
}

// open decrypts a counter and a box.
func (s *Sub) open(prefix string, body []byte) ([]byte, error) {
	if len(body) < 8 {
		return nil, errors.New("too short")
	}
	if n := binary.BigEndian.Uint64(body); n != s.serverCounter+1 {
		return nil, fmt.Errorf("counter %d after %d", n, s.serverCounter)
	}
	s.serverCounter++
	plain, ok := box.OpenAfterPrecomputation(nil, body[8:], nonce([]byte(prefix), body[:8]), &s.shared)
	if !ok {
		return nil, errors.New("it cannot be decrypted")
	}
	return plain, nil
}

// command sends a command whose body may be altered.
func (s *Sub) command(name string, body []byte) error {
	if s.Alter != nil {
		body = s.Alter(name, body)
	}
	return s.Frame(4, body)
}

// Frame sends a frame in clear text.
func (s *Sub) Frame(flags byte, body []byte) error {
	head := []byte{flags, byte(len(body))}
	if len(body) > 255 {
		head = binary.BigEndian.AppendUint64([]byte{flags | 2}, uint64(len(body)))
	}
	_, err := s.Conn.Write(append(head, body...))
	return err
}

// Message is an encrypted frame, whose flags are 1 for more and 2 for a command.
func (s *Sub) Message(flags byte, body string) []byte {
	n := s.counter()
	return box.SealAfterPrecomputation(append([]byte("\x07MESSAGE"), n...), append([]byte{flags}, body...), nonce([]byte("CurveZMQMESSAGEC"), n), &s.shared)
}

// Subscribe subscribes to a topic.
func (s *Sub) Subscribe(topic string) error { return s.Frame(0, s.Message(0, "\x01"+topic)) }

// expect reads a command whose body, with the name, has a size; 0 for any.
func (s *Sub) expect(name string, size int) ([]byte, error) {
	flags, body, err := s.read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name[1:], err)
	}
	if flags != 4 || !bytes.HasPrefix(body, []byte(name)) || size > 0 && len(body) != size {
		return nil, fmt.Errorf("got frame %d %q, want %s", flags, body[:min(len(body), 40)], name[1:])
	}
	return body[len(name):], nil
}

// read returns the next frame in clear text.
func (s *Sub) read() (flags byte, body []byte, err error) {
	if flags, err = s.r.ReadByte(); err != nil {
		return 0, nil, err
	}
	size, at := make([]byte, 8), 7
	if flags&2 != 0 {
		at = 0
	}
	if _, err := io.ReadFull(s.r, size[at:]); err != nil {
		return 0, nil, err
	}
	body = make([]byte, binary.BigEndian.Uint64(size))
	_, err = io.ReadFull(s.r, body)
	return flags &^ 2, body, err
}

// Recv returns the next frame, decrypted.
func (s *Sub) Recv() (flags byte, body []byte, err error) {
	outer, body, err := s.read()
	if err != nil {
		return 0, nil, err
	}
	if rest, ok := bytes.CutPrefix(body, []byte("\x07MESSAGE")); ok && outer == 0 {
		plain, err := s.open("CurveZMQMESSAGES", rest)
		if err != nil || len(plain) == 0 {
			return 0, nil, fmt.Errorf("MESSAGE: %w", err)
		}
		return plain[0], plain[1:], nil
	}
	return 0, nil, fmt.Errorf("got frame %d %q, want MESSAGE", outer, body[:min(len(body), 40)])
}

// RecvMessage returns the next message of two frames.
func (s *Sub) RecvMessage() (topic, body []byte, err error) {
	first, topic, err := s.Recv()
	if err != nil {
		return nil, nil, err
	}
	second, body, err := s.Recv()
	if err == nil && (first != 1 || second != 0) {
		err = fmt.Errorf("flags %d and %d, want two frames", first, second)
	}
	return topic, body, err
}

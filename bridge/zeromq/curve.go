package zeromq

import (
	"encoding/binary"
	"errors"

	"golang.org/x/crypto/curve25519"
	"golang.org/x/crypto/nacl/box"

	"ledge/domain/z85"
)

// The security handshake and traffic of CurveZMQ (https://rfc.zeromq.org/spec/26/), the server's end. Sizes are without the names of
// the commands.
const (
	keyBytes        = 32
	cookieBytes     = 96
	helloBytes      = 194
	minInitiate     = cookieBytes + shortNonce + box.Overhead + keyBytes + vouchBytes
	vouchBytes      = longNonce + box.Overhead + 2*keyBytes
	longNonce       = 16 // random
	shortNonce      = 8  // a counter
	messageCommand  = "\x07MESSAGE"
	messageOverhead = len(messageCommand) + shortNonce + box.Overhead + 1
)

// Flags of a frame within a MESSAGE.
const (
	sealedMore    = 1
	sealedCommand = 2
)

type curveKey = [keyBytes]byte

// curveKeys are a key pair.
type curveKeys struct{ public, secret curveKey }

// pairOf returns the key pair of a private key.
func pairOf(secret curveKey) *curveKeys {
	public, err := curve25519.X25519(secret[:], curve25519.Basepoint)
	if err != nil {
		panic(err) // only a public key of low order is refused
	}
	return &curveKeys{curveKey(public), secret}
}

// PublicKey returns the public key of a private key of 32 bytes, both for CURVE, as text in Z85.
func PublicKey(private []byte) string {
	pair := pairOf(curveKey(private))
	return z85.Encode(pair.public[:])
}

// nonceOf joins the two parts of a nonce.
func nonceOf(prefix string, rest []byte) *[24]byte {
	var n [24]byte
	copy(n[copy(n[:], prefix):], rest)
	return &n
}

// session encrypts and decrypts the traffic with one peer. Reading and writing may go on at the same time.
type session struct {
	shared   curveKey // of the short-term keys
	sent     uint64   // the counter of the last nonce
	nonce    [24]byte // of what is sent
	received uint64
}

var errForged = errors.New("a MESSAGE that cannot be decrypted")

// open decrypts a frame. Nothing but a MESSAGE is accepted: a peer that can encrypt sends nothing in clear text.
func (s *session) open(f frame) (frame, error) {
	const head = len(messageCommand) + shortNonce
	if len(f.body) < messageOverhead || string(f.body[:len(messageCommand)]) != messageCommand {
		return frame{}, errors.New("a frame that is no MESSAGE of CURVE")
	}
	counter := f.body[len(messageCommand):head]
	n := binary.BigEndian.Uint64(counter)
	if n <= s.received {
		return frame{}, errors.New("a MESSAGE whose nonce is not higher than the one before")
	}
	plain, ok := box.OpenAfterPrecomputation(nil, f.body[head:], nonceOf("CurveZMQMESSAGEC", counter), &s.shared)
	if !ok || plain[0]&^(sealedMore|sealedCommand) != 0 {
		return frame{}, errForged
	}
	s.received = n
	return frame{more: plain[0]&sealedMore != 0, command: plain[0]&sealedCommand != 0, body: plain[1:]}, nil
}

// nextNonce counts what is sent, so that no nonce is used twice. The counter does not come to its end: that would take centuries.
func (s *session) nextNonce(prefix string) {
	s.sent++
	binary.BigEndian.PutUint64(s.nonce[copy(s.nonce[:], prefix):], s.sent)
}

// seal appends to out the frame on the wire that has a frame encrypted. plain is its flags and its body.
func (s *session) seal(out, plain []byte) []byte {
	s.nextNonce("CurveZMQMESSAGES")
	out = appendHeader(out, 0, messageOverhead-1+len(plain))
	out = append(append(out, messageCommand...), s.nonce[longNonce:]...)
	return box.SealAfterPrecomputation(out, plain, &s.nonce, &s.shared)
}

package zeromq

import (
	"bytes"
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"io"
	"slices"

	"golang.org/x/crypto/nacl/box"
)

// curveHandshake is the server's end of one handshake. What RFC 26 keeps in a cookie, so that a server needs no memory for a client that may
// not exist, is kept here: a TCP connection exists, and limits bounds how many handshakes are under way. The cookie is random bytes
// that the client has to send back.
type curveHandshake struct {
	server   *curveKeys // long-term
	short    curveKeys
	client   curveKey // short-term
	received uint64   // counter of the last nonce
	cookie   [cookieBytes]byte
}

// welcome reads a HELLO and returns the answer to it.
func (h *curveHandshake) welcome(hello []byte) ([]byte, error) {
	if err := h.openHello(hello); err != nil {
		return nil, err
	}
	public, secret, err := box.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	h.short = curveKeys{*public, *secret}
	nonce := make([]byte, longNonce)
	_, _ = rand.Read(nonce) // never fails
	_, _ = rand.Read(h.cookie[:])
	plain := slices.Concat(h.short.public[:], h.cookie[:])
	return commandFrame("WELCOME", box.Seal(nonce, plain, nonceOf("WELCOME-", nonce), &h.client, &h.server.secret)), nil
}

// openHello takes the client's short-term key, if the client knows the server's key.
func (h *curveHandshake) openHello(data []byte) error {
	const version, padding = 2, 72
	if len(data) != helloBytes || data[0] != 1 || data[1] != 0 || !isZero(data[version:version+padding]) {
		return refuse(ReasonHandshake, "malformed HELLO")
	}
	data = data[version+padding:]
	h.client = curveKey(data)
	counter, sealed := data[keyBytes:keyBytes+shortNonce], data[keyBytes+shortNonce:]
	plain, ok := box.Open(nil, sealed, nonceOf("CurveZMQHELLO---", counter), &h.client, &h.server.secret)
	if !ok {
		return refuse(ReasonServerKey, "it has another server key; configure it with the one that `ledge curve` prints")
	}
	if !isZero(plain) {
		return refuse(ReasonHandshake, "malformed HELLO")
	}
	h.received = binary.BigEndian.Uint64(counter)
	return nil
}

// initiated reads an INITIATE. It returns the client's long-term key, which the client has proved to own, and its metadata.
func (h *curveHandshake) initiated(data []byte) (key curveKey, metadata []byte, s *session, err error) {
	if len(data) < minInitiate || subtle.ConstantTimeCompare(data[:cookieBytes], h.cookie[:]) != 1 {
		return key, nil, nil, refuse(ReasonHandshake, "malformed INITIATE")
	}
	counter, sealed := data[cookieBytes:cookieBytes+shortNonce], data[cookieBytes+shortNonce:]
	if n := binary.BigEndian.Uint64(counter); n <= h.received {
		return key, nil, nil, refuse(ReasonHandshake, "the nonce of INITIATE is not higher than that of HELLO")
	}
	s = &session{received: binary.BigEndian.Uint64(counter)}
	box.Precompute(&s.shared, &h.client, &h.short.secret)
	plain, ok := box.OpenAfterPrecomputation(nil, sealed, nonceOf("CurveZMQINITIATE", counter), &s.shared)
	if !ok {
		return key, nil, nil, refuse(ReasonHandshake, "an INITIATE that cannot be decrypted")
	}
	key = curveKey(plain)
	if !h.vouched(plain[keyBytes:keyBytes+vouchBytes], &key) {
		return key, nil, nil, refuse(ReasonHandshake, "the vouch in INITIATE is not right")
	}
	return key, plain[keyBytes+vouchBytes:], s, nil
}

// vouched reports whether the owner of a long-term key has vouched for the short-term key, to this server.
func (h *curveHandshake) vouched(vouch []byte, key *curveKey) bool {
	plain, ok := box.Open(nil, vouch[longNonce:], nonceOf("VOUCH---", vouch[:longNonce]), key, &h.short.secret)
	want := slices.Concat(h.client[:], h.server.public[:])
	return ok && subtle.ConstantTimeCompare(plain, want) == 1
}

// ready is the end of the handshake.
func (s *session) ready() []byte {
	s.nextNonce("CurveZMQREADY---")
	return commandFrame("READY", box.SealAfterPrecomputation(bytes.Clone(s.nonce[longNonce:]), socketTypeIs("PUB"), &s.nonce, &s.shared))
}

// denied tells a client that its key is not admitted: 400 is what libzmq's authentication answers.
func denied() []byte { return commandFrame("ERROR", []byte("\x03400")) }

func isZero(b []byte) bool { return subtle.ConstantTimeCompare(b, make([]byte, len(b))) == 1 }

// shakeCurve performs the handshake after the greetings.
func (h *handshake) shakeCurve(w io.Writer) error {
	state := curveHandshake{server: h.server}
	hello, err := h.command("HELLO")
	if err != nil {
		return err
	}
	var answer []byte
	h.computing.do(func() { answer, err = state.welcome(hello) })
	if err != nil {
		return err
	}
	if err := write(w, "WELCOME", answer); err != nil {
		return err
	}
	initiate, err := h.command("INITIATE")
	if err != nil {
		return err
	}
	var metadata []byte
	h.computing.do(func() { h.who.key, metadata, h.session, err = state.initiated(initiate) })
	if err != nil {
		return err
	}
	h.who.curve = true
	if !h.audiences.admit(h.who) {
		_, _ = w.Write(denied()) // it is refused all the same
		return refuse(ReasonClientKey, "no channel of this socket has its client key; add it to clientKeys of a channel")
	}
	if err := checkSocketType(metadata); err != nil {
		return err
	}
	return write(w, "READY", h.session.ready())
}

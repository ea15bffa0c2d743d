package store

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// The log of changes is kept for ever, so its messages leave out what can be told from the rest, and write ids and hashes
// short. Only the writing differs: an event means the same, and has the same chain hash, in both forms. A message is in
// the short form where its chain hash is written in Base64.
//
//	ce-id                  a UUID is written as the Base64 of its bytes
//	content-type           left out where it is application/json
//	Ledge-Actor            left out where it is anonymous, and where it is anonymous@ and the host of Ledge-Origin
//	Ledge-Origin           has an @ before it in the second of these cases
//	Ledge-Correlation-Id   left out where it is ce-id; another UUID is written as @ and the Base64 of its bytes
//	Ledge-Chain            written in Base64
//
// Base64 is that of RFC 4648, section 5, without padding.

const (
	usualContentType = "application/json"
	usualActor       = "anonymous"
	// shortMark stands before an origin whose host the actor is anonymous at, and before a UUID that is written short.
	shortMark = "@"
)

var short64 = base64.RawURLEncoding

// shortHeader returns the headers of an event in the short form, without the chain hash. ok is false, and the headers are as they
// were, where an event cannot be told from the short form.
func shortHeader(h Header) (short Header, ok bool) {
	id := h.Get(headerID)
	origin, actor := h.Get(headerOrigin), h.Get(headerActor)
	correlation := h.Get(headerCorrelation)
	if actor == "" || correlation == "" || isShortUUID(correlation) || h.Get(headerContentType) == "" || isShortID(id) || strings.HasPrefix(origin, shortMark) {
		return h, false
	}
	atOrigin := isAnonymousAt(actor, origin)
	short = make(Header, 0, len(h)+2) // and the chain hash and the fence
	for _, f := range h {
		switch {
		case f.Name == headerContentType && f.Value == usualContentType,
			f.Name == headerActor && (atOrigin || f.Value == usualActor),
			f.Name == headerCorrelation && f.Value == id:
			continue
		case f.Name == headerOrigin && atOrigin:
			f.Value = shortMark + origin
		case f.Name == headerID:
			f.Value = shortID(id)
		case f.Name == headerCorrelation:
			if s := shortID(correlation); s != correlation {
				f.Value = shortMark + s
			}
		}
		short = append(short, f)
	}
	return short, true
}

// mostLeftOut is how many headers the short form leaves out, in events of earlier versions ce-subject among them.
const mostLeftOut = 4

// longHeader is the inverse of shortened. subject is that of the message.
func longHeader(h Header, subject string) Header {
	chain := h.Get(headerChain)
	if !isShortChain(chain) {
		return h
	}
	actor := usualActor
	for i := range h {
		switch h[i].Name {
		case headerID:
			h[i].Value = longID(h[i].Value)
		case headerOrigin:
			if origin, marked := strings.CutPrefix(h[i].Value, shortMark); marked {
				h[i].Value, actor = origin, anonymousAt(origin)
			}
		case headerCorrelation:
			if isShortUUID(h[i].Value) {
				h[i].Value = longID(h[i].Value[len(shortMark):])
			}
		}
	}
	h.fill(headerSubject, aboutOf(subject))
	h.fill(headerContentType, usualContentType)
	h.fill(headerActor, actor)
	h.fill(headerCorrelation, h.Get(headerID))
	return h
}

// anonymousAt is the actor at an origin, host:port. The log is read by this rule for ever: domain.AnonymousAt may change.
func anonymousAt(origin string) string {
	if host := hostOf(origin); host != "127.0.0.1" {
		return usualActor + "@" + host
	}
	return usualActor + "@127.0.0.1" // without an allocation
}

func isAnonymousAt(actor, origin string) bool {
	host, ok := strings.CutPrefix(actor, usualActor+"@")
	return ok && host != "" && host == hostOf(origin)
}

func hostOf(origin string) string {
	return strings.Trim(origin[:max(strings.LastIndexByte(origin, ':'), 0)], "[]")
}

// fill adds a header that is not there.
func (h *Header) fill(name, value string) {
	if !h.has(name) {
		h.set(name, value)
	}
}

// aboutOf is the ce-subject of a message that is stored under a subject.
func aboutOf(subject string) string {
	for range 2 {
		_, subject, _ = strings.Cut(subject, ".")
	}
	return strings.ReplaceAll(subject, ".", "/")
}

// shortID writes a UUID in lower case short, and any other id as it is.
func shortID(id string) string {
	const length = 36
	if len(id) != length || id[8] != '-' || id[13] != '-' || id[18] != '-' || id[23] != '-' || strings.ToLower(id) != id {
		return id
	}
	var digits [32]byte
	n := 0
	for _, part := range [...]string{id[:8], id[9:13], id[14:18], id[19:23], id[24:]} {
		n += copy(digits[n:], part)
	}
	var b [16]byte
	if _, err := hex.Decode(b[:], digits[:]); err != nil {
		return id
	}
	return short64.EncodeToString(b[:])
}

func isShortID(id string) bool {
	if len(id) != short64.EncodedLen(16) {
		return false
	}
	_, err := short64.DecodeString(id)
	return err == nil
}

// isShortUUID reports whether a correlation id is written short, or looks as if it were.
func isShortUUID(correlation string) bool {
	id, marked := strings.CutPrefix(correlation, shortMark)
	return marked && isShortID(id)
}

// longID is the inverse of shortID.
func longID(id string) string {
	b, err := short64.DecodeString(id)
	if err != nil || len(b) != 16 {
		return id
	}
	text := hex.EncodeToString(b)
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}

// chainText writes a chain hash as messages have it: in Base64 where they are in the short form, else in hex.
func chainText(sum Chain, short bool) string {
	if short {
		return short64.EncodeToString(sum[:])
	}
	return hex.EncodeToString(sum[:])
}

// isShortChain reports whether a chain hash is written as messages in the short form have it.
func isShortChain(text string) bool { return len(text) == short64.EncodedLen(len(Chain{})) }

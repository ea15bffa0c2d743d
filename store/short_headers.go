package store

import (
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/google/uuid"
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

// longHeader is the inverse of shortHeader. subject is that of the message.
func longHeader(h Header, subject string) Header {
	chain := h.Get(headerChain)
	if !isShortChain(chain) {
		return h
	}
	id, actor := "", usualActor
	var hasSubject, hasContentType, hasActor, hasCorrelation bool
	for i := range h {
		switch f := &h[i]; f.Name {
		case headerID:
			f.Value = longID(f.Value)
			id = f.Value
		case headerOrigin:
			if origin, marked := strings.CutPrefix(f.Value, shortMark); marked {
				f.Value, actor = origin, anonymousAt(origin)
			}
		case headerCorrelation:
			hasCorrelation = true
			if isShortUUID(f.Value) {
				f.Value = longID(f.Value[len(shortMark):])
			}
		case headerSubject:
			hasSubject = true
		case headerContentType:
			hasContentType = true
		case headerActor:
			hasActor = true
		}
	}
	h.fill(hasSubject, headerSubject, aboutOf(subject))
	h.fill(hasContentType, headerContentType, usualContentType)
	h.fill(hasActor, headerActor, actor)
	h.fill(hasCorrelation, headerCorrelation, id)
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

// fill adds a header, unless it is there.
func (h *Header) fill(has bool, name, value string) {
	if !has {
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
	const length = 36 // Parse takes other forms too
	u, err := uuid.Parse(id)
	if err != nil || len(id) != length || strings.ToLower(id) != id {
		return id
	}
	return short64.EncodeToString(u[:])
}

func isShortID(id string) bool {
	var u uuid.UUID
	if len(id) != short64.EncodedLen(len(u)) {
		return false
	}
	_, err := short64.Decode(u[:], []byte(id))
	return err == nil
}

// isShortUUID reports whether a correlation id is written short, or looks as if it were.
func isShortUUID(correlation string) bool {
	id, marked := strings.CutPrefix(correlation, shortMark)
	return marked && isShortID(id)
}

// longID is the inverse of shortID.
func longID(id string) string {
	var u uuid.UUID
	if len(id) != short64.EncodedLen(len(u)) {
		return id
	}
	if _, err := short64.Decode(u[:], []byte(id)); err != nil {
		return id
	}
	return u.String()
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

package handlers

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

const (
	keyHeader = "Idempotency-Key"
	// replayedHeader is Stripe's: it says "true" on an answer that was given before.
	replayedHeader = "Idempotent-Replayed"
	// maxKey is the length of a key in bytes, that of Stripe; draft-ietf-httpapi-idempotency-key-header has none.
	maxKey = 255
)

// Key returns what the client calls a POST by its Idempotency-Key, "" where it does not. One that is malformed is an
// Invalid error.
func (a *API) Key(c *gin.Context) (string, error) {
	values := c.Request.Header[keyHeader]
	if len(values) == 0 || c.Request.Method != http.MethodPost {
		return "", nil
	}
	key, ok := parseKey(values)
	if !ok {
		return "", domain.FieldErrorf(keyHeader, "%.80q is not a key; give one of 1 to %d printable characters, once, in double quotes or as it is", strings.Join(values, ", "), maxKey)
	}
	return key, nil
}

// RefuseKey refuses an Idempotency-Key where a request has a password, or its answer a token: the log would keep a digest of the body, from
// which a password can be guessed, and could not give the token again.
func (a *API) RefuseKey(c *gin.Context) {
	if key, err := a.Key(c); key != "" || err != nil {
		c.Abort()
		a.Fail(c, domain.FieldErrorf(keyHeader, "is not possible for passwords and tokens, which the log must not keep; leave the header out, and ask for the state before you send it again"))
	}
}

// keyOf is what the log has of a key, nil where it is "". It is the service's and the identity's: the same one elsewhere is
// another one. body is the SHA-256 of the request's body; another method, path or body under one key is a mistake.
func (a *API) keyOf(c *gin.Context, key string, body [sha256.Size]byte, st domain.Stamp) *domain.Key {
	if key == "" {
		return nil
	}
	hash := sha256.Sum256([]byte(a.Service + "\x00" + domain.IdentityOf(st.Actor) + "\x00" + key))
	digest := sha256.Sum256([]byte(c.Request.Method + "\n" + c.Request.URL.Path + "\n" + string(body[:])))
	return &domain.Key{
		Hash: hex.EncodeToString(hash[:]), Digest: hex.EncodeToString(digest[:]), Until: st.At.Add(a.IdempotencyKeep).UnixMilli(),
	}
}

// parseKey takes a string of RFC 8941 without parameters, as the draft has it, or the bare key, as most clients send it.
func parseKey(values []string) (key string, ok bool) {
	if len(values) > 1 {
		return "", false
	}
	text := strings.Trim(values[0], " \t")
	if inner, quoted := strings.CutPrefix(text, `"`); quoted {
		inner, ok = strings.CutSuffix(inner, `"`)
		text = unquote(inner)
		return text, ok && text != "" && len(text) <= maxKey
	}
	for _, r := range text {
		if r <= ' ' || r > '~' || strings.ContainsRune("\"\\,;", r) {
			return "", false
		}
	}
	return text, text != "" && len(text) <= maxKey
}

// unquote resolves \" and \\; it returns "" for what cannot stand between quotes.
func unquote(inner string) string {
	var b strings.Builder
	for i := 0; i < len(inner); i++ {
		switch c := inner[i]; {
		case c == '"' || c < ' ' || c > '~':
			return ""
		case c == '\\':
			if i++; i == len(inner) || inner[i] != '"' && inner[i] != '\\' {
				return ""
			}
		}
		b.WriteByte(inner[i])
	}
	return b.String()
}

// withoutKey returns an outcome as it would be without a key: a refusal that was recorded is a refusal.
func withoutKey(o domain.Outcome) domain.Outcome {
	if e, ok := o.Event.(domain.RequestAnswered); ok {
		return domain.Outcome{Err: e.Err()}
	}
	return o
}

// recall puts the answers of before in the place of their outcomes. The error is for a key of another request.
func (b *batch) recall(c *gin.Context, outcomes []domain.Outcome) error {
	if b.key == nil {
		return nil
	}
	replayed := 0
	for i, o := range outcomes {
		if domain.CodeOf(o.Err) == domain.Mismatch && o.Err != nil {
			return o.Err
		}
		if before, ok := errors.AsType[*domain.Answered](o.Err); ok {
			replayed++
			outcomes[i] = domain.Outcome{Seq: before.Seq, Err: before.Err()}
			if before.ID != "" {
				b.orders[i].ID = before.ID
			}
		}
	}
	if replayed > 0 && replayed == len(outcomes) {
		c.Header(replayedHeader, "true")
	}
	return nil
}

// Once submits the command of a request of one element, on the request's condition if it has one. body is the SHA-256 of
// the request's body. seq is that of the event; where the request was answered before, it is that of then, and id is that
// of the entity that was added then.
func (a *API) Once(c *gin.Context, log Submitter, key string, body [sha256.Size]byte, command domain.Command, bytes int) (id string, seq uint64, err error) {
	if command, err = conditional(c.Request.Header, command); err != nil {
		return "", 0, err
	}
	b := batch{api: a, stamp: a.origin(c), orders: []Order{{Command: command, bytes: bytes}}}
	b.key = a.keyOf(c, key, body, b.stamp)
	outcomes, err := b.submit(c, log)
	if err == nil {
		err = b.recall(c, outcomes)
	}
	if err != nil {
		return "", 0, err
	}
	return b.orders[0].ID, outcomes[0].Seq, outcomes[0].Err
}

package handlers

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/etag"
)

// SetETag gives an answer the ETag of an entity at a revision; 0 is none.
func SetETag(c *gin.Context, revision uint64) {
	if revision != 0 {
		tag := strconv.AppendUint(append(make([]byte, 0, 24), '"'), revision, 10)
		c.Header("Etag", string(append(tag, '"')))
	}
}

// Unchanged gives the answer to a GET the ETag of the entity that was read, and is the whole answer where the request
// says If-None-Match: 304 where that names the ETag, 400 where it is malformed.
func (a *API) Unchanged(c *gin.Context, revision uint64) bool {
	known, err := etag.Read(c.Request.Header, "If-None-Match")
	if err != nil {
		a.Fail(c, err)
		return true
	}
	SetETag(c, revision)
	if known == nil || !known.Match(revision) {
		return false
	}
	c.Status(http.StatusNotModified)
	c.Writer.WriteHeaderNow()
	return true
}

// conditional returns command on the condition that a request has in If-Match, if it has one.
func conditional(h http.Header, command domain.Command) (domain.Command, error) {
	if h.Values("If-None-Match") != nil {
		return nil, domain.Errorf(domain.Invalid, "If-None-Match is for GET; to change only what you have read, send If-Match with its ETag")
	}
	seen, err := etag.Read(h, "If-Match")
	if seen == nil || err != nil {
		return command, err
	}
	change, ok := command.(domain.Change)
	if !ok {
		return nil, domain.Errorf(domain.Invalid, "If-Match is for changing or removing what is there, and this request adds something new; leave it out")
	}
	return domain.IfMatch{Change: change, Any: seen.Any, Revisions: seen.Strong}, nil // a weak tag never matches here
}

// OnlyOfOne refuses the If-Match of a request that changes n entities, unless that is one.
func OnlyOfOne(h http.Header, n int) error {
	if n != 1 && h.Values("If-Match") != nil {
		return domain.Errorf(domain.Invalid, "If-Match is for a request of exactly one element, and this one has %d; send one request for each", n)
	}
	return nil
}

// onlyIf makes the one order of a batch conditional, if the request is.
func (b *batch) onlyIf(h http.Header) error {
	n := len(b.orders)
	if err := OnlyOfOne(h, n); n == 0 || err != nil {
		return err
	}
	command, err := conditional(h, b.orders[0].Command)
	b.orders[0].Command = command
	return err
}

// stale returns err where it says that a condition failed, and nil for any other.
func stale(err error) error {
	if domain.CodeOf(err) == domain.Stale {
		return err
	}
	return nil
}

// Unconditional is an error where a request has a condition that cannot count, because it changes nothing that is there.
func Unconditional(h http.Header) error {
	_, err := conditional(h, nil)
	return err
}

package bodies

import (
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

// DecodedBody is Body of a request that may have a Content-Encoding: gzip, also called x-gzip, or identity; any other, or
// two, is an UnknownEncoding Error. limit holds for what comes out, which is decoded as it is read; what goes in may be longer by a
// 64th, since gzip makes a little more of what cannot be compressed.
func (b *Bodies) DecodedBody(c *gin.Context, limit int64, name string) (*Body, error) {
	codings := codingsOf(c)
	if len(codings) == 0 {
		return b.body(c, limit, name)
	}
	if len(codings) > 1 || codings[0] != "gzip" && codings[0] != "x-gzip" {
		return nil, unknownEncoding(c, codings, "gzip, identity", "send the body as it is, or with gzip once")
	}
	body, err := b.body(c, limit+limit/64+1024, name)
	if err != nil {
		return nil, err
	}
	body.r = &unzipped{body: body, sent: body.r, left: limit, limit: limit}
	return body, nil
}

// codingsOf returns how the body is encoded, without identity.
func codingsOf(c *gin.Context) (codings []string) {
	for _, one := range strings.Split(strings.Join(c.Request.Header.Values("Content-Encoding"), ","), ",") {
		if one = strings.ToLower(strings.Trim(one, " \t")); one != "" && one != "identity" {
			codings = append(codings, one)
		}
	}
	return codings
}

func unknownEncoding(c *gin.Context, codings []string, accepted, cure string) error {
	c.Header("Accept-Encoding", accepted) // RFC 9110, 12.5.3, has it in answers of 415
	return domain.Errorf(domain.UnknownEncoding, "Content-Encoding: %.80q is not supported; %s", strings.Join(codings, ", "), cure)
}

var unzippers = sync.Pool{New: func() any { return new(gzip.Reader) }}

// unzipped decodes a body as it is read.
type unzipped struct {
	body        *Body
	sent        io.Reader
	gzip        *gzip.Reader // nil before the first read and after the end
	left, limit int64
	err         error
}

func (u *unzipped) Read(p []byte) (n int, err error) {
	if u.err != nil {
		return 0, u.err
	}
	if u.gzip == nil {
		u.gzip = unzippers.Get().(*gzip.Reader)
		u.err = u.gzip.Reset(u.sent)
	}
	if u.err == nil {
		n, u.err = u.gzip.Read(p)
	}
	if u.left -= int64(n); u.left < 0 {
		n, u.err = 0, u.body.tooLarge(u.limit)
	}
	if u.err != nil {
		unzippers.Put(u.gzip)
		u.gzip = nil
	}
	if u.err != nil && !errors.Is(u.err, io.EOF) && u.body.Err == nil {
		hangUp(u.body.c)
		u.body.Err = domain.Errorf(domain.Invalid, "the body is not gzip: %v; send all of it, or leave out Content-Encoding", u.err)
	}
	return n, u.err
}

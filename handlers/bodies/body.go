package bodies

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"os"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

// Body is the body of a request, bounded in size and time. Its Read fails with a domain Error, which Err keeps for
// callers whose reader loses it.
type Body struct {
	Err   error
	of    *Bodies
	c     *gin.Context
	most  int64     // bytes that may be sent
	left  int64     // of them
	limit string    // what messages call the limit
	r     io.Reader // what is sent, and decoded
	sum   hash.Hash // of what is read of r, where Sum wants it
	ahead [][]byte  // what Load has read of r and Read has not
	at    int       // of the next byte of ahead[0]
}

// Body refuses a body whose declared length is over limit, in bytes; one without a declared length fails when it
// passes the limit, and one with a Content-Encoding. name is what messages call a limit that a client can raise, such as "the attribute
// maxBodyBytes"; empty for a fixed limit.
func (b *Bodies) Body(c *gin.Context, limit int64, name string) (*Body, error) {
	if codings := codingsOf(c); len(codings) > 0 {
		return nil, unknownEncoding(c, codings, "identity", "send the body as it is")
	}
	return b.body(c, limit, name)
}

func (b *Bodies) body(c *gin.Context, limit int64, name string) (*Body, error) {
	body := &Body{of: b, c: c, most: limit, left: limit, limit: name}
	body.r = sent{body}
	if c.Request.ContentLength > limit {
		return nil, body.tooLarge(limit)
	}
	return body, nil
}

func (b *Body) tooLarge(limit int64) error {
	hangUp(b.c)
	cure := "send less"
	if b.limit != "" {
		cure += " or raise " + b.limit
	}
	b.Err = domain.Errorf(domain.TooLarge, "the body is longer than %d bytes, which is the limit; %s", limit, cure)
	return b.Err
}

// sent is the request's body as it comes. It fails when more comes than may be sent.
type sent struct{ *Body }

func (s sent) Read(p []byte) (int, error) {
	n, err := s.c.Request.Body.Read(p)
	if s.left -= int64(n); s.left < 0 {
		return 0, s.tooLarge(s.most)
	}
	switch {
	case err == nil, err == io.EOF:
		if s.Err = s.of.arrived(s.c, int64(n)); s.Err != nil {
			return 0, s.Err
		}
		return n, err
	case errors.As(err, new(*domain.Error)): // of timedBody
		hangUp(s.c)
		s.Err = err
	case errors.Is(err, os.ErrDeadlineExceeded):
		hangUp(s.c)
		s.Err = domain.Errorf(domain.Unavailable, "the body came too slowly: there must be %d bytes of it a second, or its end, in each %s; send it faster", s.of.pace.Rate, s.of.pace.Timeout)
	default:
		s.Err = domain.Errorf(domain.Invalid, "the body broke off: %v; send all of it", err)
	}
	return n, s.Err
}

func (b *Body) Read(p []byte) (int, error) {
	if len(b.ahead) > 0 {
		return b.readAhead(p), nil
	}
	return b.next(p)
}

// next reads what was not read yet.
func (b *Body) next(p []byte) (int, error) {
	if b.Err != nil {
		return 0, b.Err
	}
	n, err := b.r.Read(p)
	if b.sum != nil {
		b.sum.Write(p[:n])
	}
	if b.Err != nil { // says more than what a decoder makes of it
		err = b.Err
	}
	return n, err
}

// Sum is to be called before anything is read. The function that it returns reads what is left and returns the SHA-256 of
// the whole body, as it is when it is decoded.
func (b *Body) Sum() func() ([sha256.Size]byte, error) {
	b.sum = sha256.New()
	return func() (sum [sha256.Size]byte, err error) {
		_, err = io.Copy(io.Discard, b)
		b.sum.Sum(sum[:0])
		return sum, err
	}
}

// mostAhead is how much is allocated, in bytes, on the word of a Content-Length alone.
const mostAhead = 4 << 10

// ReadBody returns a whole body of at most limit bytes, without a byte order mark.
func (b *Bodies) ReadBody(c *gin.Context, limit int64) ([]byte, error) {
	var text bytes.Buffer
	if err := b.ReadInto(c, &text, limit); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// ReadInto is ReadBody into a buffer that is empty.
func (b *Bodies) ReadInto(c *gin.Context, into *bytes.Buffer, limit int64) error {
	body, err := b.Body(c, limit, "")
	if err != nil {
		return err
	}
	into.Grow(int(min(max(c.Request.ContentLength, 0), mostAhead)) + bytes.MinRead)
	_, err = into.ReadFrom(body)
	if bytes.HasPrefix(into.Bytes(), byteOrderMark) {
		into.Next(len(byteOrderMark))
	}
	return err
}

// byteOrderMark begins texts of some editors and of PowerShell. RFC 8259 lets readers of JSON ignore it.
var byteOrderMark = []byte("\ufeff")

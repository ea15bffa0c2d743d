package bodies

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net/http"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

// FormBytes is the longest form without an upload, and what an upload may have beside itself: boundaries, headers, other fields.
const FormBytes = 64 << 10

// formTimes is how many bytes of memory a byte of a form takes: as a key of a map, or on the page that shows the form again, where a byte
// may be five.
const formTimes = 32

// loadedForm is the body of a form that was read into memory.
type loadedForm struct {
	*bytes.Reader
	*timedBody
}

func (f loadedForm) Read(p []byte) (int, error) { return f.Reader.Read(p) }

// LoadForm reads a form of at most limit bytes into memory and parses it, for a request that was let in. Nothing of it goes to a file. The
// error is a domain Error; no field of a form that is too long is left.
func (b *Bodies) LoadForm(c *gin.Context, limit int64) error {
	if c.Request.ContentLength == 0 {
		return nil
	}
	body, err := b.body(c, limit, "")
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if _, err := text.ReadFrom(body); err != nil {
		return err
	}
	if err := b.hold(c, formTimes*int64(text.Len())); err != nil {
		return err
	}
	c.Request.Body = loadedForm{bytes.NewReader(text.Bytes()), bodyOf(c)}
	err = c.Request.ParseForm()
	if err == nil {
		err = c.Request.ParseMultipartForm(formTimes * limit) // more than all of it, which stays in memory
	}
	if err != nil && !errors.Is(err, http.ErrNotMultipart) {
		return domain.Errorf(domain.Invalid, "the form cannot be read: %v; load the page again and send its form", err)
	}
	return nil
}

// Upload returns the parts of a form with an upload of at most limit bytes, for a request that was let in. The Err of the body says why a
// part cannot be read. ok is false if the form is not multipart/form-data.
func (b *Bodies) Upload(c *gin.Context, limit int64) (parts *multipart.Reader, body *Body, ok bool, err error) {
	if body, err = b.body(c, limit+FormBytes, ""); err != nil {
		return nil, nil, false, err
	}
	r := *c.Request
	r.Body = io.NopCloser(body)
	parts, err = r.MultipartReader()
	return parts, body, err == nil, nil
}

package data

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

// getBinary answers with the bytes of a reading's value as they are, or with a part of them.
func (s service) getBinary(c *gin.Context) {
	values := &values{service: s, ctx: c.Request.Context()}
	defer values.release()
	id := c.Param("id")
	r, ok := s.reading(id)
	var value io.ReadSeekCloser
	var err error
	if ok {
		value, ok, err = values.open(r)
	}
	if err == nil && !ok {
		err = domain.Errorf(domain.NotFound, "reading id %s does not exist; correct the id", id)
	}
	if err != nil {
		s.Fail(c, err)
		return
	}
	defer value.Close()
	digest, err := digestOf(r, value)
	if err != nil {
		s.Fail(c, err)
		return
	}
	protect(c.Writer.Header(), typeOf(r))
	c.Header("ETag", `"`+digest+`"`)
	c.Header("Cache-Control", "no-cache")
	if !strings.HasPrefix(c.GetHeader("Range"), "bytes=") {
		c.Request.Header.Del("Range") // a unit that is not known is to be ignored (RFC 9110, 14.2), and ServeContent refuses it
	}
	http.ServeContent(s.Progress(c), c.Request, "", time.Time{}, value)
}

func (s service) reading(id string) (domain.Reading, bool) {
	view, done := s.state()
	defer done()
	return view.State.Readings.Get(id)
}

// digestOf is the hex SHA-256 of a value, which is left at its beginning.
func digestOf(r domain.Reading, value io.ReadSeeker) (string, error) {
	if r.Digest != "" {
		return r.Digest, nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, value); err != nil {
		return "", err
	}
	_, err := value.Seek(0, io.SeekStart)
	return hex.EncodeToString(h.Sum(nil)), err
}

// typeOf is the media type of a reading's value.
func typeOf(r domain.Reading) string {
	switch r.ValueType {
	case domain.Binary:
		return cmp.Or(r.MediaType, "application/octet-stream")
	case "Object":
		return typeJSON
	}
	return "text/plain; charset=utf-8"
}

// shown are the media types, or how they begin, that a browser may show as a page: none of them can hold a script. Others
// it is to save.
var shown = []string{"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "audio/", "video/", "text/plain", typeJSON}

// protect names the media type and keeps a browser from running what somebody has posted.
func protect(h http.Header, mediaType string) {
	h.Set("Content-Type", mediaType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	disposition := "attachment"
	if slices.ContainsFunc(shown, func(p string) bool { return strings.HasPrefix(strings.ToLower(mediaType), p) }) {
		disposition = "inline"
	}
	h.Set("Content-Disposition", disposition)
}

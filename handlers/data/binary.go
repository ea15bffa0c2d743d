package data

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/answers"
	"ledge/handlers/web"
)

// getBinary answers with the bytes of a reading's value as they are, or with a part of them.
func (s service) getBinary(c *gin.Context) {
	values := s.newValues(c)
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
	values.shed() // no other value of its event is needed
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
	content := &noted{ReadSeeker: value}
	http.ServeContent(answers.Progress(c.Writer, s.WriteTimeout), c.Request, "", time.Time{}, content)
	if content.err != nil { // the status is sent, or nearly: only a connection that breaks says that this is not the value
		s.Logger.Error("answer broke off", "service", s.Service, "path", c.Request.URL.Path, "error", content.err)
		panic(http.ErrAbortHandler)
	}
}

// noted remembers why it could not be read.
type noted struct {
	io.ReadSeeker
	err error
}

func (n *noted) Read(p []byte) (int, error) {
	count, err := n.ReadSeeker.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && n.err == nil {
		n.err = err
	}
	return count, err
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

// playable lets a browser load the file that it shows in a player, which counts as a page of the same origin.
const playable = "default-src 'none'; media-src 'self'; sandbox allow-same-origin"

// protect names the media type and keeps a browser from running what somebody has posted: it shows pictures, sound and films,
// and saves anything else.
func protect(h http.Header, mediaType string) {
	disposition, policy := "attachment", web.Sandbox
	switch kind(mediaType) {
	case "image":
		disposition = "inline"
	case "audio", "video":
		disposition, policy = "inline", playable
	}
	h.Set("Content-Type", mediaType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", policy)
	h.Set("Content-Disposition", disposition)
}

// kind is the first part of a media type, "" where a browser might take it for a document: SVG and what else is XML, and what
// is not a media type. A browser that is given a list with commas takes the last.
func kind(mediaType string) string {
	name, _, err := mime.ParseMediaType(mediaType)
	if err != nil || strings.Contains(mediaType, ",") || strings.Contains(name, "xml") || strings.Contains(name, "svg") {
		return ""
	}
	first, _, _ := strings.Cut(name, "/")
	return first
}

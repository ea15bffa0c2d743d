package web

import (
	"errors"
	"io"
	"mime/multipart"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/bodies"
)

// Upload is a form with a text, or with a file in its place.
type Upload struct {
	Text   []byte
	Fields map[string]string
}

// ReadUpload reads a form with a text of at most most bytes in the part "file" or name.
func (s *Site) ReadUpload(c *gin.Context, name string, most int64) (u Upload, err error) {
	u.Fields = map[string]string{}
	if !isMultipart(c) { // it is in memory
		u.Text = []byte(c.PostForm(name))
		for field := range c.Request.PostForm {
			u.Fields[field] = c.PostForm(field)
		}
		return u, nil
	}
	parts, body, ok, err := s.Bodies.Upload(c, most)
	if err != nil || !ok {
		return u, err
	}
	for left := int64(bodies.FormBytes); ; {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) && body.Err == nil {
			return u, nil
		}
		if err != nil {
			return u, uploadError(body, err)
		}
		field := part.FormName()
		if field == name || field == "file" {
			text, err := readPart(body, part, most)
			if err != nil {
				return u, err
			}
			if field == "file" && len(text) > 0 || len(u.Text) == 0 {
				u.Text = text
			}
			continue
		}
		text, err := readPart(body, part, left)
		if err != nil {
			return u, err
		}
		u.Fields[field] = string(text)
		left = max(0, left-int64(len(field)+len(text))-fieldBytes)
	}
}

// fieldBytes is what a field counts beside its name and its text.
const fieldBytes = 64

func readPart(body *bodies.Body, part *multipart.Part, most int64) ([]byte, error) {
	text, ok, err := bodies.ReadAtMost(part, most)
	if err != nil {
		return nil, uploadError(body, err)
	}
	if !ok {
		return nil, domain.Errorf(domain.TooLarge, "The text is longer than %s. Split it.", ShowBytes(most))
	}
	return text, nil
}

func uploadError(body *bodies.Body, err error) error {
	if body.Err != nil {
		return body.Err
	}
	return domain.Errorf(domain.Invalid, "The form cannot be read: %v. Load the page again and send its form.", err)
}

// pageTimes is how many bytes of memory a page takes for each byte that it has.
const pageTimes = 5

// TooLongToRepeat says that a form does not show a text again.
const TooLongToRepeat = "The text is too long for this page. Choose its file again."

// Repeat returns a text for the page that shows its form again; ok is false if there is no memory for that.
func Repeat(text []byte, memory *bodies.EntryMemory) (again string, ok bool) {
	n := len(text)
	for _, b := range text {
		switch b {
		case '<', '>', '&', '"', '\'', '+', 0:
			n += 4 // escaped
		}
	}
	if memory.HoldBytes(pageTimes*int64(n)) != nil {
		return "", false
	}
	return string(text), true
}

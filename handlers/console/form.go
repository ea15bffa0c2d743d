package console

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"slices"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/bodies"
)

// uploads are the paths of forms with a text or a file. Their handlers bound and read it; other forms have at most FormBytes.
var uploads = []string{"/devices/+import", "/profiles/+upload", "/profiles/:name/edit", valuePath}

// admit lets a request with a body in, as the API does, and reads its form into memory: nothing of it is parsed if it is too long. A form
// with an upload is left to readUpload, or is a stream.
func (s *Console) admit(r route) gin.HandlerFunc {
	return func(c *gin.Context) {
		if c.Request.ContentLength == 0 {
			return
		}
		most := int64(bodies.FormBytes)
		if r.right == handlers.Public {
			defer s.unknown.Begin(c.Request)()
			most = handlers.LoginBytes
		}
		done, err := s.bodies.Admit(c, r.path != valuePath)
		if err != nil {
			s.fail(c, err)
			return
		}
		defer done()
		if !slices.Contains(uploads, r.path) || !isMultipart(c) {
			if err := s.bodies.LoadForm(c, most); err != nil {
				s.fail(c, err)
				return
			}
		}
		c.Writer.Header().Del("Connection")
		c.Next()
	}
}

func isMultipart(c *gin.Context) bool {
	media, _, err := mime.ParseMediaType(c.GetHeader("Content-Type"))
	return err == nil && media == "multipart/form-data"
}

// upload is a form with a text, or with a file in its place.
type upload struct {
	Text   []byte
	fields map[string]string
}

// readUpload reads a form with a text of at most most bytes in the part "file" or name.
func (s *Console) readUpload(c *gin.Context, name string, most int64) (u upload, err error) {
	u.fields = map[string]string{}
	if !isMultipart(c) { // it is in memory
		u.Text = []byte(c.PostForm(name))
		for field := range c.Request.PostForm {
			u.fields[field] = c.PostForm(field)
		}
		return u, nil
	}
	parts, body, ok, err := s.bodies.Upload(c, most)
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
		u.fields[field] = string(text)
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
		return nil, domain.Errorf(domain.TooLarge, "The text is longer than %s. Split it.", showBytes(most))
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

// tooLongToRepeat says that a form does not show a text again.
const tooLongToRepeat = "The text is too long for this page. Choose its file again."

// repeat returns a text for the page that shows its form again; ok is false if there is no memory for that.
func repeat(text []byte, memory *bodies.EntryMemory) (again string, ok bool) {
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

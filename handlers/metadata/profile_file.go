package metadata

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/bodies"
)

const sendAForm = `send the profile as multipart/form-data, in a part named "file", as curl does with -F file=@profile.yaml`

func (s service) readProfileFile(c *gin.Context) ([]byte, error) {
	boundary, err := formBoundary(c.GetHeader("Content-Type"))
	if err != nil {
		return nil, err
	}
	body, err := s.Body(c, s.UploadBytes+bodies.FormBytes, "")
	if err != nil {
		return nil, err
	}
	return readFilePart(body, boundary, s.UploadBytes)
}

func formBoundary(contentType string) (string, error) {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || media != "multipart/form-data" {
		return "", domain.Errorf(domain.Invalid, "Content-Type %.80q is not multipart/form-data; %s", contentType, sendAForm)
	}
	if params["boundary"] == "" {
		return "", domain.Errorf(domain.Invalid, "Content-Type %.80q has no boundary; %s", contentType, sendAForm)
	}
	return params["boundary"], nil
}

// readFilePart returns the first part named "file", at most limit bytes of it.
func readFilePart(body *bodies.Body, boundary string, limit int64) ([]byte, error) {
	form := multipart.NewReader(body, boundary)
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) && body.Err == nil {
			// EdgeX 2.3 answers "missing yaml file" here.
			return nil, domain.Errorf(domain.Invalid, `the form has no part named "file"; %s`, sendAForm)
		}
		if err != nil {
			return nil, formError(body, err)
		}
		if part.FormName() != "file" {
			continue
		}
		text, ok, err := bodies.ReadAtMost(part, limit)
		if err != nil {
			return nil, formError(body, err)
		}
		if !ok {
			return nil, domain.Errorf(domain.TooLarge, "the file is longer than %d bytes, which is the limit; make it shorter", limit)
		}
		return text, nil
	}
}

func formError(body *bodies.Body, err error) error {
	if body.Err != nil {
		return body.Err
	}
	return domain.Errorf(domain.Invalid, "the form is broken: %s; %s", strings.TrimPrefix(err.Error(), "multipart: "), sendAForm)
}

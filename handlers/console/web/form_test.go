package web

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/bodies"
)

// sendForm sends a form to a route that shows what came of it: "code:fields", or the page of a refusal.
func sendForm(t *testing.T, s *Site, r Route, body io.Reader, contentType string) *httptest.ResponseRecorder {
	t.Helper()
	engine := gin.New()
	engine.POST("/", gate{s}.session, gate{s}.admit(r), s.answer(r.Handle))
	request := httptest.NewRequest(http.MethodPost, "/", body)
	request.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	handlers.Deadlines(s.Options.Options, engine).ServeHTTP(w, request)
	return w
}

// fileForm is a multipart form with fields, pairs of names and texts, of which "file" is a file.
func fileForm(t *testing.T, fields ...string) (*bytes.Buffer, string) {
	t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	for i := 0; i < len(fields); i += 2 {
		part, err := form.CreateFormField(fields[i])
		if fields[i] == "file" {
			part, err = form.CreateFormFile("file", "f")
		}
		if err == nil {
			_, err = io.WriteString(part, fields[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	form.Close()
	return &b, form.FormDataContentType()
}

// TestForms holds how long a form may be, in each encoding, and what it counts.
func TestForms(t *testing.T) {
	const encoded = "application/x-www-form-urlencoded"
	s := fixture(t, nil)
	show := func(c *gin.Context) error {
		c.String(http.StatusOK, "%s", c.PostForm("a"))
		return nil
	}
	long := strings.Repeat("x", bodies.FormBytes)
	file, fileType := fileForm(t, "a", "1", "file", "x")
	longFile, longType := fileForm(t, "a", "1", "file", long)
	for name, test := range map[string]struct {
		body   io.Reader
		media  string
		status int
		says   string
	}{
		"encoded":             {strings.NewReader("a=1"), encoded, 200, "1"},
		"a file":              {file, fileType, 200, "1"},
		"too long":            {strings.NewReader("a=" + long), encoded, 413, "The body is longer than 65536 bytes"},
		"too long, no length": {io.MultiReader(strings.NewReader("a=" + long)), encoded, 413, "The body is longer than 65536 bytes"},
		"a long file":         {longFile, longType, 413, "The body is longer than 65536 bytes"},
		"too many fields":     {strings.NewReader(strings.Repeat("a&", 20_000)), encoded, 422, "The form cannot be read"},
		"broken":              {strings.NewReader("a=%zz"), encoded, 422, "The form cannot be read"},
	} {
		if w := sendForm(t, s, Route{Right: handlers.AnyRole, Handle: show}, test.body, test.media); w.Code != test.status || !strings.Contains(w.Body.String(), test.says) {
			t.Errorf("%s: got %d %.300s, want %d %s", name, w.Code, w.Body, test.status, test.says)
		}
	}
	s.Bodies = handlers.NewBodies(handlers.Options{BodyMemory: 1 << 20})
	for range 2 { // a refused form leaves nothing behind
		if w := sendForm(t, s, Route{Right: handlers.AnyRole, Handle: show}, strings.NewReader("a="+long[:40_000]), encoded); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "three quarters") {
			t.Errorf("a form beyond the memory: got %d %.300s", w.Code, w.Body)
		}
		if w := sendForm(t, s, Route{Right: handlers.AnyRole, Handle: show}, strings.NewReader("a="+long[:20_000]), encoded); w.Code != http.StatusOK {
			t.Errorf("a form within the memory: got %d %.300s", w.Code, w.Body)
		}
	}
}

// TestReadUpload holds that a file goes before a text, that neither has more than may be, and that the fields beside them share 64 KiB.
func TestReadUpload(t *testing.T) {
	s := fixture(t, nil)
	const most = 100_000
	show := func(c *gin.Context) error {
		form, err := s.ReadUpload(c, "text", most)
		if err != nil {
			c.String(StatusOf(domain.CodeOf(err)), "%v", err)
			return nil
		}
		c.String(http.StatusOK, "%s %.20s", form.Fields["a"], form.Text)
		return nil
	}
	half := strings.Repeat("x", bodies.FormBytes*3/5)
	for name, test := range map[string]struct {
		fields []string
		want   string
	}{
		"a file":                {[]string{"a", "1", "text", "t", "file", "f"}, "200 1 f"},
		"an empty file":         {[]string{"text", "t", "a", "1", "file", ""}, "200 1 t"},
		"a long file":           {[]string{"file", strings.Repeat("f", most)}, "200  ffff"},
		"a file that is longer": {[]string{"file", strings.Repeat("f", most+1)}, "413 The text is longer than 97.7 KiB"},
		"a longer body":         {[]string{"file", strings.Repeat("f", most), "text", strings.Repeat("f", most)}, "413 the body is longer than"},
		"long fields":           {[]string{"a", half, "b", half}, "413 The text is longer"},
	} {
		body, media := fileForm(t, test.fields...)
		w := sendForm(t, s, Route{Right: handlers.AnyRole, Handle: show, upload: true}, body, media)
		if got := fmt.Sprint(w.Code, " ", w.Body); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: got %.100s, want %s", name, got, test.want)
		}
	}
	encoded := url.Values{"text": {"t"}, "a": {"1"}}.Encode()
	if w := sendForm(t, s, Route{Right: handlers.AnyRole, Handle: show, upload: true}, strings.NewReader(encoded), "application/x-www-form-urlencoded"); w.Body.String() != "1 t" {
		t.Errorf("encoded: got %d %s", w.Code, w.Body)
	}
}

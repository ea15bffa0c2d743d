package devicerest

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"ledge/handlers"
	"ledge/handlers/handlerstest"
)

// meanwhile is an empty part of a body: what happens when it is read.
type meanwhile func()

func (f meanwhile) Read([]byte) (int, error) {
	f()
	return 0, io.EOF
}

// A posted value counts as it is loaded, in blocks of 16 KiB, and one that is streamed not at all; JSON counts in full.
func TestJSONCountsInFull(t *testing.T) {
	h, _, _ := mustDeviceREST(t, func(o *handlers.Options) { o.BodyMemory = 40 << 10 })
	body := io.MultiReader(strings.NewReader("x"), meanwhile(func() { // while a block is held
		w := handlerstest.Serve(h, "POST", "/api/v2/secret", strings.Repeat(" ", 30<<10))
		if w.Code != 503 {
			t.Errorf("JSON: got %d %s", w.Code, w.Body)
		}
		if w = handlerstest.Serve(h, "POST", resource+"vBinary", strings.Repeat("x", inlineBytes+400)); w.Code != 200 {
			t.Errorf("value: got %d %s", w.Code, w.Body)
		}
	}))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", resource+"vBinary", body))
	if w.Code != 200 {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

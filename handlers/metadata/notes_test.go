package metadata

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ledge/handlers/faults"
)

// TestRefusalsNoteTheirField holds that a refusal that depends on other entities notes its field, with the whole message.
func TestRefusalsNoteTheirField(t *testing.T) {
	h, _ := mustMetadata(t)
	for field, refused := range map[string]string{
		"profileName": device("name", `"cam-7"`, "profileName", `"nosuch"`),
		"serviceName": device("name", `"cam-7"`, "serviceName", `"nosuch"`),
		"name":        device("name", `"cam-1"`),
	} {
		r := httptest.NewRequest(http.MethodPost, "/api/v2/device", strings.NewReader(batch("device", refused)))
		ctx, notes := faults.WithNotes(t.Context())
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r.WithContext(ctx))
		isField := len(notes.Fields) == 1 && notes.Fields[0].Whole && notes.Fields[0].Path == "[0].device."+field
		if w.Code != http.StatusMultiStatus || !isField ||
			!strings.Contains(strings.ReplaceAll(w.Body.String(), `\"`, `"`), notes.Fields[0].Says) {
			t.Errorf("%s: noted %+v, answered %s", field, notes.Fields, w.Body)
		}
	}
}

package metadata

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ledge/domain"
)

// readHistory returns each event of a page as its sequence, its type and its fields with their values.
func readHistory(t *testing.T, h http.Handler, path string) (lines []string, answer historyAnswer) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/api/v2/ledger/history/"+path, nil))
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s: %v", path, w.Code, w.Body, err)
	}
	for _, e := range answer.Entries {
		line := fmt.Sprint(e.Sequence, " ", e.Type)
		for _, f := range e.Changes {
			if f.Field == "description" {
				line += fmt.Sprintf(" %s→%s", f.Was, f.Is)
			}
		}
		lines = append(lines, line)
	}
	return lines, answer
}

// TestHistory reads the events of a device through a removal and an earlier life, in pages.
func TestHistory(t *testing.T) {
	h, log := mustMetadata(t)
	patch := func(description string) domain.Command {
		return domain.UpdateDevice{Patch: domain.PatchOf[domain.Device]("name", "cam-1", "description", description), At: 9}
	}
	log.Given(t, patch("second"), domain.RemoveDevice{Name: "cam-1"})
	want := `5 device.removed "second"→ | 4 device.updated "first"→"second" | 3 device.added →"first"`
	lines, answer := readHistory(t, h, "device/cam-1")
	if got := strings.Join(lines, " | "); got != want || answer.Before != 0 || answer.Incomplete != "" {
		t.Errorf("got %s and before %d, %q, want %s", got, answer.Before, answer.Incomplete, want)
	}
	again := domain.Device{
		ID: deviceID, Name: "cam-1", Description: "third", AdminState: "UNLOCKED", OperatingState: "UP", ServiceName: "device-rest",
		ProfileName: "camera", Protocols: map[string]map[string]string{"other": {}}, ProtocolName: "rest",
	}
	log.Given(t, domain.AddDevice{Device: again})
	var all []string
	for before := uint64(0); ; {
		path := "device/cam-1?limit=1"
		if before > 0 {
			path += fmt.Sprint("&before=", before)
		}
		lines, answer = readHistory(t, h, path)
		all = append(all, lines...)
		if before = answer.Before; before == 0 {
			break
		}
	}
	if got := strings.Join(all, " | "); got != `6 device.added →"third" | `+want {
		t.Errorf("got %s", got)
	}
	if lines, _ = readHistory(t, h, "device/cam-1?before=5"); len(lines) != 2 {
		t.Errorf("below event 5: got %v", lines)
	}
	for path, says := range map[string]string{
		"device/cam-9":          "does not exist",
		"devices/cam-1":         "use one of device, notification, profile, service, subscription, watcher",
		"device/cam-1?before=x": "is not the sequence of an event",
		"device/cam-1?limit=0":  "limit 0 is out of range",
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/api/v2/ledger/history/"+path, nil))
		if !strings.Contains(w.Body.String(), says) {
			t.Errorf("%s: got %d %s, want %q", path, w.Code, w.Body, says)
		}
	}
}

// TestHistoryOfIdentities reads the histories of a user and a token through a removal, without the ids of hashes.
func TestHistoryOfIdentities(t *testing.T) {
	h, log := mustUsers(t)
	log.Given(t,
		domain.ChangeUser{Name: "ben", Role: domain.Auditor, At: 8},
		domain.SetPassword{Name: "ben", Credential: "c-9", At: 9},
		domain.RemoveUser{Name: "ben"},
		domain.AddUser{User: domain.User{Name: "ben", Role: domain.Viewer, Credential: "c-2", Created: 9, Modified: 9}},
		domain.RotateToken{Name: "pos-7", Credential: "c-8", OldUntil: 99, At: 9},
		domain.RemoveToken{Name: "pos-7"},
	)
	for path, want := range map[string]string{
		"user/ben": `user.added role:→"viewer", user.removed role:"auditor"→, user.password mustChange:→false, ` +
			`user.updated role:"viewer"→"auditor", user.added role:→"viewer"`,
		"token/pos-7": `token.removed role:"poster"→, token.rotated oldUntil:→99, token.added role:→"poster"`,
	} {
		_, page := readHistory(t, h, path)
		var got []string
		for _, e := range page.Entries {
			for _, f := range e.Changes {
				if f.Field == "role" || e.Type == "user.password" || e.Type == "token.rotated" {
					got = append(got, fmt.Sprintf("%s %s:%s→%s", e.Type, f.Field, f.Was, f.Is))
				}
				if text := string(f.Was) + string(f.Is); strings.Contains(text, `"c-`) {
					t.Errorf("%s: %s has the id of a hash: %s", path, f.Field, text)
				}
			}
		}
		if got := strings.Join(got, ", "); got != want || page.Incomplete != "" {
			t.Errorf("%s: got %s %s, want %s", path, got, page.Incomplete, want)
		}
	}
}

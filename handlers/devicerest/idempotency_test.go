package devicerest

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"ledge/domain"
	"ledge/handlers/handlerstest"
)

func keyed(s handlerstest.Scenario, key string, submits int) handlerstest.Scenario {
	s.Header, s.Submits = append(s.Header, "Idempotency-Key: "+key), submits
	return s
}

func TestPostOnce(t *testing.T) {
	h, log, payloads := mustDeviceREST(t)
	before := len(log.Recorded())
	long := strings.Repeat("x", inlineBytes+1)
	object := `{"a":"` + long + `"}`
	const reused = "this Idempotency-Key was used for a request with another path or body; use a new key for a new request, or send the first one unchanged\n"
	var scenarios []handlerstest.Scenario
	for range 2 {
		scenarios = append(scenarios,
			keyed(post("short", resource+"vInt32", "", "46", 200, ""), "k-1", 1),
			keyed(post("long", resource+"jpeg", "image/jpeg", long, 200, ""), "k-2", 1),
			keyed(post("long object", resource+"vObject", "application/json", object, 200, ""), "k-3", 1),
			keyed(post("other body", resource+"vInt32", "", "47", 422, reused), "k-1", 1),
			keyed(post("other long body", resource+"jpeg", "image/jpeg", long+"x", 422, reused), "k-2", 1),
			keyed(post("other resource", resource+"vInt64", "", "46", 422, reused), "k-1", 1),
			keyed(post("malformed key", resource+"vInt32", "", "46", 400, ""), "k 1", 0),
			keyed(post("too long", resource+"vBinary", "", strings.Repeat("x", resourceBytes+1), 413, ""), "k-9", 0),
		)
	}
	handlerstest.Run(t, h, log, scenarios)
	if n := len(log.Recorded()) - before; n != 3 {
		t.Errorf("%d events, want 3", n)
	}
	kept := len(payloads.kept)
	if kept == 0 {
		t.Error("no payload was kept")
	}
	// The device is gone, its readings' answers are not.
	log.Given(t, domain.RemoveDevice{Name: "cam-1"})
	handlerstest.Run(t, h, log, append(scenarios[:3:3],
		keyed(post("new", resource+"vInt32", "", "46", 404, "Device 'cam-1' not found; add it at core-metadata first or correct the device name\n"), "k-4", 1),
		keyed(post("broken rules", resource+"vInt32", "", "x", 404, ""), "k-5", 1)))
	if n := len(log.Recorded()) - before; n != 4 || len(payloads.kept) != kept {
		t.Errorf("%d events, want 4; %d payloads more", n, len(payloads.kept)-kept)
	}
}

// A refusal of the request is not remembered: a gateway may send its readings again when their device is there.
func TestRefusedReadingMaySucceed(t *testing.T) {
	h, log, _ := mustDeviceREST(t)
	path := "/api/v2/resource/cam-2/vInt32"
	handlerstest.Run(t, h, log, []handlerstest.Scenario{keyed(post("no device", path, "", "46", 404, ""), "k-1", 1)})
	log.Given(t, domain.AddDevice{Device: domain.Device{
		ID: handlerstest.ID(906), Name: "cam-2", AdminState: "UNLOCKED", OperatingState: "UP", ServiceName: "device-rest", ProfileName: "all",
		ProtocolName: "rest", Protocols: map[string]map[string]string{"other": {}},
	}})
	handlerstest.Run(t, h, log, []handlerstest.Scenario{keyed(post("device", path, "", "46", 200, ""), "k-1", 1)})
}

// A body that breaks off has no digest, and is answered as without a key.
func TestBrokenBodyWithKey(t *testing.T) {
	h, log, payloads := mustDeviceREST(t)
	for text, path := range map[string]string{"x": resource + "vBinary", strings.Repeat("x", inlineBytes+9): resource + "vString", "y": resource + "nosuch"} {
		r := httptest.NewRequest("POST", path, &pull{text, io.ErrUnexpectedEOF})
		r.Header.Set("Idempotency-Key", "k-1")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 400 && w.Code != 404 {
			t.Errorf("%s: got %d %s", path, w.Code, w.Body)
		}
	}
	if log.Submits() != 0 || len(payloads.kept) != 0 {
		t.Errorf("traces: %d submits, %d payloads", log.Submits(), len(payloads.kept))
	}
}

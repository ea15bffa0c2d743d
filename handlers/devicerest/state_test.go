package devicerest

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"ledge/domain"
	"ledge/handlers/handlerstest"
)

func setDevice(adminState, operatingState string) domain.Command {
	name := "cam-1"
	return domain.UpdateDevice{Patch: domain.PatchOf[domain.Device]("name", name, "adminState", adminState, "operatingState", operatingState)}
}

func setService(adminState string) domain.Command {
	name := domain.DeviceREST
	return domain.UpdateService{Patch: domain.PatchOf[domain.DeviceService]("name", name, "adminState", adminState)}
}

// unread fails the test when somebody reads from it.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body is read")
	return 0, io.EOF
}

// What is posted is refused by the state at the time, before anything of the body is read; which refusal goes first is as
// for the commands of EdgeX's SDK.
func TestPostChecksState(t *testing.T) {
	const (
		locked  = "Device 'cam-1' is LOCKED; set its adminState to UNLOCKED at core-metadata\n"
		service = "Device service 'device-rest' is LOCKED; set its adminState to UNLOCKED at core-metadata\n"
		nosuch  = "Resource 'nosuch' not found in the profile 'all' of the device; add it there or correct the resource name\n"
		write   = "Resource 'W' is write-only; set readWrite to R or RW in the profile 'all' or post to another resource\n"
	)
	h, log, payloads := mustDeviceREST(t)
	events := 0
	for _, c := range []struct {
		name, resource string
		given          []domain.Command
		status         int
		want           string
	}{
		{"write-only", "W", nil, 405, write},
		{"locked", "vInt32", []domain.Command{setDevice("LOCKED", "UP")}, 423, locked},
		{"locked and down", "vInt32", []domain.Command{setDevice("LOCKED", "DOWN")}, 423, locked},
		{"down, unknown resource", "nosuch", []domain.Command{setDevice("UNLOCKED", "DOWN")}, 404, nosuch},
		{"service locked", "vInt32", []domain.Command{setService("LOCKED"), setDevice("UNLOCKED", "UP")}, 423, service},
		{"unknown state", "nosuch", []domain.Command{setService("UNLOCKED"), setDevice("UNLOCKED", "UNKNOWN")}, 404, nosuch},
	} {
		log.Given(t, c.given...)
		events = len(log.Recorded())
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", resource+c.resource, unread{t}))
		if w.Code != c.status || w.Body.String() != c.want {
			t.Errorf("%s: got %d %q, want %d %q", c.name, w.Code, w.Body, c.status, c.want)
		}
		if got := w.Header().Get("Content-Type"); got != "text/plain; charset=utf-8" {
			t.Errorf("%s: Content-Type %q", c.name, got)
		}
	}
	if n := len(log.Recorded()); n != events || log.Submits() != 0 || len(payloads.kept) != 0 {
		t.Errorf("traces: %d events, %d submits, %d payloads", n-events, log.Submits(), len(payloads.kept))
	}
	handlerstest.Run(t, h, log, []handlerstest.Scenario{post("unknown state counts as up", resource+"RW", "", "1", 200, "")})
	log.Given(t, setDevice("UNLOCKED", "DOWN"))
	handlerstest.Run(t, h, log, []handlerstest.Scenario{post("down", resource+"RW", "", "1", 200, "")})
}

// A device may be locked in the middle of a body: what was let in is recorded.
func TestStateIsThatOfTheRequest(t *testing.T) {
	h, log, _ := mustDeviceREST(t)
	body := io.MultiReader(strings.NewReader("x"), meanwhile(func() { log.Given(t, setDevice("LOCKED", "UP")) }), strings.NewReader("y"))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", resource+"vBinary", body))
	if w.Code != 200 {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// A value that fails its assertion sets the device DOWN. That does not stop the values that follow.
func TestFailedAssertionDoesNotStopTheDevice(t *testing.T) {
	h, log, _ := mustSensor(t)
	for range 2 {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", sensor+"asserted", strings.NewReader("bad")))
		view, done := log.View()
		d, _ := view.State.Devices.Get("sensor-1")
		if done(); w.Code != 400 || d.OperatingState != domain.StateDown {
			t.Fatalf("got %d %s, operatingState %s", w.Code, w.Body, d.OperatingState)
		}
		handlerstest.Run(t, h, log, []handlerstest.Scenario{
			post("asserted", sensor+"asserted", "", "good", 200, ""),
			post("another resource", sensor+"count", "", "7", 200, ""),
		})
	}
}

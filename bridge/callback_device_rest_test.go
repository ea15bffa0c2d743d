package bridge_test

import (
	"testing"

	"github.com/google/uuid"

	"ledge/bridge/callback"
	"ledge/bridge/guard"
	"ledge/domain"
)

// TestCallbacksOfAnotherDeviceREST holds that device-rest is called from the moment when another program has registered its address, also
// after a restart, until it has an address of Ledge again.
func TestCallbacksOfAnotherDeviceREST(t *testing.T) {
	n := mustNode(t)
	const ownPort = 59986
	start := func() *callback.Callbacks {
		return n.startCallbacks(func(o *callback.Options) {
			o.Guard = guard.New(guard.Options{OwnPorts: map[int]string{ownPort: "device-rest"}})
			o.Lists = func(read func(domain.Lists) error) error {
				view, done := n.state.View()
				defer done()
				return read(view)
			}
		})
	}
	c := start()
	b := n.mustService("b")
	other := &deviceService{tb: t, name: domain.DeviceREST, addr: ownAddress(t), more: make(chan struct{}, 1)}
	other.live()
	t.Cleanup(other.die)
	n.do(domain.AddService{Service: domain.DeviceService{ // as the first start has written it, with a port that is not Ledge's any more
		ID: uuid.NewString(), Name: domain.DeviceREST, Description: domain.DeviceRESTDescription, BaseAddress: other.url(),
		AdminState: domain.StateUnlocked, Created: 1, Modified: 1,
	}})
	device := func(name string) domain.AddDevice {
		d := deviceOf(other, name)
		d.ProtocolName = "rest"
		return domain.AddDevice{Device: d}
	}
	address := func(at string, time int64) domain.UpdateService {
		return domain.UpdateService{Patch: domain.PatchOf[domain.DeviceService]("name", domain.DeviceREST, "baseAddress", at), At: time}
	}
	const service, profile = "PUT /api/v2/callback/service", "PUT /api/v2/callback/profile"
	n.do(device("d0"), device("d1"), domain.AddDevice{Device: deviceOf(b, "barrier")})
	b.wantCalls("POST " + devicePath)
	if c.IsCalled(domain.DeviceREST) {
		t.Error("device-rest of Ledge is called")
	}
	n.do(address("http://localhost:59986", 2), address(other.url(), 3)) // the first one is Ledge's
	want := []string{service}
	other.wantCalls(want...)
	n.do(describe("d0", "told"), patch("d1", "serviceName", "b"), describeProfile("told"), device("d2"))
	want = append(want, "PUT "+devicePath, "PUT "+devicePath, profile, "POST "+devicePath)
	other.wantCalls(want...)
	if err := c.ValidateDevice(t.Context(), other.service(), deviceOf(other, "d"), ""); err != nil || !c.IsCalled(domain.DeviceREST) {
		t.Errorf("another device-rest: called: %t, %v", c.IsCalled(domain.DeviceREST), err)
	}
	want = append(want, "POST /api/v2/validate/device")
	c.Close()
	c = start()
	n.do(describe("d0", "told after a restart"), domain.RemoveDevice{Name: "d2"})
	want = append(want, "PUT "+devicePath, "DELETE "+devicePath+"/name/d2")
	other.wantCalls(want...)
	n.do(address("http://localhost:59986", 4), describe("d0", "not told"), describeProfile("not told"), describe("barrier", "told"))
	b.wantCalls("POST "+devicePath, "PUT "+devicePath, profile, profile, "PUT "+devicePath)
	other.wantCalls(want...)
	if calls, waiting := c.LastCalls(domain.DeviceREST); len(calls)+waiting > 0 || c.IsCalled(domain.DeviceREST) {
		t.Errorf("device-rest of Ledge is called: %v, and %d calls wait", calls, waiting)
	}
}

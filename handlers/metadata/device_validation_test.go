package metadata

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/handlerstest"
)

// picky stands for device services that take nothing bad; it notes what they are asked.
type picky struct {
	mu    sync.Mutex
	asked []string
}

func (p *picky) IsCalled(name string) bool { return name != domain.DeviceREST }

func (p *picky) CheckAddress(base string) error {
	if strings.HasPrefix(base, "http://bad") {
		return errors.New("no " + base)
	}
	return nil
}

func (p *picky) ValidateDevice(_ context.Context, s domain.DeviceService, d domain.Device, _ string) error {
	if !p.IsCalled(s.Name) {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, strings.TrimSpace(fmt.Sprint(s.Name, " ", d.Name, " ", d.Description)))
	if strings.HasPrefix(d.Name, "bad") || d.Description == "bad" {
		return domain.Errorf(domain.Rejected, "no %s", d.Name)
	}
	return nil
}

// The service of a device is asked about the device as it would be, where it is not Ledge itself and where the request
// is fine otherwise; what it refuses is answered 500, as in EdgeX 2.3, and spoils nothing else.
func TestDevicesAreValidated(t *testing.T) {
	service := &picky{}
	api, log := mustMetadata(t, func(o *handlers.Options) { o.Devices = service })
	log.Given(t, domain.AddService{Service: domain.DeviceService{
		ID: "0c3b3f0e-3c6e-4a0e-8f7e-1d1a4d6f7a11", Name: "svc", BaseAddress: "http://svc", AdminState: "UNLOCKED",
	}})
	mine := func(name string) string { return device("name", `"`+name+`"`, "serviceName", `"svc"`) }
	for _, tt := range []struct {
		name, method string
		devices      []string
		want         []int
		asked        []string
	}{
		{"of device-rest", http.MethodPost, []string{device()}, []int{201}, nil},
		{"of a service", http.MethodPost, []string{mine("one"), mine("bad-1"), mine("two")}, []int{201, 500, 201}, []string{"svc bad-1", "svc one", "svc two"}},
		{"refused anyhow", http.MethodPost, []string{mine("cam-1"), device("name", `"x"`, "serviceName", `"none"`)}, []int{409, 404}, nil},
		{"changes nothing", http.MethodPatch, []string{`{"name":"one","adminState":"UNLOCKED"}`}, []int{200}, nil},
		{"of device-rest", http.MethodPatch, []string{`{"name":"cam-1","description":"bad"}`, `{"id":"` + deviceID + `","description":"b"}`}, []int{200, 200}, nil},
		{"of a service", http.MethodPatch, []string{`{"name":"one","description":"bad"}`, `{"name":"two","description":"good"}`}, []int{500, 200}, []string{"svc one bad", "svc two good"}},
		{"moves to a service", http.MethodPatch, []string{`{"name":"cam-1","serviceName":"svc","description":"bad"}`}, []int{500}, []string{"svc cam-1 bad"}},
		{"moves to device-rest", http.MethodPatch, []string{`{"name":"two","serviceName":"device-rest","protocolName":"rest"}`}, []int{200}, nil},
	} {
		t.Run(tt.method+" "+tt.name, func(t *testing.T) {
			service.asked = nil
			w := handlerstest.Serve(api, tt.method, "/api/v2/device", batch("device", tt.devices...))
			var items []struct{ StatusCode int }
			var got []int
			if err := json.Unmarshal(w.Body.Bytes(), &items); err != nil {
				t.Fatalf("%v: %s", err, w.Body)
			}
			for _, item := range items {
				got = append(got, item.StatusCode)
			}
			if slices.Sort(service.asked); !slices.Equal(got, tt.want) || !slices.Equal(service.asked, tt.asked) {
				t.Errorf("got %v, asked %q; want %v, %q\n%s", got, service.asked, tt.want, tt.asked, w.Body)
			}
		})
	}
}

package domain

import "testing"

func TestAddService(t *testing.T) {
	edited := func(edit func(*DeviceService)) AddService { return AddService{with(restService(), edit)} }
	runDecisions(t, []decision{
		{name: "added", when: AddService{restService()}, want: ServiceAdded{restService()}},
		{name: "name taken", given: catalogue(), when: edited(func(d *DeviceService) { d.ID = otherID }),
			code: Conflict, says: `service name "device-rest" exists already; choose another name`},
		{name: "id taken", given: catalogue(), when: edited(func(d *DeviceService) { d.Name = "device-onvif" }),
			code: Conflict, says: `service id "` + serviceID + `" exists already, for "device-rest"; leave the id out`},
		{name: "bad id", when: edited(func(d *DeviceService) { d.ID = "17" }), code: Invalid, says: `id: "17" is no UUID`},
		{name: "unknown adminState", when: edited(func(d *DeviceService) { d.AdminState = "UP" }),
			code: Invalid, says: `adminState: "UP" is unknown; use one of LOCKED, UNLOCKED`},
		{name: "no address", when: edited(func(d *DeviceService) { d.BaseAddress = "" }),
			code: Invalid, says: "baseAddress: is missing or empty; give a URL such as http://localhost:59999"},
	})
}

func TestBaseAddress(t *testing.T) {
	for address, ok := range map[string]bool{
		"http://localhost:59986": true, "https://10.0.0.7": true, "http://[::1]:59986/path": true,
		"localhost:59986": false, "localhost": false, "/path": false, "http://": false, "http://a b": false, "http://a:port": false,
	} {
		got, err := AddService{with(restService(), func(d *DeviceService) { d.BaseAddress = address })}.Decide(given())
		if ok && err != nil {
			t.Errorf("%q: %v", address, err)
		}
		if !ok {
			wantRefusal(t, got, err, Invalid, `baseAddress: "`+address+`" is no absolute URL; write it as http://host:port`)
		}
	}
}

package domain

import "testing"

func TestAddService(t *testing.T) {
	edited := func(edit func(*DeviceService)) AddService { return AddService{with(restService(), edit)} }
	runDecisions(t, []decision{
		{name: "added", when: AddService{restService()}, want: ServiceAdded{Service: restService()}},
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
			wantRefusal(t, got, err, Invalid, `baseAddress: "`+address+`" is not an absolute URL; write it as http://host:port`)
		}
	}
}

func patchService(edit ...any) UpdateService {
	return UpdateService{Patch: PatchOf[DeviceService](append(fields{"name", DeviceREST}, edit...)...), At: later}
}

func TestUpdateService(t *testing.T) {
	lock := fields{"adminState", StateLocked}
	locked := with(restService(), func(d *DeviceService) { d.AdminState, d.Modified = StateLocked, later })
	all := with(restService(), func(d *DeviceService) {
		d.Description, d.Labels, d.BaseAddress, d.Modified = "rest", []string{"http"}, "http://10.0.0.7:1", later
		d.LastConnected, d.LastReported = 7, 8
	})
	runDecisions(t, []decision{
		{name: "by name", given: catalogue(), when: patchService(lock...), want: ServiceUpdated{locked, []string{"adminState"}}},
		{name: "by id", given: catalogue(), when: UpdateService{PatchOf[DeviceService]("id", serviceID, "adminState", StateLocked), later},
			want: ServiceUpdated{locked, []string{"adminState"}}},
		{name: "all else", given: catalogue(), when: patchService("description", "rest", "labels", []string{"http"},
			"baseAddress", "http://10.0.0.7:1", "lastConnected", 7, "lastReported", 8), want: ServiceUpdated{all, []string{"baseAddress", "description", "labels", "lastConnected", "lastReported"}}},
		{name: "nothing but the name", given: catalogue(), when: patchService()},
		{name: "values as they are", given: catalogue(), when: patchService("adminState", StateUnlocked, "labels", []string{},
			"baseAddress", restService().BaseAddress)},
		{name: "neither id nor name", given: catalogue(), when: UpdateService{PatchOf[DeviceService](), later},
			code: Invalid, says: "name: is missing, and so is id; give one of them"},
		{name: "no such name", given: catalogue(), when: UpdateService{PatchOf[DeviceService]("name", "device-x"), later},
			code: NotFound, says: `service "device-x" does not exist`},
		{name: "no such id", given: catalogue(), when: UpdateService{PatchOf[DeviceService]("id", otherID), later},
			code: NotFound, says: `service id "` + otherID + `" does not exist`},
		{name: "id of one, name of another", given: catalogue(),
			when: UpdateService{PatchOf[DeviceService]("id", serviceID, "name", "device-x"), later},
			code: Invalid, says: `service id "` + serviceID + `" belongs to "device-rest", not to "device-x"`},
		{name: "unknown adminState", given: catalogue(), when: patchService("adminState", "UP"),
			code: Invalid, says: `adminState: "UP" is unknown; use one of LOCKED, UNLOCKED`},
		{name: "empty address", given: catalogue(), when: patchService("baseAddress", ""),
			code: Invalid, says: "baseAddress: is missing or empty; give a URL"},
	})
}

func TestRemoveService(t *testing.T) {
	onvif := with(restService(), func(d *DeviceService) { d.Name, d.ID = "device-onvif", otherID })
	moved := with(camera(), func(d *Device) { d.ServiceName = "device-onvif" })
	runDecisions(t, []decision{
		{name: "removed", given: catalogue(), when: RemoveService{DeviceREST}, want: ServiceRemoved{Service: restService()}},
		{name: "no such service",
			given: catalogue(), when: RemoveService{"device-x"}, code: NotFound, says: `service "device-x" does not exist`},
		{name: "used by a device", given: onboarded(), when: RemoveService{DeviceREST},
			code: Conflict, says: `service "device-rest" is in use (devices and provision watchers: 1); remove them or give them another service first`},
		{name: "used by a watcher", given: append(catalogue(), WatcherAdded{Watcher: finder()}), when: RemoveService{DeviceREST},
			code: Conflict, says: `service "device-rest" is in use (devices and provision watchers: 1)`},
		{name: "its device moved away",
			given: append(onboarded(), ServiceAdded{Service: onvif}, DeviceUpdated{moved, []string{"serviceName"}}),
			when:  RemoveService{DeviceREST}, want: ServiceRemoved{Service: restService()}},
		{name: "name and id free again", given: append(catalogue(), ServiceRemoved{Service: restService()}),
			when: AddService{restService()}, want: ServiceAdded{Service: restService()}},
	})
}

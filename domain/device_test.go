package domain

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
)

func addCamera(edit func(*Device)) AddDevice { return AddDevice{with(camera(), edit)} }

func TestAddDevice(t *testing.T) {
	thermometer := with(camera(), func(d *Device) {
		d.ServiceName, d.ProtocolName, d.Protocols = "device-modbus", "", map[string]map[string]string{"modbus-tcp": {"Port": "502"}}
	})
	modbus := with(restService(), func(d *DeviceService) { d.Name = "device-modbus" })
	runDecisions(t, []decision{
		{name: "added", given: catalogue(), when: AddDevice{camera()}, want: DeviceAdded{Device: camera()}},
		{name: "of another service without protocolName",
			given: []Event{ProfileAdded{Profile: imageProfile()}, ServiceAdded{Service: modbus}},
			when:  AddDevice{thermometer}, want: DeviceAdded{Device: thermometer}},
		{name: "location that is no UTF-8",
			given: catalogue(), when: addCamera(func(d *Device) { d.Location = json.RawMessage("\"a\xffb\"") }),
			want: DeviceAdded{Device: with(camera(), func(d *Device) { d.Location = json.RawMessage("\"a\ufffdb\"") })}},
		{name: "added again after removal", given: append(onboarded(), DeviceRemoved{Device: camera()}),
			when: AddDevice{camera()}, want: DeviceAdded{Device: camera()}},
		{name: "name taken", given: onboarded(), when: addCamera(func(d *Device) { d.ID = otherID }),
			code: Conflict, says: `device name "cam-1" exists already; choose another name`},
		{name: "id taken", given: onboarded(), when: addCamera(func(d *Device) { d.Name = "cam-2" }),
			code: Conflict, says: `device id "` + cameraID + `" exists already, for "cam-1"; leave the id out`},
		{name: "no such service", given: []Event{ProfileAdded{Profile: imageProfile()}}, when: AddDevice{camera()},
			code: NotFound, says: `device "cam-1": device service "device-rest" does not exist; add it first or correct serviceName`},
		{name: "no such profile", given: catalogue(), when: addCamera(func(d *Device) { d.ProfileName = "imgae" }),
			code: NotFound, says: `device "cam-1": device profile "imgae" does not exist; upload it first or correct profileName`},
	})
}

func TestAddDeviceRefusesFields(t *testing.T) {
	tests := []struct {
		name string
		edit func(*Device)
		says string
	}{
		{"bad id", func(d *Device) { d.ID = "17" }, `id: "17" is no UUID; leave it out to get one`},
		{"no adminState", func(d *Device) { d.AdminState = "" }, "adminState: is missing or empty; use one of LOCKED, UNLOCKED"},
		{"adminState in lower case", func(d *Device) { d.AdminState = "unlocked" }, `adminState: "unlocked" is unknown; use one of LOCKED, UNLOCKED`},
		{"unknown operatingState", func(d *Device) { d.OperatingState = "OFF" }, `operatingState: "OFF" is unknown; use one of UP, DOWN, UNKNOWN`},
		{"no serviceName", func(d *Device) { d.ServiceName = "" }, "serviceName: is missing or empty; give a name"},
		{"no profileName", func(d *Device) { d.ProfileName = "" }, "profileName: is missing or empty; give a name"},
		{"device-rest without protocolName", func(d *Device) { d.ProtocolName = "" },
			`protocolName: is missing; devices of "device-rest" need it: add "protocolName":"rest"`},
		{"no protocols", func(d *Device) { d.Protocols = nil }, `protocols: is missing or empty; give at least one protocol, such as {"other":{}}`},
		{"autoEvent interval", func(d *Device) { d.AutoEvents = []AutoEvent{{Interval: "10", SourceName: "zoom"}} },
			`autoEvents[0].interval: "10" is not a duration; write it as 300ms, 10s or 24h`},
		{"autoEvent without source", func(d *Device) {
			d.AutoEvents = []AutoEvent{{Interval: "10s", SourceName: "zoom"}, {Interval: "10s"}}
		}, "autoEvents[1].sourceName: is missing or empty; give a value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := addCamera(tt.edit).Decide(given(catalogue()...))
			wantRefusal(t, got, err, Invalid, tt.says)
		})
	}
}

func TestAddDeviceNamesEveryProblem(t *testing.T) {
	got, err := AddDevice{Device{Name: "cam 1", AdminState: StateLocked}}.Decide(given())
	for _, says := range []string{"name: ", "operatingState: ", "serviceName: ", "profileName: ", "protocols: "} {
		wantRefusal(t, got, err, Invalid, says)
	}
}

func TestRemoveDevice(t *testing.T) {
	moved := with(camera(), func(d *Device) { d.Modified = later })
	runDecisions(t, []decision{
		{name: "removed, as it last was", given: append(onboarded(), DeviceUpdated{moved, []string{"labels"}}),
			when: RemoveDevice{"cam-1"}, want: DeviceRemoved{Device: moved}},
		{name: "no such device", given: onboarded(), when: RemoveDevice{"cam-2"},
			code: NotFound, says: `device "cam-2" does not exist`},
		{name: "removed already", given: append(onboarded(), DeviceRemoved{Device: camera()}), when: RemoveDevice{"cam-1"},
			code: NotFound, says: `device "cam-1" does not exist`},
	})
}

func zoomCommand() CommandIssued {
	return CommandIssued{Device: "cam-1", Service: DeviceREST, Command: "zoom", Value: json.RawMessage(`{"zoom":"2"}`)}
}

func refusedZoom() CommandIssued {
	return with(zoomCommand(), func(e *CommandIssued) { e.Status = 423 })
}

func zoomAnswer(issued uint64) CommandAnswered {
	return CommandAnswered{Device: "cam-1", Command: "zoom", Issued: issued, Status: 200}
}

func TestRecordCommand(t *testing.T) {
	runDecisions(t, []decision{
		{"of a device", onboarded(), RecordCommand{zoomCommand()}, zoomCommand(), 0, ""},
		{"of a device that was removed meanwhile", nil, RecordCommand{zoomCommand()}, zoomCommand(), 0, ""},
		{"that is refused", onboarded(), RecordCommand{refusedZoom()}, refusedZoom(), 0, ""},
		{"with its outcome", onboarded(), RecordAnswer{zoomAnswer(7)}, zoomAnswer(7), 0, ""},
		{
			"with a value that the log writes otherwise", onboarded(),
			RecordCommand{with(zoomCommand(), func(e *CommandIssued) { e.Value = json.RawMessage("{ \"zoom\": \"<\xff\" }") })},
			with(zoomCommand(), func(e *CommandIssued) { e.Value = json.RawMessage(`{"zoom":"\u003c` + "\ufffd" + `"}`) }), 0, "",
		},
	})
}

// The events of the commands of a device are a chain. A command that was sent is open until its outcome is on record.
func TestCommandsAreChained(t *testing.T) {
	s := given(onboarded()...)
	for _, step := range []struct {
		seq, last uint64
		open      []uint64
		do        Command
	}{
		{10, 10, []uint64{10}, RecordCommand{zoomCommand()}},
		{12, 12, []uint64{10}, RecordCommand{refusedZoom()}},
		{13, 13, []uint64{10, 13}, RecordCommand{zoomCommand()}},
		{14, 14, []uint64{10}, RecordAnswer{zoomAnswer(13)}},
		{15, 15, nil, RecordAnswer{zoomAnswer(10)}},
		{16, 16, []uint64{16}, RecordCommand{zoomCommand()}},
		{17, 0, []uint64{16}, RemoveDevice{"cam-1"}},
		{18, 0, nil, RecordAnswer{zoomAnswer(16)}},
		{19, 0, nil, AddDevice{camera()}},
		{20, 20, []uint64{20}, RecordCommand{zoomCommand()}},
	} {
		before := LastCommand(s, "cam-1")
		e, err := step.do.Decide(s)
		if err != nil {
			t.Fatalf("%#v: %v", step.do, err)
		}
		prev := before
		switch e := e.(type) {
		case CommandIssued:
			prev = e.Prev
		case CommandAnswered:
			prev = e.Prev
		}
		if prev != before {
			t.Errorf("event %d: prev is %d, want %d", step.seq, prev, before)
		}
		Evolve(s, &Recorded{Seq: step.seq, Event: e})
		if got := LastCommand(s, "cam-1"); got != step.last {
			t.Errorf("event %d: the last event of the commands is %d, want %d", step.seq, got, step.last)
		}
		var open []uint64
		for seq := range step.seq + 1 {
			if IsOpenCommand(s, seq) {
				open = append(open, seq)
			}
		}
		if !slices.Equal(open, step.open) {
			t.Errorf("event %d: the commands %v are open, want %v", step.seq, open, step.open)
		}
	}
}

func TestHiddenValues(t *testing.T) {
	p := imageProfile()
	secret := func(name string, value any) {
		p.DeviceResources = append(p.DeviceResources, DeviceResource{Name: name, Attributes: map[string]any{HideValue: value}})
	}
	secret("pin", true)
	secret("code", "true")
	secret("mode", false)
	values := map[string]json.RawMessage{"code": json.RawMessage("1"), "mode": json.RawMessage("2"), "other": json.RawMessage("3")}
	if p.HideValues(values) {
		t.Errorf("hidden without a reason: %s", values)
	}
	values["pin"] = json.RawMessage(`"1234"`)
	if !p.HideValues(values) {
		t.Error("nothing is hidden")
	}
	want := map[string]json.RawMessage{"code": json.RawMessage("1"), "mode": json.RawMessage("2"), "other": json.RawMessage("3"),
		"pin": json.RawMessage(`"(hidden)"`)}
	if !reflect.DeepEqual(values, want) {
		t.Errorf("got %s, want %s", values, want)
	}
}

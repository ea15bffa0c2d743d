package domain

import (
	"strings"
	"testing"
)

// places are the fields that hold a name: for each, an entity that has the name there and is right elsewhere.
var places = map[string]func(name string) Problems{
	"device name":         func(n string) Problems { return with(camera(), func(d *Device) { d.Name = n }).Check() },
	"device serviceName":  func(n string) Problems { return with(camera(), func(d *Device) { d.ServiceName = n }).Check() },
	"device profileName":  func(n string) Problems { return with(camera(), func(d *Device) { d.ProfileName = n }).Check() },
	"device protocolName": func(n string) Problems { return with(camera(), func(d *Device) { d.ProtocolName = n }).Check() },
	"patch name":          func(n string) Problems { return PatchOf[Device]("name", n).Check() },
	"patch profileName":   func(n string) Problems { return PatchOf[Device]("id", cameraID, "profileName", n).Check() },
	"profile name":        func(n string) Problems { return with(imageProfile(), func(p *Profile) { p.Name = n }).Check() },
	"profile deviceResources[0].name": func(n string) Problems {
		return with(imageProfile(), func(p *Profile) { p.DeviceResources[0].Name = n }).Check()
	},
	"profile deviceCommands[0].name": func(n string) Problems {
		return with(imageProfile(), func(p *Profile) { p.DeviceCommands[0].Name = n }).Check()
	},
	"service name":               func(n string) Problems { return with(restService(), func(d *DeviceService) { d.Name = n }).Check() },
	"subscription name":          func(n string) Problems { return with(gate(), func(d *Subscription) { d.Name = n }).Check() },
	"subscription receiver":      func(n string) Problems { return with(gate(), func(d *Subscription) { d.Receiver = n }).Check() },
	"subscription categories[0]": func(n string) Problems { return with(gate(), func(d *Subscription) { d.Categories[0] = n }).Check() },
	"subscription labels[1]": func(n string) Problems {
		return with(gate(), func(d *Subscription) { d.Labels = []string{"ok", n} }).Check()
	},
	"subscription patch receiver":  func(n string) Problems { return PatchOf[Subscription]("name", "gate", "receiver", n).Check() },
	"subscription patch labels[0]": func(n string) Problems { return PatchOf[Subscription]("name", "gate", "labels", []string{n}).Check() },
	"notification category": func(n string) Problems {
		return with(notice(), func(d *Notification) { d.Category = n }).Check()
	},
	"notification labels[0]": func(n string) Problems {
		return with(notice(), func(d *Notification) { d.Labels = []string{n} }).Check()
	},
	"notification sender": func(n string) Problems { return with(notice(), func(d *Notification) { d.Sender = n }).Check() },
}

func TestNames(t *testing.T) {
	long := strings.Repeat("n", MaxName)
	tests := []struct{ name, says string }{
		{"cam-1", ""},
		{"AZaz09-_~:;=", ""},
		{long, ""},
		{"", "is missing"},
		{"cam 1", `"cam 1" has the character ' '; use only letters, digits and - _ ~ : ; =`},
		{"cam.1", `"cam.1" has the character '.'; use only`},
		{"cam/1", `"cam/1" has the character '/'; use only`},
		{"cam*", `"cam*" has the character '*'; use only`},
		{"cam>", `"cam>" has the character '>'; use only`},
		{"kaméra", `"kaméra" has the character 'é'; use only`},
		{"cam\n", `"cam\n" has the character '\n'; use only`},
		{"cam\xff", `"cam\xff" has the character '�'; use only`},
		{long + "n", `… is 257 bytes long; use at most 256`},
	}
	for place, check := range places {
		path := place[strings.LastIndex(place, " ")+1:]
		for _, tt := range tests {
			got := joinProblems(check(tt.name))
			switch {
			case tt.says == "" && got != "":
				t.Errorf("%s %q: got %q, want no problem", place, tt.name, got)
			case !strings.Contains(got, tt.says) || tt.says != "" && !strings.Contains(got, path+": "):
				t.Errorf("%s %q: got %q, want %q at %s", place, tt.name, got, tt.says, path)
			}
		}
	}
}

func TestIsUUID(t *testing.T) {
	for s, want := range map[string]bool{
		cameraID: true, strings.ToUpper(cameraID): true, "": false, "17": false, cameraID[1:]: false, cameraID + "0": false,
		"{" + cameraID + "}": false, strings.ReplaceAll(cameraID, "-", ""): false, "g" + cameraID[1:]: false, cameraID + "\n": false,
	} {
		if got := IsUUID(s); got != want {
			t.Errorf("%q: got %t, want %t", s, got, want)
		}
	}
}

package web

import (
	"testing"

	"ledge/domain"
)

// TestRefuse holds that the message above a form names the fields by their labels, and that each field has its whole error.
func TestRefuse(t *testing.T) {
	labels := Labels{{"name", "Name"}, {"profileName", "Device profile"}, {"channels[0].host", "Host"}}
	problems := func(paths ...string) (p domain.Problems) {
		for _, path := range paths {
			p.Add(path, "is missing or empty; give profileName, not %q", "profileName")
		}
		return p
	}
	for _, tt := range []struct {
		err                  error
		message, field, says string
	}{
		{problems("name").Err(), "Correct the marked field: Name.", "name",
			`Name is missing or empty; give Device profile, not "profileName".`},
		{problems("name", "channels[0].host", "name[1]").Err(), "Correct the marked fields: Name, Host.", "channels[0].host",
			`Host is missing or empty; give Device profile, not "profileName".`},
		{problems("name[1].left").Err(), "Correct the marked field: Name.", "name",
			`Name (entry 2, left) is missing or empty; give Device profile, not "profileName".`},
		{problems("channels[1].allow[0]").Err(),
			`Channels, entry 2, allow, entry 1 is missing or empty; give Device profile, not "profileName".`, "name", ""},
		{domain.Errorf(domain.NotFound, "device profile %q does not exist; correct profileName", "x").At("profileName"),
			"Correct the marked field: Device profile.", "profileName", `Device profile "x" does not exist; correct Device profile.`},
		{domain.Errorf(domain.Conflict, "[0].device: it is locked; correct profileName"),
			"it is locked; correct Device profile", "name", ""},
	} {
		f := new(Form)
		message := f.Refuse(Answer{Message: tt.err.Error(), Problems: ProblemsOf(tt.err)}, labels)
		label, _ := labels.labelOf(tt.field)
		if says := f.Problems.Of(tt.field, label); message != tt.message || says != tt.says {
			t.Errorf("%v:\n got %s\nwant %s\n got %s\nwant %s", tt.err, message, tt.message, says, tt.says)
		}
	}
}

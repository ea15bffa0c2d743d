package marked

import (
	"net/url"
	"reflect"
	"strings"
	"testing"

	"ledge/handlers/console/devicesearch"
)

// TestRunAddress reads runs from their addresses.
func TestRunAddress(t *testing.T) {
	for _, r := range []Run{
		{Action: Lock},
		{Filter: devicesearch.Parse(`cam label:"a ""b" is:down`), Action: AddLabel, Label: `x & "y"`, Seq: 1 << 60, At: 12345, Of: 7},
	} {
		u, err := url.Parse(r.Address())
		if err != nil || u.Path != Path {
			t.Fatal(r.Address(), err)
		}
		if got := Read(u.Query()); !reflect.DeepEqual(got, r) {
			t.Errorf("%s: got %+v, want %+v", r.Address(), got, r)
		}
	}
	for wrong, query := range map[string]url.Values{
		"Choose what to do": {"action": {"sell"}}, "Write the label": {"action": {AddLabel}, "label": {" "}},
	} {
		if got := Read(query).Wrong(); !strings.HasPrefix(got, wrong) {
			t.Errorf("%v: %q, want %q", query, got, wrong)
		}
	}
	long := url.Values{"action": {Delete}, "q": {strings.Repeat("x ", mostText)}}
	if Read(long).Wrong() == "" {
		t.Error("a filter that is too long is cut, so that the run would delete other devices")
	}
}

// TestRunWaits tells which devices a run still has to change.
func TestRunWaits(t *testing.T) {
	d := &devicesearch.Device{AdminState: "LOCKED", Labels: []string{"x"}, Revision: 5}
	for _, one := range []struct {
		run  Run
		want bool
	}{
		{Run{Action: Lock}, false}, {Run{Action: Unlock}, true}, {Run{Action: Delete}, true},
		{Run{Action: AddLabel, Label: "x"}, false}, {Run{Action: AddLabel, Label: "y"}, true},
		{Run{Action: RemoveLabel, Label: "x"}, true}, {Run{Action: RemoveLabel, Label: "y"}, false},
		{Run{Action: Delete, Seq: 5}, true}, {Run{Action: Delete, Seq: 4}, false},
	} {
		if got := one.run.Waits(d); got != one.want {
			t.Errorf("%+v: %v", one.run, got)
		}
	}
}

// TestProgress keeps the first refusals of a run, however many a form has.
func TestProgress(t *testing.T) {
	p := Progress{}
	p.Continue(url.Values{"next": {"d-30"}, "refused": {strings.Repeat("é", mostReason)}, "refusals": {"25"}})
	for range 30 {
		p.Refuse("d-31", "it is in use")
	}
	if len(p.Refused) != MostRefused || p.Refusals != 55 || p.Next != "d-30" ||
		p.Refused[1] != "d-31: it is in use" {
		t.Errorf("%d refusals, %d of them listed, after %s: %q", p.Refusals, len(p.Refused), p.Next, p.Refused[1])
	}
	if len(p.Refused[0]) > mostReason {
		t.Errorf("a refusal has %d bytes", len(p.Refused[0]))
	}
}

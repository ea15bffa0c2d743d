package faults

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ledge/domain"
)

func TestFaults(t *testing.T) {
	var p domain.Problems
	p.Add("[0].device.name", "%q has the character %q; use only letters, digits and - _ ~ : ; =", `a "b; c: d`, '"')
	p.Add("[0].device.adminState", "is missing or empty; use one of %s", "LOCKED, UNLOCKED")
	p.Add("[1]", "is null; give an object")
	p.Add("[2].subscription.resendLimit", "%d is negative; use 0 or more", -3)
	p.Add("[2].subscription.labels[1]", "wrong")
	for _, tt := range []struct {
		err  error
		want []Fault
	}{
		{p.Err(), []Fault{
			{"[0].device.name", `a "b; c: d`, "use only letters, digits and - _ ~ : ; ="},
			{"[0].device.adminState", "", "use one of LOCKED, UNLOCKED"},
			{"[1]", "", "give an object"},
			{"[2].subscription.resendLimit", "-3", "use 0 or more"},
			{"[2].subscription.labels[1]", "", "wrong"},
		}},
		{domain.Errorf(domain.Invalid, "the body is empty; send one object: {…}"), []Fault{{"", "", "send one object: {…}"}}},
		{domain.Errorf(domain.Invalid, "querystring %s's value %q is not a whole number from %d to %d; correct it or leave it out", "offset", `a "b"`, 0, 9), []Fault{{"offset", `a "b"`, `querystring offset's value "a \"b\"" is not a whole number from 0 to 9; correct it or leave it out`}}},
		{domain.Errorf(domain.Invalid, "querystring limit's value -2 is out of min -1 ~ max 9 range."), []Fault{{"limit", "-2", "querystring limit's value -2 is out of min -1 ~ max 9 range."}}},
		{domain.Errorf(domain.NotFound, "device: no; mend"), nil},
		{errors.New("ours"), nil},
	} {
		if got := Of(tt.err); !slices.Equal(got, tt.want) {
			t.Errorf("%v:\n got %q\nwant %q", tt.err, got, tt.want)
		}
	}
}

// TestFieldsOfErrors holds that the paths are those of the error, whatever its texts are, and that a refusal keeps its whole message.
func TestFieldsOfErrors(t *testing.T) {
	var p domain.Problems
	p.Add("[0].device.name", "%q has a space; use letters; b: c", "a b")
	for _, tt := range []struct {
		err  error
		want []Field
	}{
		{p.Err(), []Field{{"[0].device.name", `"a b" has a space; use letters; b: c`, false}}},
		{domain.FieldErrorf("name", "is empty"), []Field{{"name", "is empty", false}}},
		{fmt.Errorf("submit: %w", domain.Errorf(domain.NotFound, "it does not exist; add it first").At("serviceName")),
			[]Field{{"serviceName", "it does not exist; add it first", true}}},
		{domain.Errorf(domain.Invalid, "name: is empty"), nil},
		{errors.New("ours"), nil},
	} {
		if got := FieldsOf(tt.err); !slices.Equal(got, tt.want) {
			t.Errorf("%v:\n got %+v\nwant %+v", tt.err, got, tt.want)
		}
	}
	ctx, notes := WithNotes(t.Context())
	for range mostFaults + 1 {
		Note(ctx, "[1].device", domain.FieldErrorf("name", "is empty"))
	}
	if n := len(notes.Fields); n != mostFaults || notes.Fields[0].Path != "[1].device.name" {
		t.Errorf("noted %d fields: %+v", n, notes.Fields[0])
	}
}

func TestFaultsAreBounded(t *testing.T) {
	var p domain.Problems
	for range 5000 {
		p.Add("a", "%.80q is wrong; %s", strings.Repeat("x", 1000), strings.Repeat("ü", 5000))
	}
	faults := Of(p.Err())
	if len(faults) == 0 || len(faults) > mostFaults {
		t.Errorf("got %d faults", len(faults))
	}
	for _, f := range faults {
		if len(f.Value) > 100 || len(f.Cure) > mostCure+len("…") {
			t.Errorf("got a value of %d and a cure of %d bytes", len(f.Value), len(f.Cure))
		}
	}
}

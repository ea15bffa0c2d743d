package domain

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestCodeOf(t *testing.T) {
	conflict := Errorf(Conflict, "device name %q exists already", "cam-1")
	tests := []struct {
		err  error
		want Code
	}{
		{conflict, Conflict},
		{fmt.Errorf("append: %w", fmt.Errorf("decide: %w", conflict)), Conflict},
		{errors.Join(errors.New("first"), conflict), Conflict},
		{fmt.Errorf("outer: %w", Errorf(NotFound, "inner")), NotFound},
		{fmt.Errorf("not wrapped: %v", conflict), Internal},
		{errors.New("disk"), Internal},
		{nil, Internal},
	}
	for _, tt := range tests {
		if got := CodeOf(tt.err); got != tt.want {
			t.Errorf("%v: got %d, want %d", tt.err, got, tt.want)
		}
	}
	if got, want := conflict.Error(), `device name "cam-1" exists already`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestProblems(t *testing.T) {
	var inner, p Problems
	inner.Add("port", "%d is not a TCP port", 0)
	inner.Add("topic", "is missing")
	p.Add("name", "%s is too long", "x")
	p.In("channels[1]", inner)
	const want = "name: x is too long; channels[1].port: 0 is not a TCP port; channels[1].topic: is missing"
	if got := joinProblems(p); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	got, _ := errors.AsType[*Error](p.Err())
	if got == nil || got.Code != Invalid || got.Message != want || !slices.Equal(got.Problems, p) {
		t.Errorf("got %+v, want %q with code %d", got, want, Invalid)
	}
	if one := p[1]; one.Path() != "channels[1].port" || one.Says() != "0 is not a TCP port" {
		t.Errorf("got %q at %q", one.Says(), one.Path())
	}
	if err := (Problems{}).Err(); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

// joinProblems returns problems as one text.
func joinProblems(p Problems) string {
	var all []string
	for _, one := range p {
		all = append(all, one.String())
	}
	return strings.Join(all, "; ")
}

// TestErrorsHaveTheirField holds that an error of one field, and a refusal because of other entities, has the path of the field.
func TestErrorsHaveTheirField(t *testing.T) {
	taken := func(string) bool { return true }
	for _, tt := range []struct {
		err        error
		code       Code
		path, says string
	}{
		{FieldErrorf("limit", "%d is negative; use 0 or more", -1), Invalid, "limit", "-1 is negative; use 0 or more"},
		{checkFree(NewMapState(), "device", "hall", "", taken), Conflict, "name", `device name "hall" exists already; choose another name or change the one that is there`},
		{checkReferences(NewMapState(), "device", "hall", "x", "y"), NotFound, "serviceName", `device "hall": device service "x" does not exist; add it first or correct serviceName`},
	} {
		e, ok := errors.AsType[*Error](tt.err)
		if !ok || e.Code != tt.code || len(e.Problems) != 1 || e.Problems[0].Path() != tt.path || e.Problems[0].Says() != tt.says {
			t.Errorf("got %+v, want %q at %s", e, tt.says, tt.path)
		}
		if want := map[bool]string{true: tt.path + ": " + tt.says, false: tt.says}[tt.code == Invalid]; tt.err.Error() != want {
			t.Errorf("message %q, want %q", tt.err, want)
		}
	}
}

func TestProblemsAreCapped(t *testing.T) {
	for n, last := range map[int]string{
		1: "field19: wrong", 20: "field19: wrong", 21: "and 1 more problems", 10_000: "and 9980 more problems",
	} {
		var p Problems
		for i := range n {
			p.Add(fmt.Sprintf("field%d", 20-n+i), "wrong")
		}
		before := slices.Clone(p)
		got := strings.Split(p.Err().Error(), "; ")
		if got[len(got)-1] != last && n <= 20 || len(got) > 21 || n > 20 && got[20] != last {
			t.Errorf("%d problems: got %q, want the last to be %q", n, got, last)
		}
		if !slices.Equal(p, before) {
			t.Errorf("%d problems: Err changed them", n)
		}
	}
}

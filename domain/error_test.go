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
	inner.Add("port", "%d is no TCP port", 0)
	inner.Add("topic", "is missing")
	p.Add("name", "%s is too long", "x")
	p.In("channels[1]", inner)
	want := Problems{"name: x is too long", "channels[1].port: 0 is no TCP port", "channels[1].topic: is missing"}
	if !slices.Equal(p, want) {
		t.Errorf("got %q, want %q", p, want)
	}
	if got := p.Err(); CodeOf(got) != Invalid || got.Error() != strings.Join(want, "; ") {
		t.Errorf("got %v, want %q with code %d", got, want, Invalid)
	}
	if err := (Problems{}).Err(); err != nil {
		t.Errorf("got %v, want nil", err)
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

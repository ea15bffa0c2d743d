package domain

import (
	"strings"
	"testing"
)

func TestMayPostTo(t *testing.T) {
	for _, tt := range []struct {
		role     Role
		patterns string
		device   string
		want     bool
	}{
		{Poster, "", "cam-1", true}, {Operator, "", "cam-1", true}, {Admin, "", "cam-1", true},
		{Viewer, "", "cam-1", false}, {Auditor, "", "cam-1", false}, {"", "", "cam-1", false}, {"root", "", "cam-1", false},
		{Poster, "cam-*", "cam-1", true}, {Poster, "cam-*", "cam-", true}, {Poster, "cam-*", "Cam-1", false}, {Poster, "cam-*", "a-cam-1", false},
		{Poster, "pos-7,cam-*", "pos-7", true}, {Poster, "pos-7,cam-*", "pos-77", false},
		{Poster, "*", "anything", true}, {Poster, "*a*b", "xaxxab", true}, {Poster, "*a*b", "xaxxba", false}, {Poster, "a**", "a", true}, {Poster, "a", "", false},
	} {
		i := Identity{Role: tt.role}
		if tt.patterns != "" {
			i.Devices = strings.Split(tt.patterns, ",")
		}
		if got := i.MayPostTo(tt.device); got != tt.want {
			t.Errorf("%s with %q to %s: got %t, want %t", tt.role, tt.patterns, tt.device, got, tt.want)
		}
	}
}

func TestRolesThatMay(t *testing.T) {
	for right, want := range map[Right]string{
		MayRead: "viewer or operator or auditor or admin", MayPost: "poster or operator or admin", MayChange: "operator or admin",
		MayAudit: "auditor or admin", MayAdminister: "admin",
	} {
		if got := RolesThatMay(right); got != want {
			t.Errorf("%s: got %q, want %q", right, got, want)
		}
	}
}

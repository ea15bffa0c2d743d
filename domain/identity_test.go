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

// TestStill holds what ends an identity. Before, a request had the identity with which it began.
func TestStill(t *testing.T) {
	s := NewMapState()
	anna := User{Name: "anna", Role: Operator, Credential: "1"}
	pos := Token{Name: "pos", Role: Poster, Devices: []string{"cam-*"}, Credential: "2", Expires: 100}
	cam := Token{Name: "cam", Role: Poster, Certificate: true}
	s.Users.Put("anna", anna)
	s.Tokens.Put("pos", pos)
	s.Tokens.Put("cam", cam)
	changed := func(i Identity, change func(*Identity)) Identity { change(&i); return i }
	for name, tt := range map[string]struct {
		was  Identity
		at   int64
		says string
	}{
		"a user":             {anna.Identity(), 99, ""},
		"a token":            {pos.Identity(), 99, ""},
		"a certificate":      {cam.Identity(), 99, ""},
		"others":             {Identity{Actor: "jwt:user:bob", Role: Admin, Until: 100}, 99, ""},
		"this machine":       {Identity{Actor: "local", Role: Operator}, 1 << 60, ""},
		"no such user":       {Identity{Actor: "user:bob", Role: Operator}, 99, "removed"},
		"no such token":      {Identity{Actor: "token:anna", Role: Operator}, 99, "revoked"},
		"another password":   {changed(anna.Identity(), func(i *Identity) { i.Credential = "0" }), 99, "password"},
		"now a certificate":  {Identity{Actor: "token:cam", Role: Poster}, 99, "made again"},
		"another role":       {changed(anna.Identity(), func(i *Identity) { i.Role = Admin }), 99, "role operator in place of admin"},
		"other devices":      {changed(pos.Identity(), func(i *Identity) { i.Devices = nil }), 99, "other devices"},
		"an expired token":   {pos.Identity(), 100, "expired"},
		"an expired JWT":     {Identity{Actor: "jwt:x", Role: Admin, Until: 100}, 100, "expired"},
		"an expired session": {changed(anna.Identity(), func(i *Identity) { i.Until = 100 }), 100, "expired"},
	} {
		err := tt.was.Still(s, tt.at)
		if tt.says == "" && err != nil || tt.says != "" && (CodeOf(err) != Forbidden || err == nil || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%s: %v, want %q", name, err, tt.says)
		}
	}
}

func TestRolesThatMay(t *testing.T) {
	for right, want := range map[Right]string{
		MayRead: "viewer or service or operator or auditor or admin", MayPost: "poster or service or operator or admin",
		MayServe: "service or operator or admin", MayChange: "operator or admin",
		MayAudit: "auditor or admin", MayAdminister: "admin",
	} {
		if got := RolesThatMay(right); got != want {
			t.Errorf("%s: got %q, want %q", right, got, want)
		}
	}
}

package main

import (
	"strings"
	"testing"
)

func TestJWTSettings(t *testing.T) {
	for _, c := range []struct {
		flags []string
		want  string
	}{
		{nil, ""},
		{[]string{"--jwt-issuer=https://id.example.org", "--jwt-audience=ledge"}, ""},
		{[]string{"--jwt-issuer=http://127.0.0.1:8080/realm", "--jwt-audience=ledge"}, ""},
		{[]string{"--jwt-issuer=https://id.example.org"}, "setting jwt-audience"},
		{[]string{"--jwt-audience=ledge"}, "setting jwt-audience: ledge: set jwt-issuer too"},
		{[]string{"--jwt-issuer=plant", "--jwt-audience=ledge"}, "setting jwt-issuer: plant: is no URL"},
		{[]string{"--jwt-issuer=http://id.example.org", "--jwt-audience=ledge"}, "use https://"},
		{[]string{"--jwt-role-claim="}, "setting jwt-role-claim"},
	} {
		config := &Config{}
		flags := config.settings()
		if err := flags.Parse(c.flags); err != nil {
			t.Fatal(err)
		}
		err := config.check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: got %v, want %q", c.flags, err, c.want)
		}
	}
}

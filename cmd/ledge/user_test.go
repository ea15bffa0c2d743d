package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
)

func TestPasswordFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "password")
	for text, want := range map[string]string{"a b\r\nmore\n": "a b", "x": "x", "\nx": "", strings.Repeat("x", maxPasswordFile+1): ""} {
		ledgetest.MustDo(t, os.WriteFile(name, []byte(text), 0o600))
		if got, err := passwordFromFile(name); got != want || (err != nil) != (want == "") {
			t.Errorf("%.20q: got %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestLifetime(t *testing.T) {
	for text, want := range map[string]string{"90d": "2160h0m0s", "12h": "12h0m0s", "0d": "", "-1d": "", "36501d": "", "999999999999d": "", "d": "", "90": ""} {
		d, err := parseLifetime(text)
		if err != nil && want != "" || err == nil && d.String() != want {
			t.Errorf("%q: got %v, %v, want %q", text, d, err, want)
		}
	}
}

package main

import (
	"testing"
)

func TestLifetime(t *testing.T) {
	for text, want := range map[string]string{"90d": "2160h0m0s", "12h": "12h0m0s", "0d": "", "-1d": "", "36501d": "", "999999999999d": "", "d": "", "90": ""} {
		d, err := parseLifetime(text)
		if err != nil && want != "" || err == nil && d.String() != want {
			t.Errorf("%q: got %v, %v, want %q", text, d, err, want)
		}
	}
}

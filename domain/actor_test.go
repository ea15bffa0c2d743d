package domain

import "testing"

func TestAnonymousAt(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:50000": "anonymous@127.0.0.1", "192.0.2.7:80": "anonymous@192.0.2.7", "[2001:db8::1]:80": "anonymous@2001:db8::1",
		"[fe80::1%eth0]:80": "anonymous@fe80::1%eth0", "": "anonymous", "@": "anonymous", ":80": "anonymous",
	} {
		got := AnonymousAt(address)
		if got != want {
			t.Errorf("%q: got %q, want %q", address, got, want)
		}
		if id := IdentityOf(got); id != "anonymous" {
			t.Errorf("%q: the identity is %q", got, id)
		}
	}
	for _, actor := range []string{"ledge", "anna", "anonymousx@y", ""} {
		if got := IdentityOf(actor); got != actor {
			t.Errorf("%q: got %q", actor, got)
		}
	}
}

package domain

import "testing"

func TestClientOf(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:4711": "127.0.0.1", "[::1]:80": "::/64", "[2001:db8:1:2:3::4]:80": "2001:db8:1:2::/64", "[fe80::1%eth0]:80": "fe80::/64",
		"[::ffff:10.0.0.1]:80": "10.0.0.1", "internal": "", "": "", "[nonsense]:80": "[nonsense]",
	} {
		if got := ClientOf(address); got != want {
			t.Errorf("%s: got %q, want %q", address, got, want)
		}
	}
}

// Each client gets three quarters of what is left, and something always stays for the next one.
func TestShare(t *testing.T) {
	for _, test := range []struct{ held, free, want int64 }{
		{0, 1, 1}, {0, 8, 6}, {6, 2, 6}, {0, 2, 2}, {0, 1000, 750}, {750, 250, 750}, {0, 250, 188}, {100, -5, 75},
	} {
		if got := Share(test.held, test.free); got != test.want {
			t.Errorf("Share(%d, %d): got %d, want %d", test.held, test.free, got, test.want)
		}
	}
}

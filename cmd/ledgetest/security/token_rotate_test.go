package security

import (
	"net/http"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// TestTokenRotate gives a token new secrets: the old one is valid for the overlap, also after a restart, and not with an overlap of 0. An
// expired token gets none. Before, its new secret was printed and never worked.
func TestTokenRotate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := ledgetest.Start(t, dir, "--secure")
	command := func(args ...string) string {
		t.Helper()
		out, stderr, code := ledgetest.Run(t, append(args, "--data-dir", dir)...)
		if code != exit.OK {
			t.Fatalf("%v: %d %s", args, code, stderr)
		}
		return strings.TrimSpace(out)
	}
	valid := func(what, secret string, want bool) {
		t.Helper()
		a, err := ledgetest.OverTLS(t, ledgetest.CA(p), ledgetest.Client13)(p.Metadata+"/api/v2/device/all", "Authorization", "Bearer "+secret)
		if err != nil || (a.Status == http.StatusOK) != want {
			t.Errorf("%s: %d %s %v, want valid: %t", what, a.Status, a.Body, err, want)
		}
	}
	first := command("token", "create", "reader", "--role", "viewer")
	second := command("token", "rotate", "reader")
	valid("the old secret in the overlap", first, true)
	valid("the new secret", second, true)
	if list := command("token", "list"); !strings.Contains(list, "secret, the old one until ") {
		t.Errorf("the list does not show the overlap: %s", list)
	}
	p.Stop()
	p = ledgetest.Start(t, dir, "--secure")
	valid("the old secret after a restart", first, true)
	third := command("token", "rotate", "reader", "--overlap", "0")
	valid("the first secret after a second rotation", first, false)
	valid("the second secret without an overlap", second, false)
	valid("the third secret", third, true)
	if list := command("token", "list"); strings.Contains(list, "the old one") {
		t.Errorf("the list shows an overlap: %s", list)
	}
	if log := command("log", "--type", "token.*"); strings.Count(log, "token.rotated/1") != 2 || strings.Contains(log, third) {
		t.Errorf("the log: %s", log)
	}
	if _, stderr, code := ledgetest.Run(t, "token", "rotate", "reader", "--overlap", "soon", "--data-dir", dir); code != exit.Usage || !strings.Contains(stderr, "write it as 24h or 7d") {
		t.Errorf("a bad overlap: %d %s", code, stderr)
	}
	command("token", "create", "short-lived", "--role", "viewer", "--expires", "1s")
	ledgetest.Until(t, "no new secret for an expired token", func() bool {
		out, stderr, code := ledgetest.Run(t, "token", "rotate", "short-lived", "--overlap", "0", "--data-dir", dir)
		return code != exit.OK && out == "" && strings.Contains(stderr, `"short-lived" has expired, and a new secret would not be valid either; revoke it and create a new one`)
	})
}

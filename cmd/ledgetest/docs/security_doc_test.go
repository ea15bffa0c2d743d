package docs

import (
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"ledge/bridge/tlstest"
	"ledge/cmd/ledgetest"
)

// securityPages are the pages of docs about secure mode, in the order in which a newcomer reads them.
var securityPages = []string{"reference/security.md", "reference/secrets.md", "reference/users.md", "reference/zeromq.md"}

// securityBlocks returns the shell blocks of the pages about secure mode.
func securityBlocks(t *testing.T) []string {
	t.Helper()
	blocks := ledgetest.ShellBlocks(ledgetest.MustReadDocs(t, securityPages...))
	if len(blocks) != 6 {
		t.Fatalf("%v have %d shell blocks, want 6: each needs a test", securityPages, len(blocks))
	}
	return blocks
}

// TestSecurityDocFirstStart types the commands of the modes, of users and tokens and of CURVE, on an empty folder.
func TestSecurityDocFirstStart(t *testing.T) {
	t.Parallel()
	d, blocks := ledgetest.NewDesk(t), securityBlocks(t)
	modes, users := ledgetest.Lines(blocks[0]), ledgetest.Lines(blocks[4])
	p := d.Serve(modes[0], "data")
	d.Run(modes[1], "")
	ping := strings.ReplaceAll(modes[2], ":59881", strings.TrimPrefix(ledgetest.At(t, p.Metadata, "", "x"), "://x"))
	if out := d.Run(ping, ""); !strings.Contains(out, "core-metadata") {
		t.Errorf("%s: %s", modes[2], out)
	}
	for _, running := range []bool{true, false} {
		if !running {
			p.Stop()
		}
		d.ManageUsers(users)
	}
	p = d.Serve(modes[0], "data")
	if key := strings.TrimSpace(d.Run(blocks[5], "")); len(key) != 40 {
		t.Errorf("%s prints %q, want a key of 40 characters", blocks[5], key)
	}
	s := &ledgetest.Secured{Node: p}
	s.Trust(t)
	if _, a := s.Login("admin", "correct horse battery"); a.Status != http.StatusOK {
		t.Errorf("login with the new password: %d %s", a.Status, a.Body)
	}
}

// TestSecurityDocCertificate starts with certificate files.
func TestSecurityDocCertificate(t *testing.T) {
	t.Parallel()
	d, blocks := ledgetest.NewDesk(t), securityBlocks(t)
	authority := tlstest.NewAuthority(t, "plant")
	certificate, key := authority.Sign(t, "edge")
	ledgetest.MustWrite(t, d.Path("etc/fullchain.pem"), certificate)
	ledgetest.MustWrite(t, d.Path("etc/privkey.pem"), key)
	p := d.Serve(strings.TrimSpace(blocks[1])+" --data-dir data", "data")
	if a, err := ledgetest.OverTLS(t, authority.PEM, ledgetest.Client13)(ledgetest.At(t, p.Metadata, "https", "127.0.0.1") + "/api/v2/ping"); err != nil || a.Status != http.StatusOK {
		t.Errorf("ping: %d %v", a.Status, err)
	}
}

// TestSecurityDocSecretKey encrypts the secret store, reads it with age, and replaces its key.
func TestSecurityDocSecretKey(t *testing.T) {
	t.Parallel()
	d, blocks := ledgetest.NewDesk(t), securityBlocks(t)
	version := regexp.MustCompile(`filippo\.io/age (v\S+)`).FindStringSubmatch(ledgetest.MustRead(t, "../../../go.mod"))[1]
	install := exec.CommandContext(t.Context(), "go", "install", "filippo.io/age/cmd/...@"+version)
	install.Env = append(os.Environ(), "CGO_ENABLED=0", "GOBIN="+d.Path("tools"))
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("age's commands are built from their Go module, which cannot be downloaded: %s", out)
	}
	first, rekey := ledgetest.Lines(blocks[2]), strings.TrimSpace(blocks[3])
	d.Run(first[0], "")
	d.Run(first[1], "")
	d.Serve("env "+first[2], "var").Stop()
	show := regexp.MustCompile("`(tail -n [^`]*)`").FindStringSubmatch(ledgetest.MustReadDocs(t, "reference/secrets.md"))[1]
	show = "cd /var/lib/ledge && " + show
	want := d.Run(show, "")
	if !strings.Contains(want, "argon2id") || strings.Contains(ledgetest.MustRead(t, d.Path("var/secrets.json")), "argon2id") {
		t.Errorf("the store in clear text: %s", want)
	}
	d.Run(strings.ReplaceAll(first[0], "secret.key", "new.key"), "")
	d.Run(rekey, "")
	if got := d.Run(strings.ReplaceAll(show, "secret.key", "credentials/ledge-secret-key"), ""); got != want {
		t.Errorf("after rekey: %s, want %s", got, want)
	}
	d.Serve("env "+first[2], "var").Stop()
}

package secrets

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/domain"
	"ledge/store/disktest"
)

const password = "s3cr3t-Pässwörd"

func mustOpen(t *testing.T, name string) *File {
	t.Helper()
	f, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func mustPut(t *testing.T, s Secrets, path string, data map[string]string) {
	t.Helper()
	if err := s.Put(path, data); err != nil {
		t.Fatal(err)
	}
}

func TestPutGet(t *testing.T) {
	name := filepath.Join(t.TempDir(), "secrets.json")
	f := mustOpen(t, name)
	notifications, rest := f.Of("support-notifications"), f.Of("device-rest")
	if _, ok := notifications.Get("smtp"); ok {
		t.Error("there is a secret in a new file")
	}
	mustPut(t, notifications, "smtp", map[string]string{"username": "me", "password": "old"})
	mustPut(t, rest, "smtp", map[string]string{"other": "service"})
	mustPut(t, notifications, "/smtp/", map[string]string{"password": password})
	for _, f := range []*File{f, mustOpen(t, name)} {
		got, ok := f.Of("support-notifications").Get("smtp")
		if want := map[string]string{"password": password}; !ok || !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if got, _ := f.Of("device-rest").Get("smtp"); got["other"] != "service" {
			t.Errorf("of the other service: got %v", got)
		}
		got["password"] = "changed by a caller"
	}
	if got, _ := notifications.Get("smtp"); got["password"] != password {
		t.Error("a caller has changed the secret")
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("got mode %v, %v; want 0600", info.Mode(), err)
	}
	if left, _ := filepath.Glob(name + ".*"); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct {
		text string
		mode os.FileMode
		want string
	}{
		{"{}", 0o640, "has mode 0640, by which others than its owner can get at it; run `chmod 600 "},
		{"{}", 0o604, "run `chmod 600 "},
		{`{"a":{"b":{"c":"` + password + `"}}`, 0o600, "is not what Ledge has written; restore it from a backup"},
		{`{"a":{"b":"` + password + `"}}`, 0o600, "is not what Ledge has written"},
		{"null", 0o600, "is not what Ledge has written"},
		{"", 0o600, "is not what Ledge has written"},
	} {
		name := filepath.Join(t.TempDir(), "secrets.json")
		if err := os.WriteFile(name, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, c.mode); err != nil {
			t.Fatal(err)
		}
		_, err := Open(name)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), password) {
			t.Errorf("%q with mode %o: got %v, want %q", c.text, c.mode, err, c.want)
		}
	}
}

// What a crash left of a write is gone with the next start, and the old file is in force.
func TestOpenAfterCrash(t *testing.T) {
	name := filepath.Join(t.TempDir(), "secrets.json")
	mustPut(t, mustOpen(t, name).Of("s"), "p", map[string]string{"k": password})
	if err := os.WriteFile(name+".new", []byte(`{"s":{"p":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, _ := mustOpen(t, name).Of("s").Get("p"); got["k"] != password {
		t.Errorf("got %v", got)
	}
	if _, err := os.Stat(name + ".new"); err == nil {
		t.Error("half a file is left")
	}
}

func TestPutIsBounded(t *testing.T) {
	f := mustOpen(t, filepath.Join(t.TempDir(), "secrets.json"))
	err := f.Of("s").Put("p", map[string]string{"k": strings.Repeat(password, maxBytes/len(password))})
	if domain.CodeOf(err) != domain.TooLarge || strings.Contains(err.Error(), password) {
		t.Errorf("got %.200v", err)
	}
	mustPut(t, f.Of("s"), "p", map[string]string{"k": password})
}

func TestPutOnFullDisk(t *testing.T) {
	f := mustOpen(t, filepath.Join(disktest.New(t, 64), "secrets.json"))
	mustPut(t, f.Of("s"), "p", map[string]string{"k": password})
	err := f.Of("s").Put("q", map[string]string{"k": strings.Repeat("x", 100_000)})
	if domain.CodeOf(err) != domain.Full {
		t.Errorf("got %.200v, want a Full Error", err)
	}
	if _, ok := f.Of("s").Get("q"); ok {
		t.Error("a secret that is not on disk is in force")
	}
	if got, _ := mustOpen(t, f.name).Of("s").Get("p"); got["k"] != password {
		t.Errorf("got %v", got)
	}
}

func TestFormattingShowsNothing(t *testing.T) {
	f := mustOpen(t, filepath.Join(t.TempDir(), "secrets.json"))
	s := f.Of("s")
	mustPut(t, s, "p", map[string]string{"k": password})
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		for _, v := range []any{f, s, struct{ S Secrets }{s}} {
			if got := fmt.Sprintf(verb, v); strings.Contains(got, password) || strings.Contains(got, "s3cr3t") {
				t.Errorf("%s of %T: got %s", verb, v, got)
			}
		}
	}
}

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
	f, err := OpenWith(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func mustPut(t *testing.T, s Secrets, path string, data map[string]string) {
	t.Helper()
	if err := s.Put(path, data, anywhere); err != nil {
		t.Fatal(err)
	}
}

// here is the use of the tests.
var (
	here     = domain.SecretUse{Channel: domain.ChannelMQTT, Host: "broker", Port: 8883}
	anywhere = []domain.SecretUse{here}
)

func of(f *File, service string) Secrets { return f.Of(service, nil) }

// get returns a secret, where its use here is allowed.
func get(s Secrets, path string) (map[string]string, bool) {
	data, err := s.Use(path, here)
	return data, err == nil
}

func TestPutUse(t *testing.T) {
	name := filepath.Join(t.TempDir(), "secrets.json")
	f := mustOpen(t, name)
	notifications, rest := of(f, "support-notifications"), of(f, "device-rest")
	if _, ok := get(notifications, "smtp"); ok {
		t.Error("there is a secret in a new file")
	}
	mustPut(t, notifications, "smtp", map[string]string{"username": "me", "password": "old"})
	mustPut(t, rest, "smtp", map[string]string{"other": "service"})
	mustPut(t, notifications, "/smtp/", map[string]string{"password": password})
	for _, f := range []*File{f, mustOpen(t, name)} {
		got, ok := get(of(f, "support-notifications"), "smtp")
		if want := map[string]string{"password": password}; !ok || !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if got, _ := get(of(f, "device-rest"), "smtp"); got["other"] != "service" {
			t.Errorf("of the other service: got %v", got)
		}
		got["password"] = "changed by a caller"
	}
	if got, _ := get(notifications, "smtp"); got["password"] != password {
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
		{`{"a":{"b":{"c":"` + password + `"}}`, 0o600, "is not what Ledge has written; copy it from a folder that `ledge restore` makes"},
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
		_, err := OpenWith(name, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), password) {
			t.Errorf("%q with mode %o: got %v, want %q", c.text, c.mode, err, c.want)
		}
	}
}

// What a crash left of a write is gone with the next start, and the old file is in force.
func TestOpenAfterCrash(t *testing.T) {
	name := filepath.Join(t.TempDir(), "secrets.json")
	mustPut(t, of(mustOpen(t, name), "s"), "p", map[string]string{"k": password})
	if err := os.WriteFile(name+".new", []byte(`{"s":{"p":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, _ := get(of(mustOpen(t, name), "s"), "p"); got["k"] != password {
		t.Errorf("got %v", got)
	}
	if _, err := os.Stat(name + ".new"); err == nil {
		t.Error("half a file is left")
	}
}

func TestPutIsBounded(t *testing.T) {
	f := mustOpen(t, filepath.Join(t.TempDir(), "secrets.json"))
	err := of(f, "s").Put("p", map[string]string{"k": strings.Repeat(password, maxBytes/len(password))}, nil)
	if domain.CodeOf(err) != domain.TooLarge || strings.Contains(err.Error(), password) {
		t.Errorf("got %.200v", err)
	}
	mustPut(t, of(f, "s"), "p", map[string]string{"k": password})
}

func TestPutOnFullDisk(t *testing.T) {
	f := mustOpen(t, filepath.Join(disktest.New(t, 64), "secrets.json"))
	mustPut(t, of(f, "s"), "p", map[string]string{"k": password})
	err := of(f, "s").Put("q", map[string]string{"k": strings.Repeat("x", 100_000)}, nil)
	if domain.CodeOf(err) != domain.Full {
		t.Errorf("got %.200v, want a Full Error", err)
	}
	if _, ok := get(of(f, "s"), "q"); ok {
		t.Error("a secret that is not on disk is in force")
	}
	if got, _ := get(of(mustOpen(t, f.name), "s"), "p"); got["k"] != password {
		t.Errorf("got %v", got)
	}
}

func TestFormattingShowsNothing(t *testing.T) {
	f := mustOpen(t, filepath.Join(t.TempDir(), "secrets.json"))
	s := of(f, "s")
	mustPut(t, s, "p", map[string]string{"k": password})
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		for _, v := range []any{f, s, struct{ S Secrets }{s}} {
			if got := fmt.Sprintf(verb, v); strings.Contains(got, password) || strings.Contains(got, "s3cr3t") {
				t.Errorf("%s of %T: got %s", verb, v, got)
			}
		}
	}
}

// A secret is given only for what it is stored for, and replacing it replaces that too.
func TestUses(t *testing.T) {
	name := filepath.Join(t.TempDir(), "secrets.json")
	f := mustOpen(t, name)
	mustPut(t, of(f, "s"), "p", map[string]string{"k": password})
	operator := domain.SecretUse{Channel: domain.ChannelEmail, Host: "mail", Port: 25, AllowInsecure: true}
	for _, c := range []struct {
		use  domain.SecretUse
		want string
	}{
		{here, ""},
		{domain.SecretUse{Channel: "MQTT", Host: "BROKER.", Port: 8883}, ""},
		{operator, ""},
		{domain.SecretUse{Channel: "MQTT", Host: "broker", Port: 8883, AllowInsecure: true}, "only over TLS with a verified certificate"},
		{domain.SecretUse{Channel: "EMAIL", Host: "broker", Port: 8883}, `may not be used for EMAIL at broker:8883; post it again with "allowedUses":[{"channel":"EMAIL","host":"broker","port":8883}]`},
		{domain.SecretUse{Channel: "MQTT", Host: "broker", Port: 8884}, "may not be used"},
		{domain.SecretUse{Channel: "MQTT", Host: "broker.evil", Port: 8883}, "may not be used"},
		{domain.SecretUse{Channel: "MQTT", Host: "::1", Port: 8883}, "may not be used for MQTT at [::1]:8883"},
		{domain.SecretUse{Channel: "MQTT", Host: "mail", Port: 25}, "may not be used"},
	} {
		for _, f := range []*File{f, mustOpen(t, name)} {
			data, err := f.Of("s", Permitted{"/p/": {operator}}).Use("p", c.use)
			if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || data != nil || strings.Contains(err.Error(), password)) {
				t.Errorf("%v: got %v, want %q", c.use, err, c.want)
			}
		}
	}
	if err := of(f, "s").Put("p", map[string]string{"k": "new"}, nil); err != nil {
		t.Fatal(err)
	}
	if _, ok := get(of(f, "s"), "p"); ok {
		t.Error("the uses of the old secret are those of the new one")
	}
}

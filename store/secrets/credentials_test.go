package secrets

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ledge/domain"
	"ledge/store/disktest"
)

const hash = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNoaGFzaGhhc2g"

func mustPutCredential(t *testing.T, f *File, id, hash string) {
	t.Helper()
	if err := f.PutCredential(id, hash); err != nil {
		t.Fatal(err)
	}
}

// holds checks which credentials f and a fresh reader of its file have.
func holds(t *testing.T, f *File, want map[string]string, absent ...string) {
	t.Helper()
	for where, f := range map[string]*File{"in memory": f, "on disk": mustOpen(t, f.name)} {
		for id, want := range want {
			if got, ok := f.Credential(id); got != want || !ok {
				t.Errorf("%s: %s: got %q, %t", where, id, got, ok)
			}
		}
		for _, id := range absent {
			if got, ok := f.Credential(id); got != "" || ok {
				t.Errorf("%s: %s: got %q, want none", where, id, got)
			}
		}
	}
}

func TestCredentials(t *testing.T) {
	f := mustOpen(t, filepath.Join(t.TempDir(), "secrets.json"))
	mustPut(t, of(f, "s"), "p", map[string]string{"k": password})
	for _, id := range []string{"a", "b", "c"} {
		mustPutCredential(t, f, id, hash+id)
	}
	holds(t, f, map[string]string{"a": hash + "a", "b": hash + "b", "c": hash + "c"}, "d")
	mustPutCredential(t, f, "a", "other")
	if err := f.RemoveCredentials(map[string]bool{"b": true}); err != nil {
		t.Error(err)
	}
	holds(t, f, map[string]string{"a": "other", "c": hash + "c"}, "b")
	if err := f.KeepCredentials(map[string]bool{"c": true, "never stored": true}); err != nil {
		t.Error(err)
	}
	holds(t, f, map[string]string{"c": hash + "c"}, "a", "b", "never stored")
	if got, _ := get(of(mustOpen(t, f.name), "s"), "p"); got["k"] != password {
		t.Errorf("the secret beside them: got %v", got)
	}
}

// A removal that changes nothing writes nothing: each start calls KeepCredentials.
func TestNothingToRemove(t *testing.T) {
	f := mustOpen(t, filepath.Join(t.TempDir(), "secrets.json"))
	if err := f.KeepCredentials(nil); err != nil {
		t.Error(err)
	}
	if err := f.RemoveCredentials(map[string]bool{"a": true}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(f.name); err == nil {
		t.Error("a file was written")
	}
}

func TestKey(t *testing.T) {
	f := mustOpen(t, filepath.Join(t.TempDir(), "secrets.json"))
	got := make([][]byte, 8)
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() {
			key, err := f.Key("login")
			if err != nil {
				t.Error(err)
			}
			got[i] = key
		})
	}
	all.Wait()
	for _, key := range got {
		if len(key) != 32 || !bytes.Equal(key, got[0]) {
			t.Errorf("got keys %x and %x", key, got[0])
		}
	}
	clear(got[1]) // a caller's copy
	for _, f := range []*File{f, mustOpen(t, f.name)} {
		if key, err := f.Key("login"); err != nil || !bytes.Equal(key, got[0]) {
			t.Errorf("got %x, %v; want %x", key, err, got[0])
		}
		if key, err := f.Key("curve"); err != nil || bytes.Equal(key, got[0]) {
			t.Errorf("of another name: got %x, %v", key, err)
		}
	}
}

// A file of an earlier version has no credentials. It opens, and keeps its secrets when credentials come.
func TestCredentialsInOlderFile(t *testing.T) {
	for _, old := range []string{
		`{"s":{"p":{"k":"v"}}}`,
		`{"secrets":{"s":{"p":{"k":"v"}}},"uses":{"s":{"p":[{"channel":"MQTT","host":"broker","port":8883}]}},"sum":"4ca436b3d894dd751eb5ef8e3bca5edf0c191e29ad830aa2d243f4b5a046a516"}`,
	} {
		name := filepath.Join(t.TempDir(), "secrets.json")
		if err := os.WriteFile(name, []byte(old), 0o600); err != nil {
			t.Fatal(err)
		}
		f := mustOpen(t, name)
		mustPutCredential(t, f, "a", hash)
		holds(t, f, map[string]string{"a": hash})
		if got := mustOpen(t, name).now().secrets["s"]["p"]["k"]; got != "v" {
			t.Errorf("the secret of %s: got %q", old, got)
		}
	}
}

// What a crash left of a write is removed by the next start, and the old file is in force.
func TestCredentialsAfterCrash(t *testing.T) {
	f := mustOpen(t, filepath.Join(t.TempDir(), "secrets.json"))
	mustPutCredential(t, f, "a", hash)
	if err := os.WriteFile(f.name+".new", []byte(`{"secrets":{},"credentials":{"b":`), 0o600); err != nil {
		t.Fatal(err)
	}
	holds(t, f, map[string]string{"a": hash}, "b")
}

func TestCredentialsOnFullDisk(t *testing.T) {
	f := mustOpen(t, filepath.Join(disktest.New(t, 64), "secrets.json"))
	mustPutCredential(t, f, "a", hash)
	if err := f.PutCredential("b", strings.Repeat("x", 100_000)); domain.CodeOf(err) != domain.Full {
		t.Errorf("got %.200v, want a Full Error", err)
	}
	holds(t, f, map[string]string{"a": hash}, "b")
	fill := filepath.Join(filepath.Dir(f.name), "fill")
	_ = os.WriteFile(fill, make([]byte, 64<<10), 0o600) // as far as it goes
	if key, err := f.Key("login"); domain.CodeOf(err) != domain.Full {
		t.Errorf("got key %x, %v; want a Full Error", key, err)
	}
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Key("login"); err != nil {
		t.Error(err)
	}
}

// The promised 10,000 users and 100,000 tokens have room beside as many secrets as the file may have. More is refused.
func TestCredentialsAreBounded(t *testing.T) {
	f := mustOpen(t, filepath.Join(t.TempDir(), "secrets.json"))
	mustPut(t, of(f, "s"), "p", map[string]string{"k": strings.Repeat("x", maxBytes-1000)})
	many := map[string]string{}
	for i := range 110_000 {
		many[fmt.Sprintf("0192f0c1-7a5e-7b3c-9c1d-%012d", i)] = hash
	}
	c := f.now()
	c.credentials = many
	f.hold(c)
	mustPutCredential(t, f, "a", hash)
	if got := mustOpen(t, f.name).now(); len(got.credentials) != 110_001 || got.secrets["s"] == nil {
		t.Errorf("got %d credentials", len(got.credentials))
	}
	if err := f.PutCredential("b", strings.Repeat("x", maxCredentialBytes)); domain.CodeOf(err) != domain.TooLarge {
		t.Errorf("got %.200v, want a TooLarge Error", err)
	}
	if _, err := f.Key(strings.Repeat("x", maxKeyBytes)); domain.CodeOf(err) != domain.TooLarge {
		t.Errorf("of a key: got %.200v, want a TooLarge Error", err)
	}
	holds(t, f, map[string]string{"a": hash}, "b")
}

package secrets

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"ledge/store/disktest"
)

// mustKey returns a new key, and its text.
func mustKey(t *testing.T) (*AgeKey, string) {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	key, err := ParseKey("# created: 2026-01-01T00:00:00Z\n# public key: " + identity.Recipient().String() + "\n" + identity.String() + "\n")
	if err != nil {
		t.Fatal(err)
	}
	return key, identity.String()
}

func mustOpenWith(t *testing.T, name string, key *AgeKey) *File {
	t.Helper()
	f, err := OpenWith(name, key)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func mustReadFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// plainFile returns the name of a file that is not encrypted and has a secret and a credential.
func plainFile(t *testing.T) string {
	t.Helper()
	f := mustOpen(t, filepath.Join(t.TempDir(), "secrets.json"))
	mustPut(t, of(f, "s"), "p", map[string]string{"k": password})
	mustPutCredential(t, f, "id", hash)
	return f.name
}

// hasAll checks that the file has what plainFile has put there, for the key.
func hasAll(t *testing.T, name string, key *AgeKey) {
	t.Helper()
	f := mustOpenWith(t, name, key)
	if got, _ := get(of(f, "s"), "p"); got["k"] != password {
		t.Errorf("the secret: got %v", got)
	}
	if got, _ := f.Credential("id"); got != hash {
		t.Errorf("the credential: got %q", got)
	}
}

func isPlain(text []byte) bool {
	return bytes.Contains(text, []byte(password)) || bytes.Contains(text, []byte("argon2id"))
}

// A key encrypts the file with the next start; another key, or none, does not open it.
func TestEncryption(t *testing.T) {
	name := plainFile(t)
	key, _ := mustKey(t)
	hasAll(t, name, key)
	if text := mustReadFile(t, name); isPlain(text) || !isEncrypted(text) {
		t.Errorf("the first start with a key: got %.300q", text)
	}
	if info, err := os.Stat(name); err != nil || info.Mode() != 0o600 {
		t.Errorf("got mode %v, %v", info.Mode(), err)
	}
	before := mustReadFile(t, name)
	hasAll(t, name, key)
	if !bytes.Equal(before, mustReadFile(t, name)) {
		t.Error("the second start with the key has written the file again")
	}
	mustPutCredential(t, mustOpenWith(t, name, key), "later", hash)
	if text := mustReadFile(t, name); isPlain(text) || !isEncrypted(text) {
		t.Errorf("after a change: got %.300q", text)
	}
	hasAll(t, name, key)
	other, _ := mustKey(t)
	for _, c := range []struct {
		key  *AgeKey
		want string
	}{{nil, "no key is given; give the key"}, {other, "encrypted with another key; give that one"}} {
		if _, err := OpenWith(name, c.key); !isKey(err) || IsDamage(err) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %q", err, c.want)
		}
		if whole, err := Check(name, c.key); whole || err != nil {
			t.Errorf("Check: got %t, %v", whole, err)
		}
	}
	if whole, err := Check(name, key); !whole || err != nil {
		t.Errorf("Check with the key: got %t, %v", whole, err)
	}
}

func TestRekey(t *testing.T) {
	name := plainFile(t)
	first, _ := mustKey(t)
	second, _ := mustKey(t)
	for _, c := range []struct{ from, to *AgeKey }{{nil, first}, {first, second}, {second, nil}, {nil, nil}, {nil, second}} {
		if there, err := Rekey(name, c.from, c.to); !there || err != nil {
			t.Fatalf("got %t, %v", there, err)
		}
		if got := isEncrypted(mustReadFile(t, name)); got != (c.to != nil) {
			t.Errorf("encrypted: got %t", got)
		}
		hasAll(t, name, c.to)
	}
	before := mustReadFile(t, name)
	for _, wrong := range []*AgeKey{nil, first} {
		if there, err := Rekey(name, wrong, nil); there || !isKey(err) {
			t.Errorf("got %t, %v; want an error of the key", there, err)
		}
	}
	if !bytes.Equal(before, mustReadFile(t, name)) {
		t.Error("a refused change of the key has changed the file")
	}
	if there, err := Rekey(filepath.Join(t.TempDir(), "secrets.json"), nil, first); there || err != nil {
		t.Errorf("without a file: got %t, %v", there, err)
	}
}

// Every flip of a bit and every cut is found as damage, with the key and without.
func TestEncryptedDamageIsFound(t *testing.T) {
	name := plainFile(t)
	key, _ := mustKey(t)
	hasAll(t, name, key)
	text := mustReadFile(t, name)
	holdsDamage := func(what string, damaged []byte) {
		t.Helper()
		if err := os.WriteFile(name, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, key := range []*AgeKey{key, nil} {
			if whole, err := Check(name, key); whole || !IsDamage(err) || !strings.Contains(err.Error(), "ledge restore") {
				t.Fatalf("%s: got %t, %v; want damage", what, whole, err)
			}
		}
	}
	for i := range text {
		flipped := bytes.Clone(text)
		flipped[i] ^= 1 << (i % 8)
		holdsDamage(fmt.Sprintf("byte %d", i), flipped)
		holdsDamage(fmt.Sprintf("cut at %d", i), text[:i])
	}
}

// Content that age refuses is damage with the key, even where somebody has made the outer sum right.
func TestForgedOuterSum(t *testing.T) {
	name := plainFile(t)
	key, _ := mustKey(t)
	hasAll(t, name, key)
	text := mustReadFile(t, name)
	for _, at := range []int{len(text) - 1, len(text) - 40, sumEnd + 30} {
		inner := bytes.Clone(text[sumEnd+1:])
		inner[at-sumEnd-1] ^= 1
		if err := os.WriteFile(name, append([]byte(outerLine(inner)), inner...), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenWith(name, key); err == nil {
			t.Errorf("byte %d: opened", at)
		}
	}
}

// A disk without room for the encrypted file leaves the old one, and the error says so.
func TestEncryptOnFullDisk(t *testing.T) {
	dir := disktest.New(t, 64)
	plain := plainFile(t)
	name := filepath.Join(dir, "secrets.json")
	if err := os.WriteFile(name, mustReadFile(t, plain), 0o600); err != nil {
		t.Fatal(err)
	}
	fill := filepath.Join(dir, "fill")
	_ = os.WriteFile(fill, make([]byte, 64<<10), 0o600) // as far as it goes
	key, _ := mustKey(t)
	if _, err := OpenWith(name, key); err == nil || !strings.Contains(err.Error(), "no space") {
		t.Errorf("got %v", err)
	}
	hasAll(t, name, nil)
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	hasAll(t, name, key)
}

func TestParseKeyRefuses(t *testing.T) {
	key, text := mustKey(t)
	for _, c := range []struct{ text, want string }{
		{"", "has no key; make a key file with `age-keygen -o FILE`"},
		{"# only a comment\n", "has no key"},
		{strings.ToLower(text), "not an X25519 identity"},
		{text[:len(text)-1], "not an X25519 identity"},
		{text + "\n" + text, "more than one key"},
		{"passphrase", "not an X25519 identity"},
	} {
		if _, err := ParseKey(c.text); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), text[16:40]) {
			t.Errorf("%.20q: got %v, want %q", c.text, err, c.want)
		}
	}
	f := &File{key: key}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		for _, v := range []any{key, f} {
			if got := fmt.Sprintf(verb, v); strings.Contains(got, "identity:{") || strings.Contains(got, text[16:]) || strings.Contains(got, "secretKey") {
				t.Errorf("%s: got %s", verb, got)
			}
		}
	}
}

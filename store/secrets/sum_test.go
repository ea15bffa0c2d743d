package secrets

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every flip of a bit in the file is found, and no error shows a secret. A file without a checksum, as earlier versions have
// written, is read and gets one.
func TestFlipsAreFound(t *testing.T) {
	name := filepath.Join(t.TempDir(), "secrets.json")
	old := `{"device-rest":{"smtp":{"password":"` + password + `"}}}`
	if err := os.WriteFile(name, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	f := mustOpen(t, name)
	if got, err := f.Of("device-rest", Permitted{"smtp": anywhere}).Use("smtp", here); got["password"] != password {
		t.Fatalf("of an earlier version: %v, %v", got, err)
	}
	if got, ok := get(of(f, "device-rest"), "smtp"); ok {
		t.Fatalf("of an earlier version, for any use: %v", got)
	}
	mustPut(t, of(f, "device-rest"), "sum", map[string]string{"sum": "sum"})
	mustPutCredential(t, f, "id", hash)
	key, err := f.Key("login")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := range text {
		for bit := range 8 {
			flipped := bytes.Clone(text)
			flipped[i] ^= 1 << bit
			content, err := decode(flipped)
			if err != nil && strings.Contains(cure(name, err).Error(), "s3cr3t") {
				t.Fatalf("byte %d, bit %d: %v", i, bit, err)
			}
			if err == nil && (content.secrets["device-rest"]["smtp"]["password"] != password || content.uses["device-rest"]["sum"][0] != here || content.credentials["id"] != hash || !bytes.Equal(content.keys["login"], key)) {
				t.Fatalf("byte %d, bit %d: %v", i, bit, content)
			}
		}
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenWith(name, nil); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "ledge restore") {
		t.Errorf("got %v", err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("elsewhere", name); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenWith(name, nil); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("a link: got %v", err)
	}
}

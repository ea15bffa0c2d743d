package security

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// Damage of an encrypted store is found by verify, with the key and without, and by a start.
func TestEncryptedStoreIsVerified(t *testing.T) {
	key := ledgetest.KeyFile(t)
	dir, file := ledgetest.WithSecret(t, key)
	for given, want := range map[string]string{key: "", "": "without the credential ledge-secret-key only its checksum is compared", ledgetest.KeyFile(t): "encrypted with another key"} {
		ledgetest.SetKey(t, given)
		out, log, code := ledgetest.Run(t, "verify", "--data-dir", dir)
		if code != exit.OK || want != "" && !strings.Contains(out, want) || want == "" && strings.Contains(out, "checksum is compared") {
			t.Errorf("verify: exit code %d, %s%s, want %q", code, out, log, want)
		}
	}
	whole := []byte(ledgetest.MustRead(t, file))
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-20] ^= 4
	for what, text := range map[string][]byte{"a flipped bit": flipped, "a truncated file": whole[:len(whole)/2], "an empty file": {}} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if code, log := ledgetest.Refused(t, dir, key); code != exit.Damaged || !strings.Contains(log, "ledge restore") {
			t.Errorf("%s: exit code %d, want %d; %s", what, code, exit.Damaged, log)
		}
		ledgetest.SetKey(t, "")
		if out, _, code := ledgetest.Run(t, "verify", "--data-dir", dir); code != exit.Damaged || !strings.Contains(out, "secrets.json: it is") {
			t.Errorf("%s: verify without the key: exit code %d, %s", what, code, out)
		}
	}
}

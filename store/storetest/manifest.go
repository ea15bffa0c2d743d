package storetest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// ForgetStop leaves a store's folder as a crash does before any block file was full: the manifests say where the logs begin, and nothing more.
func ForgetStop(tb testing.TB, dir string) {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.manifest"))
	if err != nil || len(paths) == 0 {
		tb.Fatalf("%d manifests in %s, %v", len(paths), dir, err)
	}
	for _, path := range paths {
		ChangeManifest(tb, path, func(m map[string]json.RawMessage) {
			delete(m, "end")
			m["segments"] = json.RawMessage("null")
		})
	}
}

// ChangeManifest changes the fields of a manifest, and makes its checksum right.
func ChangeManifest(tb testing.TB, path string, change func(map[string]json.RawMessage)) {
	tb.Helper()
	var file struct {
		Manifest json.RawMessage `json:"manifest"`
		Sum      string          `json:"sum"`
	}
	fields := map[string]json.RawMessage{}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err == nil {
		err = json.Unmarshal(file.Manifest, &fields)
	}
	if err != nil {
		tb.Fatal(err)
	}
	change(fields)
	if file.Manifest, err = json.Marshal(fields); err != nil {
		tb.Fatal(err)
	}
	sum := sha256.Sum256(file.Manifest)
	file.Sum = hex.EncodeToString(sum[:])
	if text, err = json.Marshal(file); err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

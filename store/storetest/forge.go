package storetest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"ledge/store"
	"ledge/store/natsblock"
)

// ForgeLog changes an event in the folder of a stopped store, whose log of changes has one block, with full access: old in the payload
// becomes new, a text of the same length. All chain hashes from there on, and the checksums, are computed again. It returns the sequence of
// the event.
func ForgeLog(tb testing.TB, dir, old, new string) (forged uint64) {
	tb.Helper()
	files, err := store.OpenFiles(tb.Context(), dir)
	if err != nil {
		tb.Fatal(err)
	}
	path := blockOf(tb, dir)
	text, err := os.ReadFile(path)
	if err != nil || len(old) != len(new) {
		tb.Fatal(err, old, new)
	}
	var chain store.Chain
	rest := text
	for e, err := range files.Logs()[0].Linked(tb.Context(), 1, 0) {
		if err != nil {
			tb.Fatal(err)
		}
		record := rest[:binary.LittleEndian.Uint32(rest)&^(1<<31)]
		rest = rest[len(record):]
		data := e.Data
		if forged == 0 && bytes.Contains(data, []byte(old)) {
			forged = e.Seq
			data = bytes.Replace(data, []byte(old), []byte(new), 1)
			before, _, _ := bytes.Cut(record, e.Data)
			copy(record[len(before):], data)
		}
		chain = store.NextChain(chain, e.Seq, e.Header, data)
		if chain != e.Chain {
			replaceChain(tb, record, e.Chain, chain)
			natsblock.ChecksumOf(store.EventsStream, 1).Seal(record)
		}
	}
	if forged == 0 {
		tb.Fatalf("no event has %q", old)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		tb.Fatal(err)
	}
	if err := os.Remove(filepath.Join(filepath.Dir(path), "index.db")); err != nil {
		tb.Fatal(err)
	}
	ForgetStop(tb, dir)
	return forged
}

// replaceChain replaces a chain hash in a record, in the short or the long form.
func replaceChain(tb testing.TB, record []byte, old, new store.Chain) {
	tb.Helper()
	for _, form := range []func([]byte) string{base64.RawURLEncoding.EncodeToString, hex.EncodeToString} {
		if at := bytes.Index(record, []byte(form(old[:]))); at >= 0 {
			copy(record[at:], form(new[:]))
			return
		}
	}
	tb.Fatal("a record has no chain hash")
}

package storetest

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ledge/store"
	"ledge/store/natsblock"
)

// SplitLog splits the log of changes in the folder of a stopped store, which has one block, into several blocks. So a log of some kilobytes
// can be archived. The checksum of a record covers the number of its block.
func SplitLog(tb testing.TB, dir string, blocks int) {
	tb.Helper()
	folder := filepath.Dir(blockOf(tb, dir))
	text, err := os.ReadFile(filepath.Join(folder, "1.blk"))
	if err != nil {
		tb.Fatal(err)
	}
	var records [][]byte
	for len(text) > 0 {
		n := binary.LittleEndian.Uint32(text) &^ (1 << 31)
		records, text = append(records, text[:n]), text[n:]
	}
	if len(records) < blocks {
		tb.Fatalf("%d events, want %d", len(records), blocks)
	}
	for i := range blocks {
		var b []byte
		for _, r := range records[i*len(records)/blocks : (i+1)*len(records)/blocks] {
			natsblock.ChecksumOf(store.EventsStream, uint32(i+1)).Seal(r)
			b = append(b, r...)
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprint(i+1)+".blk"), b, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(folder, "index.db")); err != nil {
		tb.Fatal(err)
	}
	ForgetStop(tb, dir)
}

// blockOf returns the first block file of the log of changes.
func blockOf(tb testing.TB, dir string) string {
	tb.Helper()
	list, _ := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", store.EventsStream, "msgs", "1.blk"))
	if len(list) != 1 {
		tb.Fatalf("%s has %d logs of changes, want 1", dir, len(list))
	}
	return list[0]
}

package storetest

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ledge/store"
	"ledge/store/natsblock"
)

// AgeLog takes the log of changes in the folder of a stopped store, which has one block, apart into as many blocks as there are ages, and
// dates their events back. So a log of some kilobytes can be archived. The chain does not cover when an event was stored; the checksum of
// its record does.
func AgeLog(tb testing.TB, dir string, ages []time.Duration) {
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
	if len(records) < len(ages) {
		tb.Fatalf("%d events, want %d", len(records), len(ages))
	}
	for i, age := range ages {
		var b []byte
		for _, r := range records[i*len(records)/len(ages) : (i+1)*len(records)/len(ages)] {
			b = append(b, backdate(r, i+1, age)...)
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

// backdate returns a record as it would be in another block, stored earlier by an age.
func backdate(record []byte, block int, age time.Duration) []byte {
	r := append([]byte{}, record...)
	binary.LittleEndian.PutUint64(r[12:], binary.LittleEndian.Uint64(r[12:])-uint64(age))
	natsblock.ChecksumOf(store.EventsStream, uint32(block)).Seal(r)
	return r
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

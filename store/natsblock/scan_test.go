package natsblock

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// mustWriteBlock writes a block of some records, and returns its files and where each record begins.
func mustWriteBlock(tb testing.TB, payloads ...[]byte) (f *Files, text []byte, at []int) {
	tb.Helper()
	f = FilesOf(filepath.Join(tb.TempDir(), "S"))
	if err := os.MkdirAll(f.Dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	for i, data := range payloads {
		r := Encode(uint64(i+1), int64(i), "ledge.event.entry", fmt.Appendf(nil, "NATS/1.0\r\nce-id: %d\r\n\r\n", i), data)
		ChecksumOf(f.Stream, 1).Seal(r)
		at, text = append(at, len(text)), append(text, r...)
	}
	if err := os.WriteFile(f.Path(1), text, 0o600); err != nil {
		tb.Fatal(err)
	}
	return f, text, at
}

// scanned returns the sequences of the messages and the bad parts of a block, and holds that together they are all of the file.
func scanned(tb testing.TB, f *Files, chunk int) (seqs []uint64, bad []*Bad) {
	tb.Helper()
	end := int64(0)
	for r, err := range (&Scan{Files: f, Block: 1, Prefix: "ledge.", Chunk: chunk}).Records() {
		if b, ok := errors.AsType[*Bad](err); ok {
			if b.Offset != end || b.Bytes <= 0 {
				tb.Fatalf("%v, want offset %d", b, end)
			}
			bad, end = append(bad, b), b.Offset+b.Bytes
			continue
		}
		if err != nil || r.Offset != end {
			tb.Fatalf("record at %d, %v, want offset %d", r.Offset, err, end)
		}
		seqs, end = append(seqs, r.Seq()), r.End()
	}
	if st, err := os.Stat(f.Path(1)); err != nil || st.Size() != end {
		tb.Fatalf("it ends at %d of %d, %v", end, st.Size(), err)
	}
	return seqs, bad
}

// TestScanNamesEveryFlip flips each byte of a record: the scan names that record, and finds all others.
func TestScanNamesEveryFlip(t *testing.T) {
	f, text, at := mustWriteBlock(t, []byte("one"), []byte("two\r\n\r\n, and its end"), []byte("three"))
	for i := at[1]; i < at[2]; i++ {
		for _, bit := range []byte{1, 0x80} {
			flipped := bytes.Clone(text)
			flipped[i] ^= bit
			if err := os.WriteFile(f.Path(1), flipped, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, chunk := range []int{1, MaxBlock} {
				seqs, bad := scanned(t, f, chunk)
				if fmt.Sprint(seqs) != "[1 3]" || len(bad) != 1 || bad[0].Offset != int64(at[1]) || bad[0].Next != 3 {
					t.Errorf("byte %d ^ %#x, chunks of %d: found %v, bad %v", i-at[1], bit, chunk, seqs, bad)
				}
			}
		}
	}
}

// TestScanNamesTornHead cuts a block inside the head of its last record, as a power cut does: the rest reads as zeros.
// The scan names the part from the first byte of this record on, although its length may look valid.
func TestScanNamesTornHead(t *testing.T) {
	f, text, at := mustWriteBlock(t, []byte("one"), []byte("two"), []byte("three"))
	for kept := range headBytes {
		torn := append(bytes.Clone(text[:at[2]+kept]), make([]byte, 512)...)
		if err := os.WriteFile(f.Path(1), torn, 0o600); err != nil {
			t.Fatal(err)
		}
		seqs, bad := scanned(t, f, MaxBlock)
		if fmt.Sprint(seqs) != "[1 2]" || len(bad) != 1 || bad[0].Offset != int64(at[2]) {
			t.Errorf("%d bytes kept: found %v, bad %v, want one from offset %d", kept, seqs, bad, at[2])
		}
	}
}

// TestScanIsNotHeldUp has a payload with nothing but heads of long records, behind a record that is altered. Without a bound, the scan would
// compute a checksum of megabytes for each.
func TestScanIsNotHeldUp(t *testing.T) {
	head := Encode(2, 0, "ledge.event.entry", nil, nil)[:headBytes+len("ledge.")]
	binary.LittleEndian.PutUint32(head, 4<<20)
	f, text, at := mustWriteBlock(t, []byte("one"), bytes.Repeat(head, (8<<20)/len(head)), []byte("three"))
	text[at[1]] ^= 1
	if err := os.WriteFile(f.Path(1), text, 0o600); err != nil {
		t.Fatal(err)
	}
	seqs, bad := scanned(t, f, MaxBlock)
	if fmt.Sprint(seqs) != "[1]" || len(bad) != 1 || !bad[0].Unknown {
		t.Errorf("found %v, bad %v, want the search given up", seqs, bad)
	}
}

// TestScanOneChunk holds that a scan of one chunk after another comes to all records, and that those of one stay as they are.
func TestScanOneChunk(t *testing.T) {
	var payloads [][]byte
	for i := range 50 {
		payloads = append(payloads, bytes.Repeat([]byte{byte(i)}, i*7))
	}
	f, _, _ := mustWriteBlock(t, payloads...)
	scan := Scan{Files: f, Block: 1, Prefix: "ledge.", Chunk: 1000, OneChunk: true}
	n := 0
	for rounds := 0; n < len(payloads) && rounds < 100; rounds++ {
		var list []Record
		for r, err := range scan.Records() {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, r)
		}
		for _, r := range list {
			if _, _, data := r.Parts(); r.Seq() != uint64(n+1) || !bytes.Equal(data, payloads[n]) {
				t.Fatalf("record %d: sequence %d, %d bytes", n, r.Seq(), len(data))
			}
			n++
			scan.Offset = r.End()
		}
	}
	if n != len(payloads) {
		t.Errorf("found %d of %d", n, len(payloads))
	}
}

// FuzzScan alters a block in any way: the scan ends, what it returns is all of the file, and each message is one that was written.
func FuzzScan(f *testing.F) {
	f.Add(5, []byte{0xff}, 100, 1000)
	f.Add(0, []byte("cmp\x01"), 100, 1000)
	f.Add(60, []byte{0, 0, 0, 0x80, 0, 0}, 90, 64)
	f.Fuzz(func(t *testing.T, at int, over []byte, cut, chunk int) {
		files, text, starts := mustWriteBlock(t, []byte("one"), []byte("two"), bytes.Repeat([]byte("three"), 30), nil)
		whole := bytes.Clone(text)
		if at >= 0 && at < len(text) {
			copy(text[at:], over)
		}
		if cut >= 0 && cut < len(text) {
			text = text[:cut]
		}
		if err := os.WriteFile(files.Path(1), text, 0o600); err != nil {
			t.Fatal(err)
		}
		seqs, _ := scanned(t, files, min(max(chunk, 1), MaxBlock))
		for _, seq := range seqs {
			if seq == 0 || seq > uint64(len(starts)) {
				t.Fatalf("sequence %d was never written", seq)
			}
			from := starts[seq-1]
			if raw, ok := ChecksumOf("S", 1).Whole(whole[from:]); !ok || !bytes.Contains(text, raw) {
				t.Fatalf("the record of %d is not what was written", seq)
			}
		}
	})
}

package transparency

import (
	"crypto/sha256"
	"encoding/binary"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
)

func hashOf(i int64) tlog.Hash { return sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(i))) }

// TestKeptLevels compares the hashes of levels 1 to 3 with the result of package tlog for the same 66,000 groups.
func TestKeptLevels(t *testing.T) {
	k := &kept{file: &memory{}, mark: markOf("n")}
	if err := k.load(); err != nil {
		t.Fatal(err)
	}
	const groups = 66_000
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) (list []tlog.Hash, err error) {
		for _, i := range indexes {
			list = append(list, stored[i])
		}
		return list, nil
	})
	for i := range int64(groups) {
		more, err := tlog.StoredHashesForRecordHash(i, hashOf(i), reader)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, more...)
		if err := k.add(hashOf(i)); err != nil {
			t.Fatal(err)
		}
	}
	tiles := []tlog.Tile{{L: 0, N: 0, W: 256}, {L: 0, N: 257, W: 208}, {L: 1, N: 0, W: 256}, {L: 1, N: 1, W: 1}, {L: 2, N: 0, W: 1}}
	for _, at := range tiles {
		at.H = height
		want, err := tlog.ReadTileData(at, reader)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := k.read(at.L+1, at.N*fanOut, at.W); err != nil || string(got) != string(want) {
			t.Errorf("level %d, tile %d: got %d bytes, %v", at.L+1, at.N, len(got), err)
		}
	}
	if _, err := k.read(2, 257, 1); err == nil {
		t.Error("a hash that is not complete is read")
	}
	size := len(k.file.(*memory).text)
	if bytes := entryBytes * (groups + groups/256 + 1); size != markBytes+bytes {
		t.Errorf("%d bytes for %d groups, want %d", size, groups, markBytes+bytes)
	}
	if err := k.repair(); err != nil || k.groups != groups {
		t.Errorf("read again: %d groups, %v", k.groups, err)
	}
}

// TestKeptFileAfterPowerCut cuts and alters the file at many places: whole entries before the place stay, and the rest is made again.
// After a power cut, a file system may show zeros in place of data.
func TestKeptFileAfterPowerCut(t *testing.T) {
	whole := &memory{}
	k := &kept{file: whole, mark: markOf("n")}
	if err := k.load(); err != nil {
		t.Fatal(err)
	}
	const groups = 258
	for i := range int64(groups) {
		if err := k.add(hashOf(i)); err != nil {
			t.Fatal(err)
		}
	}
	for at := 0; at < len(whole.text); at += 5 { // in each byte of an entry, by turns
		for what, change := range map[string]func([]byte) []byte{
			"cut off":     func(b []byte) []byte { return b[:at] },
			"zeros after": func(b []byte) []byte { clear(b[at:]); return b },
			"altered":     func(b []byte) []byte { b[at] ^= 1; return b },
		} {
			m := &memory{change(append([]byte(nil), whole.text...))}
			k := &kept{file: m, mark: markOf("n")}
			if err := k.load(); err != nil {
				t.Fatalf("%s at byte %d: %v", what, at, err)
			}
			want := int64(0)
			if at >= markBytes {
				want = groupsIn(int64(at-markBytes) / entryBytes)
			}
			if k.groups < want || k.groups > want+1 {
				t.Fatalf("%s at byte %d: %d groups are left, want %d", what, at, k.groups, want)
			}
			for i := k.groups; i < groups; i++ {
				if err := k.add(hashOf(i)); err != nil {
					t.Fatalf("%s at byte %d: %v", what, at, err)
				}
			}
			if string(m.text) != string(whole.text) {
				t.Fatalf("%s at byte %d: the file that is made again is another one", what, at)
			}
		}
	}
}

func TestKeptHashesOfAnotherNode(t *testing.T) {
	m := &memory{}
	k := &kept{file: m, mark: markOf("a")}
	if err := k.load(); err != nil {
		t.Fatal(err)
	}
	if err := k.add(hashOf(0)); err != nil {
		t.Fatal(err)
	}
	other := &kept{file: m, mark: markOf("b")}
	if err := other.load(); err != nil || other.groups != 0 || len(m.text) != markBytes {
		t.Errorf("%d groups in %d bytes, %v; want none", other.groups, len(m.text), err)
	}
}

func TestGroupsIn(t *testing.T) {
	for groups := range int64(70_000) {
		for _, more := range []int64{0, 1} {
			if got := groupsIn(entriesOf(groups) + more); got < groups || entriesOf(got) > entriesOf(groups)+more {
				t.Fatalf("%d entries: got %d groups, want %d or one more", entriesOf(groups)+more, got, groups)
			}
		}
	}
}

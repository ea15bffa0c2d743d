package projections

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// residentOf returns how many bytes of the mappings of a file are resident, as the system counts them.
func residentOf(t *testing.T, path string) (bytes int64) {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/smaps")
	must(t, err)
	path, err = filepath.EvalSymlinks(path)
	must(t, err)
	ours := false
	for line := range strings.Lines(string(maps)) {
		fields := strings.Fields(line)
		if name, isField := strings.CutSuffix(fields[0], ":"); !isField {
			ours = fields[len(fields)-1] == path
		} else if ours && name == "Rss" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			must(t, err)
			bytes += kib << 10
		}
	}
	return bytes
}

// However large the file is, only so much of it is resident while it is written, and while it is read here and there.
func TestResidentPages(t *testing.T) {
	const devices, batch, most = 20_000, 20, 256 << 10
	const touched = 8 << 20 // by a batch at most: its ids are random, its labels many, and with each page those around it are mapped
	f := MustOpen(t, Events)
	l := direct
	l.mostMapped = most
	f.reopen(t, l)
	resident := int64(0)
	for events := range slices.Chunk(cameras(devices), 8*batch) {
		f.feed(t, batch, events...)
		resident = max(resident, residentOf(t, f.options.Path))
	}
	f.checkResident(t, "written", resident, most+touched)
	resident = 0
	for i := range devices {
		s, release := f.State()
		_, ok := s.Devices.Get(camera(i * 7919 % devices).Name)
		release()
		if !ok {
			t.Fatal("device ", i, " not found")
		}
		if i%100 == 0 {
			resident = max(resident, residentOf(t, f.options.Path))
		}
	}
	f.checkResident(t, "read", resident, f.mostRead()+touched)
}

// checkResident holds that so many bytes are less than a bound, and that the file has far more.
func (f *fed) checkResident(t *testing.T, while string, resident, most int64) {
	t.Helper()
	size := f.Stats().Bytes
	if size < 2*most {
		t.Fatalf("the file has %d KiB only, which is no test of %d KiB", size>>10, most>>10)
	}
	t.Logf("while it was %s at most %d KiB of %d KiB were resident", while, resident>>10, size>>10)
	if resident > most {
		t.Errorf("while it was %s %d KiB were resident, want %d KiB or less", while, resident>>10, most>>10)
	}
}

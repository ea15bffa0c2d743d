package projections

import (
	"bufio"
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"ledge/domain"
)

// abandon lets go of the file as a process does that is killed: nothing is synced, no mark is changed.
func (f *fed) abandon(tb testing.TB) {
	tb.Helper()
	f.stopSyncing()
	if err := f.bolt.Close(); err != nil {
		tb.Fatal(err)
	}
}

func TestBoots(t *testing.T) {
	for _, test := range []struct {
		name          string
		close         bool
		before, after string
		kept          bool
	}{
		{"closed, same boot", true, "boot 1", "boot 1", true},
		{"closed, other boot", true, "boot 1", "boot 2", true},
		{"closed, no boot ids", true, "", "", true},
		{"killed, same boot", false, "boot 1", "boot 1", true},
		{"killed, other boot", false, "boot 1", "boot 2", false},
		{"killed, no boot ids", false, "", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := MustOpen(t, Events)
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			f.options.BootID = func() string { return test.before }
			f.open(t)
			f.feed(t, 3, cameras(10)...)
			want := f.mustDump(t)
			if test.close {
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
			} else {
				f.abandon(t)
			}
			f.options.BootID = func() string { return test.after }
			f.open(t)
			if !test.kept {
				mustBeEmpty(t, f, "before the machine went down")
				f.events = nil
				f.feed(t, 10, cameras(10)...) // as the log does
			}
			sameDump(t, f.mustDump(t), want)
		})
	}
}

// mustBeEmpty checks that the file was discarded, and that the log says why.
func mustBeEmpty(t *testing.T, f *fed, why string) {
	t.Helper()
	if seq, _ := f.Checkpoint(); seq != 0 {
		t.Errorf("checkpoint %d of a file that is not to be trusted", seq)
	}
	if !strings.Contains(f.logged.String(), why) || !strings.Contains(f.logged.String(), "level=WARN") {
		t.Errorf("no warning that has %q: %s", why, f.logged)
	}
	if dump := f.mustDump(t); dump != "" {
		t.Errorf("not empty: %s", dump)
	}
}

// After a time without events, the file is marked as clean, and the next event marks it again.
func TestSettle(t *testing.T) {
	f := MustOpen(t, Events)
	boots := func() string { return f.mark.boot + "|" + onDisk(t, f) }
	for _, step := range []struct {
		name string
		do   func() error
		want string
	}{
		{"opened", func() error { return nil }, "|"},
		{"applied", func() error { f.feed(t, 1, cameras(1)...); return f.flush(1) }, "boot 1|boot 1"},
		{"synced", f.Sync, "boot 1|boot 1"},
		{"applied again", func() error { f.add(t, domain.SamplesSeeded{}); return f.flush(2) }, "boot 1|boot 1"},
		{"first tick", func() error { return f.settle() }, "boot 1|boot 1"},
		{"second tick", func() error { return f.settle() }, "|"},
		{"third tick", func() error { return f.settle() }, "|"},
		{"applied after", func() error { f.add(t, domain.DeviceAdded{Device: camera(7)}); return f.flush(3) }, "boot 1|boot 1"},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got := boots(); got != step.want {
			t.Errorf("%s: got %q, want %q", step.name, got, step.want)
		}
	}
}

func onDisk(t *testing.T, f *fed) (boot string) {
	t.Helper()
	err := f.bolt.View(func(tx *bbolt.Tx) error {
		m, _ := readMark(tx)
		boot = m.boot
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return boot
}

func TestSyncerSettles(t *testing.T) {
	f := MustOpen(t, Events)
	f.Close()
	f.options.SyncEvery = time.Millisecond
	f.open(t)
	f.feed(t, 1, cameras(3)...)
	must(t, f.Sync())
	for onDisk(t, f) != "" {
		time.Sleep(time.Millisecond)
	}
}

func TestFilesThatAreNotTrusted(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(t *testing.T, f *fed)
		why   string
	}{
		{"no bbolt", func(t *testing.T, f *fed) { overwrite(t, f.path, 0, bytes.Repeat([]byte("text\n"), 4000)) }, "invalid database"},
		{"one byte", func(t *testing.T, f *fed) { must(t, os.WriteFile(f.path, []byte("x"), 0o600)) }, "reason"},
		{"cut to half", func(t *testing.T, f *fed) { must(t, os.Truncate(f.path, size(t, f.path)/2)) }, "reason"},
		{"cut by one page", func(t *testing.T, f *fed) { must(t, os.Truncate(f.path, size(t, f.path)-4096)) }, "bytes"},
		{"cut to the metas", func(t *testing.T, f *fed) { must(t, os.Truncate(f.path, 8192)) }, "reason"},
		{"pages of zeros", func(t *testing.T, f *fed) {
			overwrite(t, f.path, 16384, make([]byte, size(t, f.path)-16384))
		}, "reason"},
		{"pages of noise, not closed", func(t *testing.T, f *fed) {
			overwrite(t, f.path, 0, unclosed(t, f))
			spoilPages(t, f)
		}, "reason"},
		{"a block that is cut, not closed", func(t *testing.T, f *fed) {
			overwrite(t, f.path, 0, unclosed(t, f))
			edit(t, f.path, spoilBlock(func(b []byte) []byte { return b[:len(b)-1] }))
		}, "block of an index"},
		{"a block out of order, not closed", func(t *testing.T, f *fed) {
			overwrite(t, f.path, 0, unclosed(t, f))
			edit(t, f.path, spoilBlock(func(b []byte) []byte { return append(b, appendEntry(nil, make([]byte, suffixHead), nil)...) }))
		}, "out of order"},
		{"another schema", func(t *testing.T, f *fed) { edit(t, f.path, mark{"0 events", ""}.write) }, `schema is \"0 events\"`},
		{"of another stream", func(t *testing.T, f *fed) { edit(t, f.path, mark{schemaOf(Readings), ""}.write) }, "readings"},
		{"another program's", func(t *testing.T, f *fed) {
			edit(t, f.path, func(tx *bbolt.Tx) error { return tx.DeleteBucket(markName) })
		}, "not a projection"},
		{"without its bucket", func(t *testing.T, f *fed) {
			edit(t, f.path, func(tx *bbolt.Tx) error { return tx.DeleteBucket(bucketName) })
		}, "without the bucket"},
		{"checkpoint of other length", func(t *testing.T, f *fed) {
			edit(t, f.path, func(tx *bbolt.Tx) error { return tx.Bucket(bucketName).Put(checkpointKey, []byte("x")) })
		}, "checkpoint of 1 bytes"},
		{"condemned", func(t *testing.T, f *fed) { f.condemn(fmt.Errorf("it fell down")) }, "it fell down"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := MustOpen(t, Events)
			f.feed(t, 100, cameras(300)...)
			want := f.mustDump(t)
			must(t, f.Close())
			test.spoil(t, f)
			f.open(t)
			mustBeEmpty(t, f, test.why)
			if _, err := os.Stat(discarded(f.path)); err != nil {
				t.Errorf("the old file is gone: %v", err)
			}
			f.events = nil
			f.feed(t, 100, cameras(300)...)
			sameDump(t, f.mustDump(t), want)
		})
	}
}

// unclosed returns the file as it is after a kill.
func unclosed(t *testing.T, f *fed) []byte {
	t.Helper()
	f.open(t)
	f.add(t, domain.SamplesSeeded{})
	must(t, f.flush(f.at().seq))
	b, err := os.ReadFile(f.path)
	must(t, err)
	f.abandon(t)
	return b
}

// spoilBlock changes the last block of the list of all devices.
func spoilBlock(spoil func([]byte) []byte) func(tx *bbolt.Tx) error {
	return func(tx *bbolt.Tx) error {
		rows := tx.Bucket(bucketName)
		key, value := before(rows.Cursor(), after(appendRange(nil, devices.indexes[0].id, "")))
		return rows.Put(key, spoil(bytes.Clone(value)))
	}
}

// isRebuilt starts again after a kill, and expects a file that was damaged to be left.
func (f *fed) isRebuilt(t *testing.T) {
	t.Helper()
	f.abandon(t)
	f.open(t)
	mustBeEmpty(t, f, "condemned")
	f.events = nil
	f.feed(t, 100, cameras(300)...)
}

// spoilPages overwrites every page but the metas and those of the mark, whatever is in them, seed by seed.
func spoilPages(t *testing.T, f *fed) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 4096)
	for at := int64(8192); at+4096 <= size(t, f.path); at += 4096 {
		for i := range noise {
			noise[i] = byte(r.Uint32())
		}
		if r.IntN(3) == 0 {
			overwrite(t, f.path, at, noise)
		}
	}
}

// Damage that shows while the file is open is an error or a panic that says so, and ends with the next start.
func TestDamageWhileOpen(t *testing.T) {
	f := MustOpen(t, Events)
	f.feed(t, 100, cameras(300)...)
	want := f.mustDump(t)
	must(t, f.bolt.Update(func(tx *bbolt.Tx) error { // a row that does not decode
		return tx.Bucket(bucketName).Put(appendRow(nil, devicesID, camera(5).Name), []byte{1, 0xff})
	}))
	s, release := f.State()
	got := recovered(func() { s.Devices.Get(camera(5).Name) })
	if d, ok := got.(damage); !ok || !strings.Contains(d.Error(), camera(5).Name) {
		t.Errorf("get: got %v, want a damage that names the device", got)
	}
	release()
	v, release := f.View()
	if _, _, err := v.Devices(Page{Offset: 0, Limit: -1}); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("list: got %v, want an error that says so", err)
	}
	release()
	if err := f.write(record(301, domain.DeviceRemoved{Device: camera(5)})); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("apply: got %v, want an error that says so", err)
	}
	if err := f.Apply(record(301, domain.SamplesSeeded{})); err == nil {
		t.Error("apply on a damaged file: no error")
	}
	must(t, f.Close())
	f.open(t)
	mustBeEmpty(t, f, "condemned")
	f.events = nil
	f.feed(t, 100, cameras(300)...)
	sameDump(t, f.mustDump(t), want)
}

// Apply is the first that meets the damage.
func TestApplyMeetsDamage(t *testing.T) {
	f := MustOpen(t, Events)
	f.feed(t, 100, cameras(300)...)
	must(t, f.Sync())
	must(t, f.bolt.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketName).Put(appendRow(nil, devicesID, camera(5).Name), []byte{1, 0xff})
	}))
	if err := f.write(record(301, domain.DeviceRemoved{Device: camera(5)})); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("got %v, want an error that says so", err)
	}
	f.isRebuilt(t)
}

// A page that the file no longer has is a fault in the mapped memory: it does not end the process.
func TestFileCutWhileOpen(t *testing.T) {
	f := MustOpen(t, Events)
	f.feed(t, 100, cameras(300)...)
	must(t, f.Sync())
	must(t, os.Truncate(f.path, 8192))
	if got, ok := recovered(func() { f.State() }).(damage); !ok {
		t.Errorf("state: got %v, want a damage", got)
	}
	if err := f.write(record(301, domain.SamplesSeeded{})); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("apply: got %v, want an error that says so", err)
	}
	_ = f.Close()
	f.open(t)
	mustBeEmpty(t, f, "condemned")
	f.events = nil
	f.feed(t, 100, cameras(300)...)
}

// Close comes to an end where the first that meets a cut file is what marks it as clean.
func TestCloseOfACutFile(t *testing.T) {
	for _, left := range []int64{8192, 0} {
		t.Run(fmt.Sprint(left, " bytes left"), func(t *testing.T) {
			f := MustOpen(t, Events)
			f.feed(t, 100, cameras(300)...)
			must(t, f.Sync())
			must(t, os.Truncate(f.path, left))
			closed := make(chan error, 1)
			go func() { closed <- f.Close() }()
			select {
			case err := <-closed:
				if err == nil || !strings.Contains(err.Error(), "damaged") {
					t.Errorf("got %v, want an error that says so", err)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("still closing")
			}
			if _, err := os.Stat(condemned(f.path)); err != nil {
				t.Errorf("the next start would open it: %v", err)
			}
			f.options.Path += "2" // this process may have the other mapped, and so locked, until it ends
			f.events = nil
			f.open(t)
			f.feed(t, 100, cameras(300)...)
		})
	}
}

func recovered(f func()) (r any) {
	defer func() { r = recover() }()
	f()
	return nil
}

func TestLocked(t *testing.T) {
	f := MustOpen(t, Events)
	f.feed(t, 1, cameras(2)...)
	o := f.options
	o.LockTimeout = 60 * time.Millisecond
	if _, err := Open(o); err == nil || !strings.Contains(err.Error(), "another process has it open") {
		t.Errorf("got %v, want an error that says who has the file", err)
	}
	f.add(t, domain.SamplesSeeded{})
}

func TestOpenWhereThereIsNoFolder(t *testing.T) {
	if _, err := Open(Options{Path: t.TempDir() + "/nosuch/state.db"}); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("got %v", err)
	}
}

// childOf is the name of the variable that makes this binary the process that is killed.
const childOf = "LEDGE_PROJECTIONS_FILE"

func childHistory() []domain.Recorded {
	h := newHistory(77)
	for range 5_000 {
		h.metadata()
	}
	return h.events
}

// applyUntilKilled applies events in batches of mixed sizes and says after each how far it is.
func applyUntilKilled(path string) error {
	d, err := Open(Options{Path: path, BootID: func() string { return "boot 1" }, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(uint64(os.Getpid()), 1))
	events := childHistory()
	seq, _ := d.Checkpoint()
	for events = events[seq:]; len(events) > 0; {
		n := min(1+r.IntN(20), len(events))
		if err := d.Apply(events[:n]); err != nil {
			return err
		}
		seq, _ := d.Checkpoint()
		fmt.Println(seq)
		events = events[n:]
	}
	select {} // wait for the end
}

func TestMain(m *testing.M) {
	if path := os.Getenv(childOf); path != "" {
		fmt.Fprintln(os.Stderr, applyUntilKilled(path))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// A process that is killed leaves a file that opens, without a rebuild, at a checkpoint that is not further behind what
// it said was applied than two overlays with their last batch.
func TestKilled(t *testing.T) {
	f := MustOpen(t, Events)
	history := childHistory()
	for round, lines := range []int{1, 30, 300} {
		must(t, f.Close())
		said := killAfter(t, f.path, lines)
		f.open(t)
		seq, chain := f.Checkpoint()
		if chain != chainOf(seq) && seq > 0 || seq+2*uint64(usualLimits.events+20) < said {
			t.Fatalf("round %d: checkpoint %d %x after %d was said", round, seq, chain, said)
		}
		f.events = history[:seq]
		sameDump(t, f.mustDump(t), rebuilt(t, Events, f.events))
	}
	if f.logged.Len() > 0 {
		t.Errorf("logged: %s", f.logged)
	}
}

// killAfter runs the child until it has said so many lines, kills it, and returns the last.
func killAfter(t *testing.T, path string, lines int) (said uint64) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childOf+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	in := bufio.NewScanner(out)
	for n := 0; n < lines && in.Scan(); n++ {
		if _, err := fmt.Sscan(in.Text(), &said); err != nil {
			t.Fatal(err)
		}
	}
	must(t, cmd.Process.Kill())
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("child was not killed: %v", err)
	}
	return said
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	return info.Size()
}

func overwrite(t *testing.T, path string, at int64, b []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteAt(b, at)
	must(t, err)
	must(t, f.Close())
}

func edit(t *testing.T, path string, f func(*bbolt.Tx) error) {
	t.Helper()
	b, err := bbolt.Open(path, 0o600, nil)
	must(t, err)
	must(t, b.Update(f))
	must(t, b.Close())
}

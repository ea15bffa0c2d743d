package fold

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// After a kill, and so after a power cut, the file is at its last flush, and Checkpoint says so before there is a log.
func TestCheckpointAfterAKill(t *testing.T) {
	f := mustOpen(t)
	f.reopen(t, Limits{After: time.Hour})
	f.feed(t, 3, items(10)...)
	must(t, f.Sync())
	f.feed(t, 3, record(11, count{})...)
	f.abandon(t)
	f.open(t)
	if seq, chain := f.Checkpoint(); seq != 10 || chain != chainOf(10) {
		t.Errorf("got %d %x, want 10", seq, chain)
	}
	f.events = f.events[:10]
	sameDump(t, f.mustDump(t), f.rebuilt(t, f.events))
}

// TestUnusedPagesAreCutOff holds that nothing is behind the pages of the last commit when a file is opened: a commit whose fsync failed may have
// left pages there that the disk does not keep.
func TestUnusedPagesAreCutOff(t *testing.T) {
	f := mustOpen(t)
	f.feed(t, 100, items(300)...)
	want := f.mustDump(t)
	must(t, f.Close())
	used := size(t, f.path)
	overwrite(t, f.path, used, bytes.Repeat([]byte("left of a commit"), 1000))
	f.open(t)
	if got := size(t, f.path); got > used && runtime.GOOS != "windows" {
		t.Errorf("the file has %d bytes, and %d are used", got, used)
	}
	sameDump(t, f.mustDump(t), want)
	f.feed(t, 100, record(301, count{})...)
	must(t, f.Close())
	f.open(t)
	sameDump(t, f.mustDump(t), f.rebuilt(t, f.events))
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

func TestFilesThatAreNotTrusted(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(t *testing.T, f *fed)
		why   string
	}{
		{"no bbolt", func(t *testing.T, f *fed) { overwrite(t, f.path, 0, bytes.Repeat([]byte("text\n"), 4000)) }, "invalid database"},
		{"one byte", func(t *testing.T, f *fed) { must(t, os.WriteFile(f.path, []byte("x"), 0o600)) }, "reason"},
		{"cut to half", func(t *testing.T, f *fed) { must(t, os.Truncate(f.path, size(t, f.path)/2)) }, "reason"},
		{"cut by one page", func(t *testing.T, f *fed) { must(t, os.Truncate(f.path, size(t, f.path)-4096)) }, "reason"},
		{"cut to the metas", func(t *testing.T, f *fed) { must(t, os.Truncate(f.path, 8192)) }, "reason"},
		{"pages of zeros", func(t *testing.T, f *fed) {
			overwrite(t, f.path, 16384, make([]byte, size(t, f.path)-16384))
		}, "reason"},
		{"another schema", func(t *testing.T, f *fed) {
			edit(t, f.path, func(tx *bbolt.Tx) error { return writeSchema(tx, "0 events") })
		}, `schema is \"0 events\"`},
		{"of another stream", func(t *testing.T, f *fed) {
			edit(t, f.path, func(tx *bbolt.Tx) error { return writeSchema(tx, schemaName("readings", tables)) })
		}, "readings"},
		{"another program's", func(t *testing.T, f *fed) {
			edit(t, f.path, func(tx *bbolt.Tx) error { return tx.DeleteBucket(markName) })
		}, "not a projection"},
		{"without its bucket", func(t *testing.T, f *fed) {
			edit(t, f.path, func(tx *bbolt.Tx) error { return tx.DeleteBucket(bucketName) })
		}, "without the bucket"},
		{"checkpoint of other length", func(t *testing.T, f *fed) {
			edit(t, f.path, func(tx *bbolt.Tx) error { return tx.Bucket(bucketName).Put(checkpointKey, []byte("x")) })
		}, "wrong checksum"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := mustOpen(t)
			f.feed(t, 100, items(300)...)
			want := f.mustDump(t)
			must(t, f.Close())
			test.spoil(t, f)
			f.open(t)
			mustBeEmpty(t, f, test.why)
			if _, err := os.Stat(discarded(f.path)); err != nil {
				t.Errorf("the old file is gone: %v", err)
			}
			f.events = nil
			f.feed(t, 100, items(300)...)
			sameDump(t, f.mustDump(t), want)
		})
	}
}

// isSetAside holds that a damaged file has another name, that this was said, once, and that there is an empty one now.
func (f *fed) isSetAside(t *testing.T) {
	t.Helper()
	told := f.damages()
	if len(told) != 1 || !isBroken(told[0]) || !strings.Contains(told[0].Error(), "state.db") {
		t.Errorf("told of %v, want one error that names the file", told)
	}
	if _, err := os.Stat(damagedName(f.path)); err != nil {
		t.Error(err)
	}
	if seq, _ := f.Checkpoint(); seq != 0 || !strings.Contains(f.logged.String(), "level=ERROR msg=\"state file cannot be used") {
		t.Errorf("at %d: %s", seq, f.logged)
	}
}

// isRebuilt starts again after a kill, and expects a file that was damaged to be left.
func (f *fed) isRebuilt(t *testing.T) {
	t.Helper()
	f.abandon(t)
	f.open(t)
	f.isSetAside(t)
	f.events = nil
	f.feed(t, 100, items(300)...)
}

// Damage that shows while the file is open is an error or a panic that says so, and ends with the next start.
func TestDamageWhileOpen(t *testing.T) {
	f := mustOpen(t)
	f.feed(t, 100, items(300)...)
	want := f.mustDump(t)
	must(t, f.file.Update(func(tx *bbolt.Tx) error { // a row that does not decode
		return tx.Bucket(bucketName).Put(appendRow(nil, things.ID, item(5).Name), []byte{1, 0xff})
	}))
	s, release := f.rows()
	got := recovered(func() { s.Get(item(5).Name) })
	if err, ok := got.(error); !ok || !isBroken(err) || !strings.Contains(err.Error(), "state.db") {
		t.Errorf("get: got %v, want an error that names the file", got)
	}
	defer release() // after Close: a view that has met damage holds nothing up
	v, release := f.View()
	if _, _, err := list(v, Page{Offset: 0, Limit: 1000}); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("list: got %v, want an error that says so", err)
	}
	release()
	if err := f.write(record(301, gone{item(5).Name})); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("apply: got %v, want an error that says so", err)
	}
	if err := f.Apply(record(301, count{})); err == nil {
		t.Error("apply on a damaged file: no error")
	}
	closed := make(chan error, 1)
	go func() { closed <- f.Close() }()
	select {
	case err := <-closed:
		must(t, err)
	case <-time.After(time.Minute):
		t.Fatal("the view holds up Close")
	}
	f.open(t)
	f.isSetAside(t)
	f.events = nil
	f.feed(t, 100, items(300)...)
	sameDump(t, f.mustDump(t), want)
}

// Apply is the first that meets the damage.
func TestApplyMeetsDamage(t *testing.T) {
	f := mustOpen(t)
	f.feed(t, 100, items(300)...)
	must(t, f.Sync())
	must(t, f.file.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketName).Put(appendRow(nil, things.ID, item(5).Name), []byte{1, 0xff})
	}))
	if err := f.write(record(301, gone{item(5).Name})); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("got %v, want an error that says so", err)
	}
	f.isRebuilt(t)
}

// A page that the file no longer has is a fault in the mapped memory: it does not end the process.
func TestFileCutWhileOpen(t *testing.T) {
	f := mustOpen(t)
	f.feed(t, 100, items(300)...)
	must(t, f.Sync())
	must(t, os.Truncate(f.path, 8192))
	s, release := f.rows()
	if err, ok := recovered(func() { s.Get("cam") }).(error); !ok || !isBroken(err) {
		t.Errorf("get: got %v", err)
	}
	release()
	if err := f.write(record(301, count{})); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("apply: got %v, want an error that says so", err)
	}
	_ = f.Close()
	f.open(t)
	f.isSetAside(t)
	f.events = nil
	f.feed(t, 100, items(300)...)
}

// Close comes to an end where its flush is the first that meets a cut file.
func TestCloseOfACutFile(t *testing.T) {
	for _, left := range []int64{8192, 0} {
		t.Run(fmt.Sprint(left, " bytes left"), func(t *testing.T) {
			f := mustOpen(t)
			f.feed(t, 100, items(300)...)
			must(t, f.Sync())
			f.reopen(t, Limits{After: time.Hour})
			f.feed(t, 1, record(301, count{})...) // which Close has to write
			must(t, os.Truncate(f.path, left))
			closed := make(chan error, 1)
			go func() { closed <- f.Close() }()
			select {
			case err := <-closed:
				if err == nil || !strings.Contains(err.Error(), "damaged") {
					t.Errorf("got %v, want an error that says so", err)
				}
			case <-time.After(time.Minute):
				t.Fatal("still closing")
			}
			if _, err := os.Stat(f.path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the next start would open it: %v", err)
			}
			f.options.Path += "2" // this process may have the other mapped, and so locked, until it ends
			f.events = nil
			f.open(t)
			f.feed(t, 100, items(300)...)
		})
	}
}

func recovered(f func()) (r any) {
	defer func() { r = recover() }()
	f()
	return nil
}

func TestLocked(t *testing.T) {
	f := mustOpen(t)
	f.feed(t, 1, items(2)...)
	if _, err := Open(f.options); err == nil || !strings.Contains(err.Error(), "another process has it open") {
		t.Errorf("got %v, want an error that says who has the file", err)
	}
	f.add(t, count{})
}

func TestOpenWhereThereIsNoFolder(t *testing.T) {
	if _, err := Open(Options{Path: t.TempDir() + "/nosuch/state.db"}); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("got %v", err)
	}
}

// childOf is the name of the variable that makes this binary the process that is killed.
const childOf = "TEST_LEDGE_FOLD_FILE"

func childHistory() events { return newHistory(77).many(5_000) }

// applyUntilKilled applies events in batches of mixed sizes and says after each how far it is.
func applyUntilKilled(path string) error {
	d, err := Open(Options{Path: path, Name: "tests", Tables: tables, Logger: slog.New(slog.DiscardHandler)})
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
	if err := os.Stdout.Close(); err != nil { // the parent may be slow to kill: it waits for no more lines
		return err
	}
	for { // wait for the end: without a timer, the runtime would take this for a deadlock
		time.Sleep(time.Hour)
	}
}

func TestMain(m *testing.M) {
	if path := os.Getenv(childOf); path != "" {
		fmt.Fprintln(os.Stderr, applyUntilKilled(path))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// A process that is killed leaves a file that opens, without a rebuild, at a checkpoint that is not further behind what
// it said was applied than two memtables with their last batch.
func TestKilled(t *testing.T) {
	f := mustOpen(t)
	history := childHistory()
	for round, lines := range []int{1, 30, 300} {
		must(t, f.Close())
		said := killAfter(t, f.path, lines)
		f.open(t)
		seq, chain := f.Checkpoint()
		if chain != chainOf(seq) && seq > 0 || seq+2*uint64(waitMost*usualLimits.Events+20) < said {
			t.Fatalf("round %d: checkpoint %d %x after %d was said", round, seq, chain, said)
		}
		f.events = history[:seq]
		sameDump(t, f.mustDump(t), f.rebuilt(t, f.events))
	}
	if f.logged.Len() > 0 {
		t.Errorf("logged: %s", f.logged)
	}
}

// killAfter runs the child until it has written so many lines or applied all events, kills it, and returns the last line.
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

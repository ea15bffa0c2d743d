//go:build amd64 || arm64

package faults

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/faults"
	"ledge/cmd/ledgetest"
	"ledge/store/storetest"
)

// newReadingsFolder is the folder of a stopped node with 20 readings of 50,000 bytes on the log.
func newReadingsFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	for i := range 20 {
		p.PostImage(strings.Repeat(fmt.Sprintf("%05d", i), 10_000))
	}
	ledgetest.AwaitNotified(t, p)
	if code := p.Stop(); code != exit.OK {
		t.Fatalf("exit code %d\n%s", code, p.Log)
	}
	return dir
}

// TestUnreadableSector has a disk that cannot read one sector of a log, or of the record of where the logs begin. Every command names it, and
// salvage keeps the rest. Before, verify, backup, salvage and serve ended with 1, and salvage kept none of the 20 readings.
func TestUnreadableSector(t *testing.T) {
	t.Parallel()
	from := newReadingsFolder(t)
	blk, _ := filepath.Rel(from, ledgetest.Block(from, "LEDGE_READINGS", "1"))
	for _, tt := range []struct {
		name, path string
		at         int64
		kept       string
		killed     bool
	}{
		{"in the middle", blk, 500_000, "LEDGE_READINGS: 19 events kept, 1 lost", false},
		{"the first", blk, 0, "LEDGE_READINGS: 19 events kept, 1 lost", false},
		{"the last after a kill", blk, 1_000_000, "LEDGE_READINGS: 19 events kept, 1 lost", true},
		{"the manifest", "nats/LEDGE_READINGS.manifest", 0, "LEDGE_READINGS: 20 events kept, 0 lost", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir, to := ledgetest.Clone(t, from), filepath.Join(t.TempDir(), "new")
			if tt.killed {
				storetest.ForgetStop(t, filepath.Join(dir, "nats"))
				ledgetest.Remove(t, filepath.Join(dir, "readings.db"))
			}
			disk := faults.Mount(t, dir)
			at := tt.at / 4096 * 4096
			disk.Unreadable(tt.path, at, at+4096)
			for _, args := range [][]string{{"verify"}, {"backup", filepath.Join(t.TempDir(), "backup")}} {
				out, errs, code := ledgetest.Run(t, append(args, "--data-dir", disk.Dir)...)
				if code != exit.Damaged || !strings.Contains(errs, "input/output error") || !strings.Contains(errs, "`ledge salvage`") {
					t.Errorf("%s: exit code %d\n%s%s", args[0], code, out, errs)
				}
			}
			if out, errs, code := ledgetest.Run(t, "salvage", "--data-dir", disk.Dir, to); code != exit.Partial || !strings.Contains(out, tt.kept) {
				t.Errorf("salvage: exit code %d, want %q\n%s%s", code, tt.kept, out, errs)
			}
			p := ledgetest.Launch(t, disk.Dir)
			if code := p.Wait(); code != exit.Damaged || !strings.Contains(p.Log.String(), "`ledge salvage`") {
				t.Errorf("serve: exit code %d\n%s", code, p.Log)
			}
			p = ledgetest.Start(t, to)
			p.AddDevice("next")
			if code := p.Stop(); code != exit.OK {
				t.Errorf("serve on what is salvaged: exit code %d\n%s", code, p.Log)
			}
			ledgetest.Verify(t, to)
		})
	}
}

// TestUnreadableState has a disk that cannot read a page of a file of the state, which is a fold of the log: verify says so, and a start and
// `ledge rebuild` set the file aside and fold it again. Before, both ended with 5, and at page 0 with a nil dereference.
func TestUnreadableState(t *testing.T) {
	t.Parallel()
	from := newReadingsFolder(t)
	p := ledgetest.Start(t, from)
	want := askAll(p)
	p.Stop()
	for _, file := range datadir.StateFiles {
		for _, page := range []int64{0, 1, 2, 3, 4, 5} {
			t.Run(fmt.Sprint(file, " page ", page), func(t *testing.T) {
				t.Parallel()
				for _, command := range []string{"serve", "rebuild"} {
					disk := faults.Mount(t, ledgetest.Clone(t, from))
					disk.Unreadable(file, page*4096, (page+1)*4096)
					out, errs, code := ledgetest.Run(t, "verify", "--data-dir", disk.Dir)
					if code != exit.OK && (code != exit.Damaged || !strings.Contains(errs, "`ledge rebuild`") || strings.Contains(errs, "nil pointer")) {
						t.Errorf("verify: exit code %d\n%s%s", code, out, errs)
					}
					if command == "rebuild" {
						if out, errs, code := ledgetest.Run(t, "rebuild", "--data-dir", disk.Dir); code != exit.OK {
							t.Errorf("rebuild: exit code %d\n%s%s", code, out, errs)
						}
					}
					p := ledgetest.Start(t, disk.Dir)
					if o := askAll(p).compare(want); o.verdict != recovered {
						t.Errorf("after %s: %s", command, o.why)
					}
					if code := p.Stop(); code != exit.OK {
						t.Errorf("exit code %d\n%s", code, p.Log)
					}
				}
			})
		}
	}
}

// TestReadErrors has a disk that cannot read a page of a file of a small folder, any page of any file.
func TestReadErrors(t *testing.T) {
	t.Parallel()
	dir, flags := newSmallNode(t)
	want := wanted(t, dir, flags...)
	const page = 4096
	taken := map[string]bool{}
	for _, kind := range kindsOfFile {
		pages := flipped{files: filesOf(t, dir, func(rel string) bool { return !taken[rel] && kind.has(rel) })}
		for i := range pages.files {
			f := &pages.files[i]
			taken[f.rel] = true
			f.size = (f.size + page - 1) / page
			pages.bytes += f.size
		}
		row := &faultRow{name: "page unreadable in " + kind.name}
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			row.try(t, pages.bytes, 3, func(t *testing.T, i int) outcome {
				rel, at := pages.locate(i)
				disk := faults.Mount(t, ledgetest.Clone(t, dir))
				defer disk.Close()
				disk.Unreadable(rel, int64(at)*page, int64(at+1)*page)
				_, errs, code := ledgetest.Run(t, "verify", "--data-dir", disk.Dir)
				if code != exit.OK && code != exit.Damaged {
					return outcomef(broken, "%s, page %d: ledge verify: exit code %d: %s", rel, at, code, lastLine(errs))
				}
				o := judgeDamaged(t, disk.Dir, lastLine(errs), want, flags...)
				o.why = fmt.Sprintf("%s, page %d: %s", rel, at, strings.ReplaceAll(o.why, disk.Dir, ""))
				return o
			})
		})
	}
}

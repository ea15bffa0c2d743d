package damage

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
	"ledge/store/storetest"
)

// holdLaw holds that serve starts on a folder that verify calls whole, and else ends with the code of damage, and that salvage makes a folder of
// it on which serve starts. It returns the exit codes of verify and salvage.
func holdLaw(t *testing.T, dir string) (verified, salvaged int) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "new")
	leaves := ledgetest.MustLeave(t, dir)
	out, errs, verified := ledgetest.Run(t, "verify", "--data-dir", dir)
	salvage, salvageErrs, salvaged := ledgetest.Run(t, "salvage", "--data-dir", dir, to)
	leaves()
	if salvaged == exit.OK || salvaged == exit.Partial {
		p := ledgetest.Start(t, to)
		p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/deviceprofile", `[{"apiVersion":"v2","profile":{"name":"new","deviceResources":[
			{"name":"r","properties":{"valueType":"Bool","readWrite":"R"}}]}}]`, http.StatusCreated)
		if code := p.Stop(); code != exit.OK {
			t.Errorf("exit code %d\n%s", code, p.Log)
		}
	} else if salvaged != exit.Damaged || !strings.Contains(salvageErrs, "put it there") && !strings.Contains(salvageErrs, "from a backup") {
		t.Errorf("salvage: exit code %d\n%s%s", salvaged, salvage, salvageErrs)
	}
	p := ledgetest.Launch(t, dir)
	switch err := p.WaitReady(); {
	case err == nil:
		p.Stop()
	case p.Wait() != exit.Damaged:
		t.Errorf("serve: exit code %d\n%s", p.Wait(), p.Log)
	case verified == exit.OK:
		t.Errorf("verify calls whole what serve refuses\n%s%s\n%s", out, errs, p.Log)
	}
	return verified, salvaged
}

// TestVerifiedStarts takes away or damages the state, the snapshots and the archive of a folder whose first changes are archived, in each
// combination. Before, verify answered 0 where all three are gone, which serve refused with 6, and of 12 of the 27 salvage made a folder that
// serve refused.
func TestVerifiedStarts(t *testing.T) {
	t.Parallel()
	from := t.TempDir()
	unpackGolden(t, from)
	ledgetest.Start(t, from).Stop() // an earlier version has folded the state: it is folded anew
	kinds := []string{"state.db", "snapshots/*.snapshot", "archive/*.archive"}
	for i := range 27 {
		fate := []int{i % 3, i / 3 % 3, i / 9} // whole, gone, damaged
		t.Run(fmt.Sprint(fate), func(t *testing.T) {
			t.Parallel()
			dir := ledgetest.Clone(t, from)
			for k, pattern := range kinds {
				list, err := filepath.Glob(filepath.Join(dir, pattern))
				if err != nil || len(list) == 0 {
					t.Fatal(pattern, err)
				}
				for _, path := range list {
					switch fate[k] {
					case 1:
						ledgetest.MustUnlink(t, path)
					case 2:
						ledgetest.Alter(t, path, func(b []byte) []byte { return b[:len(b)/2] })
					}
				}
			}
			verified, salvaged := holdLaw(t, dir)
			stateless := fate[0] > 0 && fate[1] > 0 && fate[2] > 0
			if whole := !slices.Contains(fate, 2) && !stateless; whole != (verified == exit.OK) {
				t.Errorf("verify: exit code %d", verified)
			}
			if stateless != (salvaged == exit.Damaged) {
				t.Errorf("salvage: exit code %d", salvaged)
			}
		})
	}
}

// TestVerifiedStartsWithoutWitness damages logs of which no checkpoint is left that tells how long they were. Before, verify called 2 of the 11
// folders whole that serve refused, and of 3 salvage made none that serve starts on.
func TestVerifiedStartsWithoutWitness(t *testing.T) {
	t.Parallel()
	from := ledgetest.NewFolder(t)
	for _, path := range datadir.StateFiles {
		ledgetest.MustUnlink(t, filepath.Join(from, path))
	}
	storetest.ForgetStop(t, filepath.Join(from, "nats"))
	blk := func(dir string) string { return ledgetest.Block(dir, "LEDGE_EVENTS", "1") }
	for name, do := range map[string]func(t *testing.T, dir string){
		"nothing":   func(*testing.T, string) {},
		"no blocks": func(t *testing.T, dir string) { ledgetest.MustUnlink(t, blk(dir)) },
		"no blocks of any log": func(t *testing.T, dir string) {
			for _, name := range []string{"LEDGE_EVENTS", "LEDGE_NOTIFICATIONS", "LEDGE_READINGS"} {
				ledgetest.MustUnlink(t, ledgetest.Block(dir, name, "1"))
			}
		},
		"an empty block": func(t *testing.T, dir string) { ledgetest.MustDo(t, os.Truncate(blk(dir), 0)) },
		"half a block": func(t *testing.T, dir string) {
			ledgetest.Alter(t, blk(dir), func(b []byte) []byte { return b[:len(b)/2] })
		},
		"a block twice": func(t *testing.T, dir string) {
			ledgetest.MustDo(t, os.WriteFile(ledgetest.Block(dir, "LEDGE_EVENTS", "2"), []byte(ledgetest.MustRead(t, blk(dir))), 0o600))
		},
		"a purge": func(t *testing.T, dir string) {
			path := filepath.Join(ledgetest.StreamFolder(dir, "LEDGE_EVENTS"), "__msgs__")
			ledgetest.MustDo(t, os.Mkdir(path, 0o700))
			ledgetest.MustDo(t, os.WriteFile(filepath.Join(path, "1.blk"), nil, 0o600))
		},
		"the readings begin later": func(t *testing.T, dir string) { recordStart(t, dir, "LEDGE_READINGS", 100) },
		"the changes begin later":  func(t *testing.T, dir string) { recordStart(t, dir, "LEDGE_EVENTS", 5) },
		"no manifest": func(t *testing.T, dir string) {
			ledgetest.MustUnlink(t, filepath.Join(dir, "nats/LEDGE_EVENTS.manifest"))
		},
		"a damaged manifest, and the first event": func(t *testing.T, dir string) {
			flipByte(t, filepath.Join(dir, "nats/LEDGE_EVENTS.manifest"))
			ledgetest.Alter(t, blk(dir), func(b []byte) []byte { b[100] ^= 1; return b })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := ledgetest.Clone(t, from)
			do(t, dir)
			holdLaw(t, dir)
		})
	}
}

// recordStart puts on record that a log begins at a sequence.
func recordStart(t *testing.T, dir, stream string, first int) {
	t.Helper()
	storetest.ChangeManifest(t, filepath.Join(dir, "nats", stream+".manifest"), func(m map[string]json.RawMessage) {
		m["first"] = fmt.Appendf(nil, `{"seq":%d}`, first)
	})
}
